"""The way that training took: the plane that holds most of it, and where each checkpoint lies on any plane.

S checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trackio_like.landscape.checkpoints import read_state
from trackio_like.landscape.directions import Direction, GivenDirection, wide
from trackio_like.landscape.errors import LandscapeError, NeedsMemoryError
from trackio_like.landscape.plan import mebibytes
from trackio_like.landscape.result import Path
from trackio_like.landscape.weights import Weight, matched

if TYPE_CHECKING:
    import torch

MARGIN: Final = 0.25
"""How far the plane goes beyond the way, as a share of its extent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Checkpoints as differences to the centre."""

    labels_S: tuple[str, ...]
    differences_S: tuple[Mapping[str, torch.Tensor], ...]
    """By the weight's name, on the CPU, at least float32."""


def read_steps(checkpoints: Any, weights: Sequence[Weight], *, names: set[str], budget_bytes: int) -> Steps:
    """The checkpoints, minus the weights as they are now.

    Args:
        checkpoints: modules, state dicts or files, or pairs of a label and one; or a mapping from labels.
        weights: what counts.
        names: of the model's parameters.
        budget_bytes: what the differences may take.

    Raises:
        LandscapeError: one cannot be read or does not fit the model.
        NeedsMemoryError: they do not fit the budget.
    """
    pairs = _labelled(checkpoints)
    size = sum(weight.tensor.numel() * max(4, weight.tensor.element_size()) for weight in weights) * len(pairs)
    if size > budget_bytes:
        raise NeedsMemoryError(
            f"{len(pairs)} checkpoints take {mebibytes(size)}, and what is left of the budget is "
            f"{mebibytes(max(0, budget_bytes))}. Give fewer of them, or a larger memory_budget=."
        )
    found = []
    for label, source in pairs:
        state = matched(weights, read_state(source, names=names), of=f"the checkpoint {label!r}")
        found.append(
            {
                weight.name: wide(state.get(weight.name, weight.tensor).detach().cpu())
                - wide(weight.tensor.detach().cpu())
                for weight in weights
            }
        )
    return Steps(labels_S=tuple(label for label, _ in pairs), differences_S=tuple(found))


def _labelled(checkpoints: Any) -> list[tuple[str, Any]]:
    if isinstance(checkpoints, Mapping):
        return [(str(label), source) for label, source in checkpoints.items()]
    pairs = []
    for number, item in enumerate(checkpoints):
        is_pair = isinstance(item, tuple) and len(item) == 2
        label, source = item if is_pair else (f"checkpoint {number + 1}", item)
        pairs.append((f"step {label}" if isinstance(label, int) else str(label), source))
    return pairs


def principal_directions(steps: Steps) -> tuple[GivenDirection, GivenDirection, tuple[float, float]]:
    """The two directions that hold most of the way (Li et al. 2018, section 7.2): its principal components.

    Differences are taken to the centre, not to their mean, so that the centre lies on the plane.

    Returns:
        Directions of length 1, and the share of the squared distances that each holds.

    Raises:
        LandscapeError: there are fewer than two checkpoints that differ from the centre.
    """
    gram_SS = np.array([[_dot(a, b) for b in steps.differences_S] for a in steps.differences_S])
    values, vectors = np.linalg.eigh(gram_SS)
    order = np.argsort(-values)[:2]
    if len(order) < 2 or values[order[1]] <= 1e-12 * max(values[order[0]], 1e-30):
        raise LandscapeError(
            "The checkpoints lie on one line with the model, or are the same: give two or more that differ from it and "
            "from each other."
        )
    total = float(np.trace(gram_SS))
    directions, shares = [], []
    for number, index in enumerate(order):
        column_S = vectors[:, index] / math.sqrt(values[index])
        column_S *= np.sign(column_S[np.argmax(np.abs(column_S))])  # the same sign at each call
        tensors = {
            name: sum(float(by) * step[name] for by, step in zip(column_S, steps.differences_S, strict=True))
            for name in steps.differences_S[0]
        }
        share = float(values[index]) / total
        label = f"principal component {number + 1} ({100 * share:.1f} % of the way)"
        directions.append(GivenDirection(label=label, tensors=tensors))
        shares.append(share)
    return directions[0], directions[1], (shares[0], shares[1])


def project(steps: Steps, weights: Sequence[Weight], axes: tuple[Direction, Direction]) -> tuple[Path, float]:
    """Where the checkpoints lie on a plane: the nearest points, by least squares; the centre is the last one.

    Returns:
        The way, and the share of the squared distances to the centre that lies in the plane.
    """
    gram_22, dots_S2 = np.zeros((2, 2)), np.zeros((len(steps.differences_S), 2))
    for weight in weights:
        pair = [None if step is None else step.detach().cpu() for step in (axis.of(weight) for axis in axes)]
        for i, left in enumerate(pair):
            if left is None:
                continue
            for j, right in enumerate(pair):
                if right is not None:
                    gram_22[i, j] += _dot_one(left, right)
            for s, difference in enumerate(steps.differences_S):
                if weight.name in difference:
                    dots_S2[s, i] += _dot_one(difference[weight.name], left)
    points_S2 = np.linalg.lstsq(gram_22, dots_S2.T, rcond=None)[0].T
    held = float(np.einsum("si,ij,sj->", points_S2, gram_22, points_S2))
    whole = math.fsum(_dot(step, step) for step in steps.differences_S)
    points = np.vstack([points_S2, [0.0, 0.0]])
    path = Path(
        x_S=tuple(map(float, points[:, 0])), y_S=tuple(map(float, points[:, 1])), labels_S=(*steps.labels_S, "θ")
    )
    return path, held / max(whole, 1e-30)


def around(values: Sequence[float]) -> tuple[float, float]:
    """A range that holds all of them and 0, with a margin."""
    low, high = min(0.0, *values), max(0.0, *values)
    pad = MARGIN * max(high - low, 1e-12)
    return low - pad, high + pad


def spread_of(path: Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of x and y that hold a way."""
    x_range, y_range = around(path.x_S), around(path.y_S)
    # Not much flatter than wide: a way that hardly turns would be drawn as a strip of nothing.
    least = 0.25 * (x_range[1] - x_range[0])
    lacking = max(0.0, least - (y_range[1] - y_range[0])) / 2
    return x_range, (y_range[0] - lacking, y_range[1] + lacking)


def _dot(left: Mapping[str, torch.Tensor], right: Mapping[str, torch.Tensor]) -> float:
    return math.fsum(_dot_one(left[name], right[name]) for name in left)


def _dot_one(left: torch.Tensor, right: torch.Tensor) -> float:
    return float((left.double() * right.double()).sum())


__all__ = ["Steps", "principal_directions", "project", "read_steps", "spread_of"]
