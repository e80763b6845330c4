"""Which tensors a module has itself, where they lie, and how many numbers they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

from trackio_like.model.graph import Tensor

_LAZY: Final = (nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer)
_BITS_NAMES: Final = ("bits", "w_bit", "nbits", "weight_bits")
"""Under which packages that quantise keep the bits of a packed weight on its module."""
_PACKED_NAMES: Final = ("qweight", "W_q", "weight_packed", "weight")
_EIGHT_BITS: Final = frozenset({"int8", "uint8", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"})

Place = tuple[object, int, int]
"""A storage, and where in it a tensor begins and ends, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """A parameter or buffer of a module."""

    name: str
    shape: tuple[int, ...]
    """Of the numbers that it stands for, where that is known; of what is stored else."""
    place: Place
    num_elements: int
    """Numbers that it stands for; 0 for a lazy one."""
    num_bytes: int
    dtype: str
    bits: int
    """A number."""
    trainable: bool
    is_buffer: bool
    is_weight: bool
    """It counts as a parameter: it is one, or a buffer of quantised weights."""
    is_lazy: bool

    def described(self, tied_to: str) -> Tensor:
        """As the graph has it."""
        return Tensor(
            name=self.name, shape=self.shape, dtype=self.dtype, trainable=self.trainable, is_buffer=self.is_buffer,
            is_lazy=self.is_lazy, tied_to=tied_to,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Sums over tensors, each storage once."""

    num_elements: int = 0
    num_trainable: int = 0
    num_bytes: int = 0


def own_entries(module: nn.Module, *, hidden: Iterable[tuple[str, nn.Module]] = ()) -> Iterator[Entry]:
    """The tensors of a module itself.

    Args:
        module: the module.
        hidden: modules in it that are no part of the tree; their tensors count as its own.
    """
    for prefix, owner in [("", module), *hidden]:
        for name, parameter in owner._parameters.items():  # noqa: SLF001 - named_parameters() costs ten times as much
            if parameter is not None:
                yield _entry(prefix + name, parameter, module, is_buffer=False)
        for name, buffer in owner._buffers.items():  # noqa: SLF001
            if buffer is not None:
                yield _entry(prefix + name, buffer, module, is_buffer=True)


def summed(entries: Iterable[Entry]) -> Weights:
    """Sums over entries of which some lie in the same place; overlapping views count once."""
    by_storage: dict[object, dict[tuple[int, int], Entry]] = {}
    for entry in entries:
        storage, first, last = entry.place
        seen = by_storage.setdefault(storage, {})
        known = seen.get((first, last))
        if known is None or (entry.trainable and not known.trainable):
            seen[first, last] = entry
    num_elements = num_trainable = num_bytes = 0
    for seen in by_storage.values():
        covered = 0
        for (first, last), entry in sorted(seen.items(), key=lambda item: (item[0][0], -item[0][1])):
            new = max(0, last - max(first, covered))
            covered = max(covered, last)
            share = entry.num_elements if new == last - first else entry.num_elements * new // (last - first)
            num_elements += share
            num_trainable += share if entry.trainable else 0
            num_bytes += entry.num_bytes if new == last - first else new
    return Weights(num_elements=num_elements, num_trainable=num_trainable, num_bytes=num_bytes)


def _entry(name: str, tensor: torch.Tensor, owner: nn.Module, *, is_buffer: bool) -> Entry:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if isinstance(tensor, _LAZY):
        return Entry(
            name=name, shape=(), place=(id(tensor), 0, 0), num_elements=0, num_bytes=0, dtype=dtype, bits=0,
            trainable=tensor.requires_grad, is_buffer=is_buffer, is_weight=not is_buffer, is_lazy=True,
        )  # fmt: skip
    num_elements = tensor.numel()
    num_bytes = num_elements * tensor.element_size()
    shape = tuple(tensor.shape)
    bits = tensor.element_size() * 8
    if tensor.is_floating_point() and bits > 8:
        is_packed = False
    else:
        bits, packed = _packed(name, tensor, owner, dtype)
        is_packed = packed is not None
        if packed is not None:
            num_elements, shape = packed
    return Entry(
        name=name, shape=shape, place=_place(tensor, num_bytes), num_elements=num_elements, num_bytes=num_bytes,
        dtype=dtype, bits=bits, trainable=not is_buffer and tensor.requires_grad, is_buffer=is_buffer,
        is_weight=not is_buffer or is_packed, is_lazy=False,
    )  # fmt: skip


def _packed(
    name: str, tensor: torch.Tensor, owner: nn.Module, dtype: str
) -> tuple[int, tuple[int, tuple[int, ...]] | None]:
    """Bits a number, and for a packed weight how many numbers it holds, in which shape."""
    stored = tensor.element_size() * 8
    state = getattr(tensor, "quant_state", None)  # bitsandbytes, 4 bits
    shape = getattr(state, "shape", None)
    if state is not None and shape is not None and dtype == "uint8":
        sizes = tuple(int(size) for size in shape)
        return 4, (_product(sizes), sizes)
    if name in _PACKED_NAMES and not tensor.is_floating_point() and not tensor.is_complex():
        bits = _first_int(owner, _BITS_NAMES)
        if bits and stored % bits == 0 and bits < stored:
            return bits, (tensor.numel() * (stored // bits), tuple(tensor.shape))
        if dtype in _EIGHT_BITS:
            return 8, (tensor.numel(), tuple(tensor.shape))
    return stored, None


def _first_int(owner: nn.Module, names: Iterable[str]) -> int:
    for name in names:
        value: Any = owner.__dict__.get(name)
        if type(value) is int and value > 0:
            return value
    return 0


def _place(tensor: torch.Tensor, num_bytes: int) -> Place:
    """Where a tensor lies. A transposed view is the same weights, so strides do not count."""
    try:
        storage = tensor.untyped_storage()
        at = storage.data_ptr() or storage._cdata  # noqa: SLF001 - meta tensors lie at 0, each storage is an object still
        first = tensor.storage_offset() * tensor.element_size()
    except (RuntimeError, NotImplementedError, AttributeError):  # a tensor without storage: a wrapper of others
        return id(tensor), 0, num_bytes
    return (str(tensor.device), at), first, first + num_bytes


def _product(sizes: Iterable[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


__all__ = ["Entry", "Place", "Weights", "own_entries", "summed"]
