"""The frozen batches where the model is, cut as it pays best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from trackio_like.landscape.batches import Batches, mapped, num_samples, tensors_of
from trackio_like.landscape.errors import LandscapeError
from trackio_like.landscape.scoring import Scorer

_LAYOUTS: Final = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """What one forward pass takes."""

    batch: Any
    weight: float
    """How much its loss counts in the mean."""
    num_samples: int


class EvalData:
    """Batches on the model's device, as they came or cut anew."""

    def __init__(self, batches: Batches, scorer: Scorer, *, device: torch.device, may_cut: bool = True) -> None:
        """Copies them there.

        Args:
            batches: frozen.
            scorer: says how much a batch counts, and whether it may be cut.
            device: the model's.
            may_cut: False where statistics are taken over batches as they came.

        Raises:
            LandscapeError: not one sample counts.
        """
        self._scorer = scorer
        self._items = [mapped(item, lambda tensor: tensor.to(device)) for item in batches.items]
        self._as_came = self._weighed(self._items)
        self._cut: tuple[tuple[int | None, bool], tuple[Piece, ...]] | None = None
        self.num_samples = sum(num_samples(item) for item in self._items)
        self.is_cuttable = may_cut and scorer.is_mean_of_samples and self._is_uniform()
        if not self._as_came:
            raise LandscapeError("No sample of the batches counts in the loss: all targets are ignored.")

    @property
    def first_batch_size(self) -> int:
        """Samples of the first batch."""
        return num_samples(self._items[0])

    @property
    def largest_batch(self) -> int:
        """Samples of the largest batch."""
        return max(num_samples(item) for item in self._items)

    @property
    def num_bytes(self) -> int:
        """What the batches take, once."""
        return sum(tensor.nbytes for item in self._items for tensor in tensors_of(item))

    @property
    def has_images(self) -> bool:
        """Whether an input has channels whose layout matters."""
        return any(t.ndim in _LAYOUTS and t.is_floating_point() for t in tensors_of(self._items[0]))

    def pieces(self, batch_size: int | None = None, *, channels_last: bool = False) -> tuple[Piece, ...]:
        """The batches, or as many samples as said in each piece.

        Args:
            batch_size: samples in a piece; None for the batches as they came.
            channels_last: whether inputs with channels have these last in memory.
        """
        if batch_size is None and not channels_last:
            return self._as_came
        key = (batch_size, channels_last)
        if self._cut is None or self._cut[0] != key:
            self._cut = None  # one copy of the data at a time
            self._cut = (key, self._weighed(self._recut(batch_size, channels_last=channels_last)))
        return self._cut[1]

    def forget_all_but(self, batch_size: int | None, *, channels_last: bool) -> None:
        """Frees a cut that was only tried."""
        if self._cut is not None and self._cut[0] != (batch_size, channels_last):
            self._cut = None

    def _weighed(self, items: Sequence[Any]) -> tuple[Piece, ...]:
        pieces = [Piece(batch=item, weight=self._scorer.weigh(item), num_samples=num_samples(item)) for item in items]
        return tuple(piece for piece in pieces if piece.weight > 0)

    def some(self, num: int) -> Any:
        """The first samples as one batch; only where batches may be cut."""
        return mapped(self._items[0], lambda tensor: tensor[:num])

    def _is_uniform(self) -> bool:
        """Whether all batches are alike but for their length, so that their samples may be put together anew."""
        if not all(isinstance(item, (tuple, list)) for item in self._items):
            return False
        forms = set()
        for item in self._items:
            tensors = list(tensors_of(item))
            if not tensors or not all(tensor.ndim and len(tensor) == len(tensors[0]) for tensor in tensors):
                return False
            if len(tensors) != len(item):
                return False  # something else than tensors: nobody knows how to cut it
            forms.add(tuple((tensor.shape[1:], tensor.dtype) for tensor in tensors))
        return len(forms) == 1

    def _recut(self, size: int | None, *, channels_last: bool) -> list[Any]:
        if size is None:
            return [mapped(item, _with_channels_last) for item in self._items]
        columns = [
            _joined([item[i] for item in self._items], channels_last=channels_last) for i in range(len(self._items[0]))
        ]
        return [tuple(column[start : start + size] for column in columns) for start in range(0, len(columns[0]), size)]


def _joined(tensors: Sequence[torch.Tensor], *, channels_last: bool) -> torch.Tensor:
    """One after the other, written once: there is never a second copy of the data."""
    first = tensors[0]
    layout = _LAYOUTS.get(first.ndim) if channels_last and first.is_floating_point() else None
    joined = torch.empty(
        (sum(map(len, tensors)), *first.shape[1:]), dtype=first.dtype, device=first.device,
        memory_format=layout or torch.contiguous_format,
    )  # fmt: skip
    start = 0
    for tensor in tensors:
        joined[start : start + len(tensor)].copy_(tensor)
        start += len(tensor)
    return joined


def _with_channels_last(tensor: torch.Tensor) -> torch.Tensor:
    layout = _LAYOUTS.get(tensor.ndim)
    return tensor if layout is None or not tensor.is_floating_point() else tensor.contiguous(memory_format=layout)


def mean(losses: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean, in float64."""
    return sum(loss * weight for loss, weight in zip(losses, weights, strict=True)) / sum(weights)


__all__ = ["EvalData", "Piece", "mean"]
