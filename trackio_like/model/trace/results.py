"""What operators give on the meta device, remembered: a network asks the same of them again and again."""

from __future__ import annotations

from typing import Any, Final

import torch

_PLAIN: Final = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)
_KINDS: Final = (torch.Tensor, torch.nn.Parameter)
_NO_KEY: Final = object()


class Results:
    """Shapes of results by operator and arguments.

    On the meta device a result has no numbers, so that its shape, strides and dtype are all of it; finding them takes
    torch ten times as long as making the tensor.
    """

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Any, Any, torch.dtype]] = {}

    def give(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator gives that makes something new: neither writes nor gives views.

        Args:
            func: the operator.
            args: all tensors among them are on the meta device.
            kwargs: the same.
        """
        key = (func, _key(args), _key(tuple(kwargs.items()))) if kwargs else (func, _key(args))
        if _NO_KEY in key:
            return func(*args, **kwargs)
        found = self._known.get(key)
        if found is not None:
            return torch.empty_strided(found[0], found[1], dtype=found[2], device="meta")
        result = func(*args, **kwargs)
        if type(result) is torch.Tensor and result.is_meta and result.layout == torch.strided:
            self._known[key] = (result.shape, result.stride(), result.dtype)
        return result


def _key(values: Any) -> Any:
    """What equal values have in common that give equal shapes; `_NO_KEY` where that is not known."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in _KINDS:
            if not value.is_meta or value.layout != torch.strided or value.dtype.is_complex:
                return _NO_KEY
            found.append((value.shape, value.stride(), value.dtype))
        elif kind in _PLAIN:
            found.append((kind, value))  # 1, 1.0 and True are equal, and give other dtypes
        elif kind in (list, tuple):
            inner = _key(value)
            if inner is _NO_KEY:
                return _NO_KEY
            found.append((kind, inner))
        else:
            return _NO_KEY
    return tuple(found)


__all__ = ["Results"]
