"""The data that a surface is evaluated on: taken once, kept, and the same at every point and step."""

from __future__ import annotations

import copy
import hashlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import DataLoader

from trackio_like.landscape.errors import LandscapeError
from trackio_like.module_state.random_state import generator_undo, random_states_kept

_MAX_DEPTH: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """Some batches of a loader, on the CPU or wherever it put them."""

    items: tuple[Any, ...]
    """As the loader gave them: tensors, tuples, mappings, nested."""
    sha256: str
    """Of their bits: surfaces with the same one are of the same data."""

    def __len__(self) -> int:
        return len(self.items)


def freeze(loader: Any, *, num_batches: int) -> Batches:
    """Takes the first batches of a loader, drawing nothing from the training's random numbers.

    What the loader augments or shuffles is as it happened to be; it stays so for all surfaces of these batches.

    Args:
        loader: iterable of batches, such as a DataLoader or a list; only as many as are wanted are taken.
        num_batches: how many, at least 1; fewer where it has fewer.

    Raises:
        LandscapeError: it cannot be iterated, or it has no batch.
    """
    if isinstance(loader, Batches):
        return loader
    if (as_whole(num_batches) or 0) < 1:
        raise LandscapeError(f"nbatches={num_batches!r} is no number of batches; give 1 or more.")
    if isinstance(loader, Iterator):
        raise LandscapeError(
            "The loader is an iterator, whose batches training would miss afterwards: give the loader itself, or a "
            "list of batches."
        )
    with random_states_kept(), _generators_kept(loader):
        try:
            iterator = iter(_apart(loader))
        except TypeError:
            raise LandscapeError(
                f"A {type(loader).__name__} gives no batches: give a DataLoader or a list of batches."
            ) from None
        items = tuple(_kept(batch) for _, batch in zip(range(num_batches), iterator, strict=False))
    if not items:
        raise LandscapeError("The loader has no batch, so there is nothing to evaluate on.")
    return Batches(items=items, sha256=_digest(items))


def as_whole(value: Any) -> int | None:
    """A whole number of whatever kind as Python's; None where it is none."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _apart(loader: Any) -> Any:
    """A loader whose iteration disturbs nobody: that of a DataLoader with persistent workers would end training's."""
    if not isinstance(loader, DataLoader):
        return loader
    apart = copy.copy(loader)
    apart._iterator = None  # noqa: SLF001 - training's own, if there is one
    apart.num_workers = 0
    apart.timeout = 0
    return apart


@contextmanager
def _generators_kept(loader: Any) -> Iterator[None]:
    """Loaders, samplers and datasets may draw from generators of their own."""
    samplers = [getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)]
    samplers.append(getattr(samplers[1], "sampler", None))
    owners = [loader, *samplers, getattr(loader, "dataset", None)]
    values = {id(value): value for owner in owners for value in getattr(owner, "__dict__", {}).values()}
    undo = [found for value in values.values() if (found := generator_undo(value)) is not None]
    try:
        yield
    finally:
        for put_back in undo:
            put_back()


def _kept(batch: Any) -> Any:
    """A batch whose tensors nobody else changes: some loaders fill the same memory again."""
    return mapped(batch, lambda tensor: tensor.detach().clone())


def mapped(batch: Any, change: Any, *, depth: int = 0) -> Any:
    """A batch with every tensor replaced; containers keep their type where they can.

    Args:
        batch: tensors in tuples, lists, mappings and what behaves like them.
        change: gives the new tensor.
        depth: how far in this is.
    """
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if depth >= _MAX_DEPTH:
        return batch
    if isinstance(batch, Mapping):
        return {key: mapped(value, change, depth=depth + 1) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(mapped(value, change, depth=depth + 1) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(mapped(value, change, depth=depth + 1) for value in batch)
    if type(batch).__module__ == "numpy" and getattr(batch, "dtype", np.dtype(object)).kind in "biufc":
        return change(torch.as_tensor(batch))
    return batch


def tensors_of(batch: Any, *, depth: int = 0) -> Iterator[torch.Tensor]:
    """Every tensor of a batch, in order."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif depth < _MAX_DEPTH:
        values: Iterable[Any] = ()
        if isinstance(batch, Mapping):
            values = batch.values()
        elif isinstance(batch, (tuple, list)):
            values = batch
        for value in values:
            yield from tensors_of(value, depth=depth + 1)


def num_samples(batch: Any) -> int:
    """The length of the first tensor's first axis; 1 where there is none."""
    first = next((tensor for tensor in tensors_of(batch) if tensor.ndim), None)
    return 1 if first is None else int(first.shape[0])


def _digest(items: Sequence[Any]) -> str:
    digest = hashlib.sha256()
    for tensor in tensors_of(list(items)):
        found = tensor.detach()
        digest.update(f"{found.dtype}{tuple(found.shape)}".encode())
        if found.layout == torch.strided:
            digest.update(found.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        else:
            digest.update(repr(found.cpu().to_dense().tolist()).encode())
    return digest.hexdigest()


__all__ = ["Batches", "as_whole", "freeze", "mapped", "num_samples", "tensors_of"]
