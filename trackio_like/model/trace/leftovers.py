"""Tensors without numbers that a pass left in tables and caches behind the model, and how they get out again."""

from __future__ import annotations

import gc
from types import FrameType
from typing import Any, Final

import torch
from torch import nn

_MAX_DEPTH: Final = 8
_MAX_OBJECTS: Final = 10_000
_PLAIN: Final = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.dtype, torch.device, type)


class Behind:
    """What objects hold that are attributes of a model's modules: caches, configurations.

    Taken down before a pass, and put back only where a tensor of the pass is left in them: they may belong to somebody
    who goes on with them meanwhile.
    """

    def __init__(self, model: nn.Module) -> None:
        self._before: dict[int, tuple[Any, Any]] = {}
        for part in model.modules():
            for name, value in part.__dict__.items():
                if not isinstance(value, _PLAIN) and name not in ("_parameters", "_buffers", "_modules"):
                    self._walk(value, 0)

    def _walk(self, value: Any, depth: int) -> None:
        if isinstance(value, (*_PLAIN, nn.Module)) or depth > _MAX_DEPTH or len(self._before) >= _MAX_OBJECTS:
            return
        if isinstance(value, dict):
            self._remember(value, dict(value), value.values(), depth)
        elif isinstance(value, list):
            self._remember(value, list(value), value, depth)
        elif isinstance(value, tuple):
            for item in value:
                self._walk(item, depth + 1)
        elif isinstance(table := getattr(value, "__dict__", None), dict) and not callable(value):
            self._remember(table, dict(table), table.values(), depth)

    def _remember(self, holder: Any, copy: Any, items: Any, depth: int) -> None:
        if id(holder) not in self._before:
            self._before[id(holder)] = (holder, copy)
            for item in list(items):
                self._walk(item, depth + 1)

    def take_out(self, tensors: list[torch.Tensor]) -> None:
        """Takes tensors out of what holds them, as far as that is understood."""
        ours = {id(tensor) for tensor in tensors}
        for holder in gc.get_referrers(*tensors):
            if holder is not tensors and not isinstance(holder, FrameType):
                self._take_out_of(holder, ours)

    def _take_out_of(self, holder: Any, ours: set[int]) -> None:
        known = self._before.get(id(holder))
        if known is not None:
            holder.clear()
            if isinstance(holder, dict):
                holder.update(known[1])
            else:
                holder.extend(known[1])
        elif isinstance(holder, dict):
            for key in [key for key, value in holder.items() if id(value) in ours]:
                del holder[key]
        elif isinstance(holder, list):
            holder[:] = [item for item in holder if id(item) not in ours]
        else:
            _forget(holder)


def _forget(holder: Any) -> None:
    """Clears the cache of a function, where a result or an argument of it is what is held."""
    if hasattr(holder, "cache_clear"):
        holder.cache_clear()
    elif isinstance(holder, tuple):
        for above in gc.get_referrers(holder):
            if hasattr(above, "cache_clear") and not isinstance(above, type):
                above.cache_clear()


def alive(storages: set[int]) -> list[torch.Tensor]:
    """The tensors that have one of these storages, by their identities, wherever they are."""
    found = []
    for each in gc.get_objects():
        if issubclass(type(each), torch.Tensor) and (each.is_meta or hasattr(each, "fake_mode")):
            try:
                storage = each.untyped_storage()
            except (NotImplementedError, RuntimeError, ValueError):
                continue
            if id(storage) in storages:
                found.append(each)
    return found


__all__ = ["Behind", "alive"]
