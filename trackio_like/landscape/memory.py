"""How much memory a forward pass takes: counted tensor by tensor on a few samples, and scaled up."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from trackio_like.landscape.data import EvalData
from trackio_like.landscape.scoring import Scorer
from trackio_like.landscape.weights import Weight

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

    def largest_batch(self, budget_bytes: int, data: EvalData) -> int | None:
        """The largest batch size that fits, halved from what the batches have; None for the batches as they came."""
        if self.of(data.largest_batch) <= budget_bytes or not data.is_cuttable:
            return None
        size = data.largest_batch
        while size > 1 and self.of(size) > budget_bytes:
            size //= 2
        return size


def forward_memory(scorer: Scorer, data: EvalData) -> ForwardMemory:
    """Counts what forward passes need.

    Few samples where batches may be cut, so that the count needs little memory itself; else the first batch, which
    training has in memory as well.

    Args:
        scorer: its model is lent.
        data: the data.
    """
    scorer(data.some(1) if data.is_cuttable else data.pieces()[0].batch)  # a scorer's first pass is over a copy
    return _along(lambda batch: _peak(scorer, batch, scorer), data)


def gradient_memory(scorer: Scorer, data: EvalData, weights: Sequence[Weight]) -> ForwardMemory:
    """Counts what a gradient of a gradient needs, as products with the Hessian take it.

    Args:
        scorer: its model is lent.
        data: the data.
        weights: with respect to which.
    """

    def twice(batch: Any) -> None:
        with second_derivatives(weights):
            tensors = [weight.tensor for weight in weights]
            first = torch.autograd.grad(scorer(batch), tensors, create_graph=True, allow_unused=True)
            total = torch.stack([g.sum() for g in first if g is not None]).sum()
            if total.requires_grad:
                torch.autograd.grad(total, tensors, allow_unused=True)

    return _along(lambda batch: _peak(scorer, batch, twice), data)


@contextmanager
def second_derivatives(weights: Sequence[Weight]) -> Iterator[None]:
    """Gradients with respect to the weights, twice: frozen ones too, and attention by its plain formula.

    Fused attention kernels have no second derivative.
    """
    frozen = [weight.tensor for weight in weights if not weight.tensor.requires_grad]
    try:
        for tensor in frozen:
            tensor.requires_grad_(True)
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        for tensor in frozen:
            tensor.requires_grad_(False)


def _along(peak: Callable[[Any], int], data: EvalData) -> ForwardMemory:
    """A line through what few samples take; what the first batch takes where batches may not be cut."""
    few, more = _FEW
    if not data.is_cuttable:
        piece = data.pieces()[0]
        return ForwardMemory(fixed_bytes=0.0, bytes_per_sample=peak(piece.batch) / max(1, piece.num_samples))
    if data.first_batch_size < more:
        return ForwardMemory(fixed_bytes=0.0, bytes_per_sample=peak(data.some(few)) / few)
    at_few, at_more = peak(data.some(few)), peak(data.some(more))
    slope = max(0.0, (at_more - at_few) / (more - few))
    return ForwardMemory(fixed_bytes=max(0.0, at_few - slope * few), bytes_per_sample=slope)


def _peak(scorer: Scorer, batch: Any, action: Callable[[Any], object]) -> int:
    tensors = [*scorer.parameters(), *scorer.buffers(), *tree_leaves(batch)]
    known = {
        tensor.untyped_storage()._cdata  # noqa: SLF001
        for tensor in tensors
        if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided
    }
    with _PeakCounter(known) as counter:
        action(batch)
    return int(counter.peak)


__all__ = ["ForwardMemory", "forward_memory", "gradient_memory", "second_derivatives"]
