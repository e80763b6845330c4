"""The plane that is drawn: two directions, what lies on it, and how far it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from trackio_like.landscape.checkpoints import read_state
from trackio_like.landscape.directions import (
    Direction,
    GivenDirection,
    dead_share,
    difference,
    random_direction,
    wide,
)
from trackio_like.landscape.errors import LandscapeError
from trackio_like.landscape.options import BETWEEN_RANGE, Options
from trackio_like.landscape.result import Mark, Path
from trackio_like.landscape.weights import Weight, find_buffers, find_weights, matched

if TYPE_CHECKING:
    import torch
    from torch import nn

UNIT_RANGE: Final = (-1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Where the axes lead."""

    weights: tuple[Weight, ...]
    """All that moves along either axis."""
    x: Direction
    y: Direction
    x_range: tuple[float, float] = UNIT_RANGE
    """Where nothing else is asked for."""
    y_range: tuple[float, float] = UNIT_RANGE
    knots: tuple[float, ...] = (0.0,)
    """Coordinates of x that are exactly on the grid."""
    marks: tuple[Mark, ...] = (Mark(label="θ", x=0.0, y=0.0),)
    path: Path | None = None
    meta: dict[str, Any] = field(default_factory=dict)


def weights_of(model: nn.Module, options: Options) -> tuple[Weight, ...]:
    """What moves.

    Raises:
        LandscapeError: there is nothing that could.
    """
    if options.model_b is not None:
        return (*find_weights(model, params="all"), *find_buffers(model))
    weights = find_weights(model, params=options.params)
    if options.directions in ("hessian", "trajectory"):
        weights = [weight for weight in weights if not weight.tensor.is_complex()]
    if options.directions == "random" and not any(weight.is_filtered for weight in weights):
        raise LandscapeError(
            "The model has biases, scales and norm layers only among its trainable parameters: random directions move "
            "none of them. Give params='all', or directions of your own."
        )
    return tuple(weights)


def plain_plane(model: nn.Module, weights: tuple[Weight, ...], options: Options) -> Plane:
    """The plane of random directions, of another checkpoint, or of the caller's directions.

    Args:
        model: unwrapped, at the centre.
        weights: of `weights_of`.
        options: which.

    Raises:
        LandscapeError: the checkpoint or the directions do not fit the model.
    """
    if options.model_b is not None:
        return _between(model, weights, options)
    if not isinstance(options.directions, str):
        return _given(model, weights, options.directions)
    x, y = (random_direction(weights, seed=options.seed, axis=axis) for axis in (0, 1))
    moved = tuple(weight for weight in weights if weight.is_filtered)
    meta = {"direction": "random", "normalization": "filter", "seed": options.seed, "dead_share": dead_share(moved)}
    return Plane(weights=moved, x=x, y=y, meta=meta)


def _between(model: nn.Module, weights: tuple[Weight, ...], options: Options) -> Plane:
    state = read_state(options.model_b, names={name for name, _ in model.named_parameters(remove_duplicate=False)})
    x = difference(weights, matched(weights, state, of="model_b"), label="from θ_a to θ_b")
    y = random_direction(weights, seed=options.seed, axis=1)
    marks = (Mark(label="θ_a", x=0.0, y=0.0), Mark(label="θ_b", x=1.0, y=0.0))
    meta = {"direction": "between", "normalization": "filter (y)", "seed": options.seed}
    return Plane(weights=weights, x=x, y=y, x_range=BETWEEN_RANGE, knots=(0.0, 1.0), marks=marks, meta=meta)


def _given(model: nn.Module, weights: tuple[Weight, ...], directions: Sequence[Any]) -> Plane:
    found = [named(model, weights, direction) for direction in directions]
    if len(found) == 1:
        found.append({})
    x, y = (GivenDirection(label=label, tensors=tensors) for label, tensors in zip("δη", found, strict=True))
    return Plane(weights=weights, x=x, y=y, meta={"direction": "given", "normalization": "the caller's"})


def named(model: nn.Module, weights: Sequence[Weight], direction: Any) -> dict[str, torch.Tensor]:
    """The caller's direction by the names of the weights.

    Args:
        model: unwrapped.
        weights: what may move.
        direction: tensors in the order of `model.parameters()`, or by name.

    Raises:
        LandscapeError: tensors are missing, or have other shapes.
    """
    if hasattr(direction, "items"):
        by_name = dict(direction.items())
        known = {name for name, _ in model.named_parameters(remove_duplicate=False)}
        if unknown := sorted(by_name.keys() - known):
            raise LandscapeError(
                f"The model has no parameter {', '.join(map(repr, unknown[:5]))}: give the direction's tensors by the "
                "names of model.named_parameters()."
            )
    else:
        names = [name for name, _ in model.named_parameters()]
        tensors = list(direction)
        if len(tensors) != len(names):
            raise LandscapeError(
                f"The direction has {len(tensors)} tensors and the model {len(names)} parameters: give one for each, "
                "in the order of model.parameters(), or a dict by name."
            )
        by_name = dict(zip(names, tensors, strict=True))
    found: dict[str, torch.Tensor] = {}
    for weight in weights:
        tensor = next((by_name[name] for name in (weight.name, *weight.aliases) if name in by_name), None)
        if tensor is None:
            continue
        if tensor.shape != weight.tensor.shape:
            raise LandscapeError(
                f"The direction of {weight.name!r} has the shape {tuple(tensor.shape)}; the parameter has "
                f"{tuple(weight.tensor.shape)}."
            )
        if tensor.any():
            found[weight.name] = wide(tensor.detach()).to(weight.tensor.device)
    return found


__all__ = ["UNIT_RANGE", "Plane", "named", "plain_plane", "weights_of"]
