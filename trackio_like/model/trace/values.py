"""Tensors in what goes into modules and operators and comes out of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

import torch

from trackio_like.model.graph import TensorIO

_MAX_DEPTH: Final = 5
_MAX_SHOWN: Final = 16
_DTYPES: dict[torch.dtype, str] = {}


def dtype_name(dtype: torch.dtype) -> str:
    """Such as `float32`."""
    found = _DTYPES.get(dtype)
    if found is None:
        found = _DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return found


class Shared:
    """Equal shapes, and what is told of tensors, each kept once: a trace of a large model has few that differ."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._tensors: dict[tuple[tuple[int, ...], torch.dtype], TensorIO] = {}

    def shape(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """A tensor's sizes."""
        shape = tuple(tensor.shape)
        return self._shapes.setdefault(shape, shape)

    def told(self, tensor: torch.Tensor) -> TensorIO:
        """What is told of a tensor."""
        key = (self.shape(tensor), tensor.dtype)
        found = self._tensors.get(key)
        if found is None:
            found = self._tensors[key] = TensorIO(shape=key[0], dtype=dtype_name(tensor.dtype))
        return found


def num_bytes(tensor: torch.Tensor) -> int:
    """Of the tensor itself, not of what it is a view of."""
    return int(tensor.numel() * tensor.element_size())


def arguments_tensors(args: Any, kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
    """The tensors among an operator's arguments, also in lists."""
    found: list[torch.Tensor] = []
    for value in args:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if isinstance(item, torch.Tensor)]
    for value in kwargs.values():
        if isinstance(value, torch.Tensor):
            found.append(value)
    return found


def named_tensors(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors in a value that modules pass around, with a name for each, such as `states.0`.

    Seen are lists, tuples, mappings and dataclasses, a few deep; not other objects, such as caches.
    """
    if isinstance(value, torch.Tensor):
        yield name, value
        return
    if depth >= _MAX_DEPTH or value is None or isinstance(value, (str, bytes, int, float)):
        return
    items: Any = ()
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        items = (("data", value.data),)  # the rest says how long its sequences are
    elif isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = zip(value._fields, value, strict=False)
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [(each.name, getattr(value, each.name, None)) for each in dataclasses.fields(value)]
    for key, item in items:
        yield from named_tensors(item, f"{name}.{key}" if name else str(key), depth + 1)


def tensors_io(value: Any, shared: Shared) -> tuple[tuple[TensorIO, ...], int]:
    """What is told of the tensors in a value, and their bytes."""
    if isinstance(value, torch.Tensor):
        return (shared.told(value),), num_bytes(value)
    found: list[TensorIO] = []
    total = 0
    for _, tensor in named_tensors(value):
        total += num_bytes(tensor)
        if len(found) < _MAX_SHOWN:
            found.append(shared.told(tensor))
    return tuple(found), total


__all__ = ["Shared", "arguments_tensors", "dtype_name", "named_tensors", "num_bytes", "tensors_io"]
