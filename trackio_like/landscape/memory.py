"""How much memory a forward pass takes: counted tensor by tensor on a few samples, and scaled up."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from trackio_like.landscape.data import EvalData
from trackio_like.landscape.scoring import Scorer

_FEW: Final = (1, 3)
"""Samples of the two passes that a line is laid through."""


class _PeakCounter(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Counts the bytes of storages that come into being inside and are alive at once."""

    def __init__(self, known: set[int]) -> None:
        super().__init__()
        self._known = known
        self._live: dict[int, int] = {}
        self.now = 0
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
                self._count(leaf.untyped_storage())
        return out

    def _count(self, storage: Any) -> None:
        key = storage._cdata  # noqa: SLF001 - the storage's identity; its address may be another's soon
        if key in self._known or key in self._live:
            return
        size = storage.nbytes()
        self._live[key] = size
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, key)

    def _gone(self, key: int) -> None:
        self.now -= self._live.pop(key, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardMemory:
    """The memory of one forward pass beside weights and data: a line over the number of samples."""

    fixed_bytes: float
    bytes_per_sample: float

    def of(self, num_samples: int) -> int:
        """Bytes of a pass over so many samples."""
        return int(self.fixed_bytes + self.bytes_per_sample * num_samples)


def forward_memory(scorer: Scorer, data: EvalData) -> ForwardMemory:
    """Counts what forward passes need.

    Few samples where batches may be cut, so that the count needs little memory itself; else the first batch, which
    training has in memory as well.

    Args:
        scorer: its model is lent.
        data: the data.
    """
    if not data.is_cuttable:
        piece = data.pieces()[0]
        peak = _peak(scorer, piece.batch)
        return ForwardMemory(fixed_bytes=0.0, bytes_per_sample=peak / max(1, piece.num_samples))
    few, more = _FEW
    if data.first_batch_size < more:
        return ForwardMemory(fixed_bytes=0.0, bytes_per_sample=_peak(scorer, data.some(few)) / few)
    at_few, at_more = _peak(scorer, data.some(few)), _peak(scorer, data.some(more))
    slope = max(0.0, (at_more - at_few) / (more - few))
    return ForwardMemory(fixed_bytes=max(0.0, at_few - slope * few), bytes_per_sample=slope)


def _peak(scorer: Scorer, batch: Any) -> int:
    tensors = [*scorer.parameters(), *scorer.buffers(), *tree_leaves(batch)]
    known = {
        tensor.untyped_storage()._cdata  # noqa: SLF001
        for tensor in tensors
        if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided
    }
    with _PeakCounter(known) as counter:
        scorer(batch)
    return int(counter.peak)


__all__ = ["ForwardMemory", "forward_memory"]
