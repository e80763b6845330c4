"""The plane that the options ask for, with the way of training drawn on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from trackio_like.landscape.data import EvalData
from trackio_like.landscape.directions import GivenDirection, wide
from trackio_like.landscape.hessian import Eigenpair, top_eigenpairs
from trackio_like.landscape.memory import gradient_memory
from trackio_like.landscape.options import Options
from trackio_like.landscape.plane import Plane, plain_plane
from trackio_like.landscape.scoring import Scorer
from trackio_like.landscape.serial import loss_here
from trackio_like.landscape.trajectory import principal_directions, project, read_steps, spread_of
from trackio_like.landscape.weights import Weight

if TYPE_CHECKING:
    from torch import nn

_LEAST_RISE: Final = 1.0
"""How far the loss is to rise at the edge of a plane of eigenvectors, where it is smaller than this at the centre."""


def make_plane(
    model: nn.Module, weights: tuple[Weight, ...], options: Options, *, scorer: Scorer, data: EvalData
) -> Plane:
    """The plane of an evaluation.

    Args:
        model: unwrapped, lent, at the centre.
        weights: what moves.
        options: which plane.
        scorer: of the model.
        data: the data.

    Raises:
        LandscapeError: checkpoints or directions do not fit the model, or it has no such plane.
    """
    if options.directions == "hessian":
        plane = _hessian_plane(weights, options, scorer, data)
    elif options.directions == "trajectory":
        return _trajectory_plane(model, weights, options)
    else:
        plane = plain_plane(model, weights, options)
    return plane if not options.checkpoints else _with_way(model, plane, options)


def _hessian_plane(weights: tuple[Weight, ...], options: Options, scorer: Scorer, data: EvalData) -> Plane:
    size = gradient_memory(scorer, data, weights).largest_batch(options.memory_budget // 2, data)
    pieces = data.pieces(size)
    pairs = top_eigenpairs(scorer, pieces, weights, seed=options.seed, budget_bytes=options.memory_budget // 2)
    loss = loss_here(scorer, pieces)
    length = math.sqrt(math.fsum(float(wide(weight.tensor.detach()).square().sum()) for weight in weights))
    directions = [_direction(pair, weights, number, length) for number, pair in enumerate(pairs)]
    ranges = [_reach(pair, loss, length) for pair in pairs]
    meta = {
        "direction": "hessian",
        "normalization": "length of θ",
        "seed": options.seed,
        "eigenvalues": [pair.value for pair in pairs],
        "eigenvalue_residuals": [pair.residual for pair in pairs],
    }
    return Plane(weights=weights, x=directions[0], y=directions[1], x_range=ranges[0], y_range=ranges[1], meta=meta)


def _direction(pair: Eigenpair, weights: Sequence[Weight], number: int, length: float) -> GivenDirection:
    label = f"Hessian eigenvector {number + 1} (λ = {pair.value:.4g})"
    tensors = {weight.name: part * length for weight, part in zip(weights, pair.vector, strict=True)}
    return GivenDirection(label=label, tensors=tensors)


def _reach(pair: Eigenpair, loss: float, length: float) -> tuple[float, float]:
    """As far as the loss rises about as much as it is at the centre, by its curvature; not beyond the length of θ."""
    curvature = abs(pair.value) * length**2
    rise = max(_LEAST_RISE, loss if math.isfinite(loss) else _LEAST_RISE)
    half = 1.0 if curvature <= 0 else min(1.0, math.sqrt(2 * rise / curvature))
    return -half, half


def _trajectory_plane(model: nn.Module, weights: tuple[Weight, ...], options: Options) -> Plane:
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    steps = read_steps(options.checkpoints, weights, names=names, budget_bytes=options.memory_budget)
    x, y, shares = principal_directions(steps)
    path, held = project(steps, weights, (x, y))
    x_range, y_range = spread_of(path)
    meta = {
        "direction": "trajectory",
        "normalization": "length 1",
        "explained_shares": list(shares),
        "path_share_in_plane": held,
    }
    return Plane(weights=weights, x=x, y=y, x_range=x_range, y_range=y_range, path=path, meta=meta)


def _with_way(model: nn.Module, plane: Plane, options: Options) -> Plane:
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    steps = read_steps(options.checkpoints, plane.weights, names=names, budget_bytes=options.memory_budget)
    path, held = project(steps, plane.weights, (plane.x, plane.y))
    return replace(plane, path=path, meta={**plane.meta, "path_share_in_plane": held})


__all__ = ["make_plane"]
