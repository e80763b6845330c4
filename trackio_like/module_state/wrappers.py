"""What stands around a model: compiled, distributed and averaged ones."""

from __future__ import annotations

from typing import Final

from torch import nn

_INNER: Final = {
    "OptimizedModule": "_orig_mod",  # torch.compile
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "AveragedModel": "module",
}
"""Where each keeps the model; their collective calls and guards have no place in what looks at it."""


def without_wrappers(model: nn.Module) -> nn.Module:
    """The model itself, without what compiles, distributes or averages it."""
    while (name := _INNER.get(type(model).__name__)) is not None:
        inner = getattr(model, name)
        if not isinstance(inner, nn.Module):
            break
        model = inner
    return model


__all__ = ["without_wrappers"]
