"""Plain facts that a module tells about itself: what it prints, and its simple attributes."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import nn
from torch.nn.utils import parametrize

MAX_ATTRS: Final = 32
_MAX_TEXT: Final = 200
_SKIPPED: Final = frozenset(
    {
        "training",
        "gradient_checkpointing",
        "config",
        "name_or_path",
        "call_super_init",
        "dump_patches",
        "main_input_name",
    }
)
_NUMBERS: Final = re.compile(r"(^|_)(idx|index|id|number|no|nr|num)$|^(i|layer|block|stage|depth|seed)$")
"""Names of integers that only say which of several equal modules this is."""
_RATES: Final = re.compile(r"^(drop_prob|drop_path(_rate|_prob)?|stochastic_depth(_prob|_rate)?|survival_prob)$")
"""Names of numbers that grow with depth and change nothing about what a module is."""
_LABELS: Final = re.compile(r"(^|_)(name|prefix|path|scope|label|tag|key)$")
"""Names of texts that may spell the module's own number."""
_PLAIN: Final = (int, float, str, bool, type(None))
_SELF_EXPLAINING: Final = "torch.nn.modules."
_EXPLAINED_BY_ATTRS: Final = (
    nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer, nn.RNNBase,
)  # fmt: skip
"""Modules of torch whose `extra_repr` is empty or has no names, though they have something to say."""


def class_name(module: nn.Module) -> str:
    """The class as its author wrote it; a parametrised or scripted module is of a class that was made for it alone."""
    kind = type(module)
    if isinstance(module, torch.jit.ScriptModule) and isinstance(name := getattr(module, "original_name", None), str):
        return name
    if kind.__name__.startswith("Parametrized") and parametrize.is_parametrized(module):
        kind = kind.__bases__[0]
    return kind.__name__


def printed(module: nn.Module) -> str:
    """`extra_repr()`; "" where it fails, as it may for a module that is not complete yet."""
    try:
        text = module.extra_repr()
    except Exception:  # noqa: BLE001 - anybody's code; a picture must not fail for it
        return ""
    return text if isinstance(text, str) else ""


def identity(module: nn.Module, text: str) -> tuple[str, dict[str, Any]]:
    """What tells a module from another one of its class, and what only numbers it.

    Args:
        module: the module.
        text: what it prints.

    Returns:
        A text, equal for modules that differ in their number alone; and the numbers by name.
    """
    numbers: dict[str, Any] = {}
    parts: list[str] = []
    for name, value in module.__dict__.items():
        if name[0] == "_" or name in _SKIPPED:
            continue
        kind = type(value)
        if (kind is int and _NUMBERS.search(name)) or (kind is float and _RATES.match(name)):
            numbers[name] = value
        elif kind is str and _LABELS.search(name):
            parts.append(f"{name}={re.sub(r'[0-9]+', '#', value[:_MAX_TEXT])}")
        elif kind in _PLAIN:
            parts.append(f"{name}={value!r}" if kind is not str else f"{name}={value[:_MAX_TEXT]}")
        elif (written := _written(value)) is not None:
            parts.append(f"{name}={written}")
    if numbers and "p=" in text:  # a rate that grows with depth is printed too
        text = re.sub(r"\bp=[0-9.e-]+", "p=#", text)
    for name in numbers:
        text = re.sub(rf"\b{re.escape(name)}=[^,]+", f"{name}=#", text)
    return "|".join([text, *sorted(parts)]), numbers


def attributes(module: nn.Module) -> dict[str, str]:
    """What to show of a module: what it prints, by name, and for classes beyond torch's its simple attributes."""
    found = parsed(type(module), printed(module))
    kind = type(module)
    if not kind.__module__.startswith(_SELF_EXPLAINING) or isinstance(module, _EXPLAINED_BY_ATTRS):
        for name, value in module.__dict__.items():
            if name[0] == "_" or name in _SKIPPED or name in found or len(found) >= MAX_ATTRS:
                continue
            if type(value) in _PLAIN:
                found[name] = str(value)[:_MAX_TEXT]
            elif (written := _written(value)) is not None:
                found[name] = written
    if parametrize.is_parametrized(module):
        found["parametrizations"] = ", ".join(
            f"{name}: {' + '.join(type(step).__name__ for step in steps)}"
            for name, steps in module.parametrizations.items()
        )
    return found


def parsed(kind: type, text: str) -> dict[str, str]:
    """`extra_repr()` by name; values without one get those of the constructor's arguments, in order."""
    found: dict[str, str] = {}
    positional = list(_constructor_names(kind))
    for part in _parts(text):
        name, equals, value = (text.strip() for text in part.partition("="))
        if equals and name.isidentifier():
            found[name] = value[:_MAX_TEXT]
        elif positional:
            found[positional.pop(0)] = part[:_MAX_TEXT]
        if len(found) >= MAX_ATTRS:
            break
    return found


def number(value: Any) -> int:
    """An attribute as a positive integer; 0 where it is none."""
    return value if type(value) is int and value > 0 else 0


@functools.cache
def _constructor_names(kind: type) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(kind).parameters.values()
        return tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)
    except (TypeError, ValueError):
        return ()


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    depth, start = 0, 0
    for position, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in ",\n" and depth == 0:
            if part := text[start:position].strip():
                yield part
            start = position + 1
    if part := text[start:].strip():
        yield part


def _written(value: Any) -> str | None:
    """A short sequence of plain values, or the name of a function; None for anything else."""
    kind = type(value)
    if kind in (tuple, list) and 0 < len(value) <= 16 and all(type(item) in _PLAIN for item in value):
        return repr(value)[:_MAX_TEXT]
    if kind in (types.FunctionType, types.BuiltinFunctionType):
        return str(value.__name__)
    return None


__all__ = ["attributes", "class_name", "identity", "number", "parsed", "printed"]
