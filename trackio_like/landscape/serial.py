"""One point at a time, in place: the weights are written where they lie, and made anew from the centre each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch

from trackio_like.landscape.data import Piece, mean
from trackio_like.landscape.directions import Direction, wide
from trackio_like.landscape.scoring import BatchNormMode, Scorer, recalibrate
from trackio_like.landscape.weights import Weight

_WIDE: Final = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})


_Steps: TypeAlias = tuple[torch.Tensor | None, torch.Tensor | None]
Moved: TypeAlias = tuple[Weight, torch.Tensor | None, torch.Tensor | None]
"""A weight, and what a step of 1 along x and along y adds to it."""


class Mover:
    """Puts a model at points of a plane; who lent it puts it back."""

    def __init__(
        self,
        weights: Sequence[Weight],
        x: Direction,
        y: Direction,
        *,
        centre: Sequence[torch.Tensor],
        keeps_directions: bool = True,
    ) -> None:
        """Makes the directions, while the model is at the centre.

        Args:
            weights: all that may move.
            x: the direction of columns.
            y: the direction of rows.
            centre: copies of the weights' tensors, on any device.
            keeps_directions: False makes them anew at each point: slower, and they take no memory.
        """
        self._directions = (x, y)
        # What neither direction moves is never written.
        self._moved: list[tuple[Weight, torch.Tensor, _Steps | None]] = []
        for weight, bits in zip(weights, centre, strict=True):
            steps = (x.of(weight), y.of(weight))
            if any(step is not None for step in steps):
                self._moved.append((weight, bits, steps if keeps_directions else None))

    @property
    def num_moved(self) -> int:
        """Numbers that move."""
        return sum(weight.tensor.numel() for weight, *_ in self._moved)

    def moved(self) -> list[Moved]:
        """What moves, and how; the directions that are kept are not copied."""
        return [(weight, *self._steps(weight, kept)) for weight, _, kept in self._moved]

    def _steps(self, weight: Weight, kept: _Steps | None) -> _Steps:
        return kept or (self._directions[0].of(weight), self._directions[1].of(weight))

    def move_to(self, x: float, y: float) -> None:
        """Writes θ + x·δ + y·η, each number rounded once to its dtype."""
        for weight, bits, kept in self._moved:
            target = weight.tensor.data
            _write(target, bits.to(target.device), self._steps(weight, kept), (x, y))
            if weight.is_variance:
                target.clamp_min_(0)


def _write(
    target: torch.Tensor, centre: torch.Tensor, steps: Sequence[torch.Tensor | None], by: tuple[float, float]
) -> None:
    moves = [(step, scale) for step, scale in zip(steps, by, strict=True) if step is not None and scale != 0]
    if not moves:
        target.copy_(centre)
    elif target.dtype in _WIDE:
        (step, scale), *others = moves
        torch.add(centre, step, alpha=scale, out=target)
        for step, scale in others:
            target.add_(step, alpha=scale)
    else:
        # Half precision would round at each addition, so the sum is made in float32.
        total = wide(centre)
        for step, scale in moves:
            total = total.add(step, alpha=scale)
        target.copy_(total)


def serial_loss(
    scorer: Scorer, mover: Mover, pieces: Sequence[Piece], point: tuple[float, float], *, bn: BatchNormMode = "eval"
) -> float:
    """The loss at a point of the plane.

    Args:
        scorer: its model is lent.
        mover: writes the weights.
        pieces: the data.
        point: (x, y).
        bn: `recalibrate` takes the statistics of batch norm layers anew first.
    """
    mover.move_to(*point)
    if bn == "recalibrate":
        recalibrate(scorer, [piece.batch for piece in pieces])
    return loss_here(scorer, pieces)


def loss_here(scorer: Scorer, pieces: Sequence[Piece]) -> float:
    """The loss where the weights are now."""
    # Read at the end: a device then computes without waiting for each batch.
    losses = [scorer(piece.batch) for piece in pieces]
    return mean([float(loss) for loss in losses], [piece.weight for piece in pieces])


__all__ = ["Mover", "loss_here", "serial_loss"]
