"""Several points in one forward pass: `vmap` over `functional_call`.

P points of a chunk.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import torch
from torch.func import functional_call, vmap

from trackio_like.landscape.data import Piece, mean
from trackio_like.landscape.directions import wide
from trackio_like.landscape.scoring import Scorer
from trackio_like.landscape.serial import Moved
from trackio_like.landscape.weights import Weight


class VectorPlane:
    """The weights of many points of a plane at once; the model itself is never written to."""

    def __init__(self, moved: Sequence[Moved]) -> None:
        """Takes what moves.

        Args:
            moved: weights at the centre, and their directions.
        """
        self._moved = moved

    def at(self, points_P2: torch.Tensor) -> dict[str, torch.Tensor]:
        """The weights of each point, [P, ...], by the name they have in a `Scorer`.

        Args:
            points_P2: x and y of each point, float64, on the CPU.
        """
        return {f"model.{weight.name}": _stack(weight, dx, dy, points_P2) for weight, dx, dy in self._moved}


def _stack(weight: Weight, dx: torch.Tensor | None, dy: torch.Tensor | None, points_P2: torch.Tensor) -> torch.Tensor:
    centre = weight.tensor.detach()
    total = wide(centre).expand(len(points_P2), *centre.shape)
    for step, column in ((dx, points_P2[:, 0]), (dy, points_P2[:, 1])):
        if step is not None:
            by = column.to(device=step.device, dtype=step.real.dtype).reshape(-1, *([1] * step.ndim))
            total = torch.addcmul(total, by.to(step.dtype), step)
    if weight.is_variance:
        total = total.clamp_min(0)
    return total.to(centre.dtype)


def vector_losses(
    scorer: Scorer, plane: VectorPlane, pieces: Sequence[Piece], points: Sequence[tuple[float, float]]
) -> list[float]:
    """The losses at several points of the plane.

    Args:
        scorer: its model is lent.
        plane: gives the weights.
        pieces: the data.
        points: (x, y) of each.

    Raises:
        RuntimeError: the model cannot be vectorised, in torch's words.
    """
    stacked = plane.at(torch.tensor(points, dtype=torch.float64, device="cpu").reshape(-1, 2))
    with warnings.catch_warnings():
        # An operation without a batching rule is looped over: slower, which the timing finds out, and right.
        warnings.filterwarnings("ignore", message=".*batching rule.*")
        losses = [_losses(scorer, stacked, piece).cpu().tolist() for piece in pieces]
    weights = [piece.weight for piece in pieces]
    return [mean(list(by_piece), weights) for by_piece in zip(*losses, strict=True)]


def _losses(scorer: Scorer, stacked: Mapping[str, torch.Tensor], piece: Piece) -> torch.Tensor:
    def loss(weights: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return functional_call(scorer, dict(weights), (piece.batch,))

    # "same": what is random draws the same for each point; "error" would refuse LSTMs in eval mode as well.
    return vmap(loss, randomness="same")(dict(stacked))


__all__ = ["VectorPlane", "vector_losses"]
