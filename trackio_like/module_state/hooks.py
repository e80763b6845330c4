"""Users' hooks count, print and log: they are off while a module is only looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from torch import nn

_HOOK_TABLES: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_FUNCTIONAL: Final = ("torch.", "accelerate.", "peft.", "deepspeed.", "transformers.", "bitsandbytes.")
"""Packages whose hooks are a part of the forward pass, such as old weight and spectral norm, pruning, offloading."""


@contextmanager
def foreign_hooks_off(module: nn.Module, *, keeps_all: bool = False) -> Iterator[int]:
    """Takes hooks off that only watch, and puts the very tables back.

    Args:
        module: its hooks and those of all modules in it.
        keeps_all: leave all of them on.

    Yields:
        How many hooks are off.
    """
    kept: list[tuple[nn.Module, str, Any]] = []
    num_off = 0
    try:
        for part in [] if keeps_all else module.modules():
            for table in _HOOK_TABLES:
                hooks = part.__dict__.get(table)
                if not hooks:
                    continue
                wanted = OrderedDict((key, hook) for key, hook in hooks.items() if _is_functional(hook))
                if len(wanted) < len(hooks):
                    num_off += len(hooks) - len(wanted)
                    kept.append((part, table, hooks))
                    part.__dict__[table] = wanted
        yield num_off
    finally:
        for part, table, hooks in kept:
            part.__dict__[table] = hooks


def _is_functional(hook: Any) -> bool:
    target = getattr(hook, "func", hook)  # functools.partial
    origin = getattr(target, "__module__", None) or type(target).__module__
    return origin.startswith(_FUNCTIONAL)


__all__ = ["foreign_hooks_off"]
