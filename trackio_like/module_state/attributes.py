"""Plain Python attributes of modules that a forward pass changes: counters, caches, lists of activations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import is_
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from trackio_like.module_state.random_state import generator_undo

_MAX_DEPTH: Final = 6


class Attributes:
    """The attributes of a module and all modules in it, as they are now.

    Seen are the attributes themselves, and what lists, dicts, sets, queues, arrays, tensors and random generators
    among them hold. What
    lies behind other objects is not: it may belong to somebody who goes on with it meanwhile.
    """

    def __init__(self, module: nn.Module, *, but: frozenset[str] = frozenset()) -> None:
        """Takes them down.

        Args:
            module: must live as long as this.
            but: names of attributes of modules that are left alone.
        """
        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()
        self._owned = {id(tensor) for tensor in [*module.parameters(), *module.buffers()]}
        for part in module.modules():
            self._take_mapping(part.__dict__, depth=0, skipped=but)

    def put_back(self) -> None:
        """Undoes every change since."""
        for undo in self._undo:
            undo()

    def _take(self, value: Any, depth: int) -> None:
        if depth > _MAX_DEPTH or id(value) in self._seen:
            return
        match value:
            case torch.Tensor() if id(value) not in self._owned:
                self._seen.add(id(value))
                self._undo.append(_tensor_undo(value))
            case np.ndarray():
                self._seen.add(id(value))
                self._undo.append(_array_undo(value))
            case dict():
                self._take_mapping(value, depth=depth, skipped=frozenset())
            case list() | deque():
                self._seen.add(id(value))
                self._undo.append(_sequence_undo(value))
                for item in list(value):
                    self._take(item, depth + 1)
            case set():
                self._seen.add(id(value))
                self._undo.append(_set_undo(value))
            case tuple():
                for item in value:
                    self._take(item, depth + 1)
            case _:
                if (undo := generator_undo(value)) is not None:
                    self._seen.add(id(value))
                    self._undo.append(undo)

    def _take_mapping(self, mapping: dict[Any, Any], *, depth: int, skipped: frozenset[str]) -> None:
        self._seen.add(id(mapping))
        self._undo.append(_mapping_undo(mapping, skipped))
        for key, value in list(mapping.items()):
            if key not in skipped:
                self._take(value, depth + 1)


def _mapping_undo(mapping: dict[Any, Any], skipped: frozenset[str]) -> Callable[[], None]:
    keys, values = list(mapping), list(mapping.values())
    before = {key: value for key, value in mapping.items() if key not in skipped}

    def undo() -> None:
        # Models have thousands of these, and nearly all are as they were.
        if len(mapping) == len(keys) and all(map(is_, mapping.values(), values)) and all(map(is_, mapping, keys)):
            return
        for key in [key for key in mapping if key not in skipped and key not in before]:
            del mapping[key]
        _assign(mapping, before)
        if not skipped and list(mapping) != keys:
            mapping.clear()
            _assign(mapping, before)

    return undo


def _assign(mapping: dict[Any, Any], values: dict[Any, Any]) -> None:
    for key, value in values.items():
        mapping[key] = value  # noqa: PERF403 - no `update`: counters add


def _sequence_undo(sequence: Any) -> Callable[[], None]:
    before = list(sequence)

    def undo() -> None:
        if len(sequence) != len(before) or any(a is not b for a, b in zip(sequence, before, strict=True)):
            sequence.clear()
            sequence.extend(before)

    return undo


def _set_undo(items: set[Any]) -> Callable[[], None]:
    before = set(items)

    def undo() -> None:
        if items != before:
            items.clear()
            items.update(before)

    return undo


def _array_undo(array: Any) -> Callable[[], None]:
    before = array.copy()

    def undo() -> None:
        if array.dtype == object or not np.array_equal(array, before, equal_nan=array.dtype.kind in "fc"):
            array[...] = before

    return undo


def _tensor_undo(tensor: torch.Tensor) -> Callable[[], None]:
    """A tensor that is no parameter or buffer, such as a cache: its bits."""
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return lambda: None
    before = tensor.detach().clone()

    def undo() -> None:
        # Only where it differs: the tensor may be a part of a graph that waits for its backward pass.
        if tensor.shape != before.shape:
            tensor.data = before.clone()
        elif not same_bits(tensor.detach(), before):
            tensor.data.copy_(before)

    return undo


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits, NaN included."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.is_complex():
        left, right = torch.view_as_real(left.resolve_conj()), torch.view_as_real(right.resolve_conj())
    if left.is_floating_point():
        kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[left.element_size()]
        left, right = left.contiguous().view(kind), right.contiguous().view(kind)
    return bool(torch.equal(left, right))


__all__ = ["Attributes", "same_bits"]
