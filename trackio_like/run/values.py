"""What a logged value is: a number, text, or something to warn about. Pure; imports no array library."""

from __future__ import annotations

import datetime
import enum
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trackio_like.run.secrets import mask_text

PLAIN: Final = frozenset({float, int, bool})
"""Types that go into the journal as they are."""
INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
MAX_STEP: Final = 2**62
"""Largest step, so that counting on from it stays within 64 bits."""
MAX_DEPTH: Final = 32
"""Nested dicts deeper than this are refused: they may be circular."""

Scalar = float | int | bool


@dataclass(slots=True)
class Sorted:
    """One call's values, by what becomes of them."""

    keys: list[str] = field(default_factory=list)
    values: list[Scalar] = field(default_factory=list)
    objects: list[tuple[str, str, Any, str | None]] = field(default_factory=list)
    """(key, type, payload, media)."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """(cause, message)."""


def sort_values(metrics: Mapping[Any, Any]) -> Sorted:
    """Tells numbers, texts and the rest apart, and flattens nested dicts with `/`.

    Args:
        metrics: what the user logged.

    Returns:
        Every value is in exactly one place: kept as it is, kept in another form with a problem that says so, or
        dropped with a problem.
    """
    found = Sorted()
    for raw_key, value in _flat(metrics, found):
        try:
            _sort_one(raw_key, value, found)
        except Exception as error:  # noqa: BLE001 - a value of a foreign type may raise anything; it costs its key only
            message = (
                f"The value of {raw_key!r} could not be read ({type(error).__name__}: {error}). "
                "The other keys of this call were logged; log a number instead."
            )
            found.problems.append((f"value {raw_key}", message))
    return found


def plain_numbers(values: Iterable[Any]) -> list[Scalar] | None:
    """The values as the journal takes them, or None where one is not a number of the usual kinds.

    The quick way for floats, ints within 64 bits, bools, and scalars of numpy or torch; `sort_values` is for the rest.
    """
    numbers: list[Scalar] = []
    for value in values:
        number = value
        if type(number) not in PLAIN:
            if isinstance(number, float):
                number = float(number)  # numpy.float64 is one, and so needs no trip through `item`
            elif getattr(number, "shape", None) == ():
                number = number.item()
        kind = type(number)
        if kind not in PLAIN or (kind is int and not INT_MIN <= number <= INT_MAX):
            return None
        numbers.append(number)
    return numbers or None


def key_text(key: Any) -> str:
    """A key as text: an enum by its value, anything else by `str`."""
    if isinstance(key, enum.Enum):
        key = key.value
    return str(key)


def encodable(value: Any) -> Any:
    """Plain values without lone surrogates, which UTF-8 cannot hold: a mark stands for each.

    Args:
        value: what msgpack holds, nested.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    return [encodable(item) for item in value] if isinstance(value, list) else value


def _flat(metrics: Mapping[Any, Any], found: Sorted) -> Iterator[tuple[str, Any]]:
    stack: list[tuple[str, Iterator[tuple[Any, Any]]]] = [("", iter(list(metrics.items())))]
    while stack:
        prefix, items = stack[-1]
        pair = next(items, None)
        if pair is None:
            stack.pop()
            continue
        text = key_text(pair[0])
        if not text:
            found.problems.append(
                ("empty key", "An empty key was dropped; the other keys of this call were logged. Name the value.")
            )
            continue
        # A lone surrogate cannot be stored as UTF-8; the replacement mark keeps the rest of the name.
        key = prefix + text.encode("utf-8", "replace").decode()
        if isinstance(pair[1], Mapping):
            if len(stack) >= MAX_DEPTH:
                found.problems.append(
                    (f"deep {key}", f"{key!r} is nested more than {MAX_DEPTH} deep and was dropped; flatten it.")
                )
            else:
                stack.append((f"{key}/", iter(list(pair[1].items()))))
            continue
        yield key, pair[1]


def _sort_one(key: str, value: Any, found: Sorted) -> None:
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None:
        found.problems.append(
            (f"none {key}", f"{key!r} is None, which means 'no value now': nothing was stored for it in this call.")
        )
    elif isinstance(value, str):
        found.objects.append((key, "text", mask_text(value.encode("utf-8", "replace").decode()), None))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _drop(key, value, found)
    elif isinstance(value, (datetime.date, datetime.time, os.PathLike)):
        text = str(value) if isinstance(value, os.PathLike) else value.isoformat()
        found.objects.append((key, "text", text, None))
    elif isinstance(value, (list, tuple, set, frozenset)):
        _sort_list(key, list(value), found)
    else:
        number = as_number(value)
        if number is None:
            _drop(key, value, found)
        else:
            _add_number(key, number, found)


def _sort_list(key: str, items: list[Any], found: Sorted) -> None:
    plain = [item if isinstance(item, str) else as_number(item) for item in items]
    if any(item is None for item in plain):
        _drop(key, items, found)
        return
    # msgpack holds no wider integers; their digits are kept.
    payload = [mask_text(item) if isinstance(item, str) else _within_64_bits(item) for item in plain]
    found.objects.append((key, "json", payload, None))


def _within_64_bits(number: Scalar | None) -> Scalar | str | None:
    return str(number) if isinstance(number, int) and not INT_MIN <= number <= INT_MAX else number


def _drop(key: str, value: Any, found: Sorted) -> None:
    shape = getattr(value, "shape", None)
    what = f"{type(value).__name__} of shape {tuple(shape)}" if shape is not None else type(value).__name__
    message = (
        f"{key!r} is a {what}, which is not a number or text: it was not stored. "
        "The other keys of this call were logged. Log a number, such as its mean."
    )
    found.problems.append((f"type {key}", message))


def as_number(value: Any) -> Scalar | None:
    """A number as Python's own, or None where the value is not one number.

    Takes numpy and torch scalars, arrays and tensors of one element (detached, moved to the host), Decimal, Fraction
    and whatever else converts itself with `__index__` or `__float__`.
    """
    kind = type(value)
    if kind in PLAIN:
        plain: Scalar = value
        return plain
    if isinstance(value, (str, bytes, bytearray)):
        return None
    detach = getattr(value, "detach", None)
    if callable(detach):
        value = detach()
    item = getattr(value, "item", None)
    if callable(item):
        if math.prod(getattr(value, "shape", ())) != 1:
            return None
        value = item()
        if type(value) in PLAIN:
            number: Scalar = value
            return number
    if isinstance(value, complex):
        return None
    if hasattr(value, "__index__"):
        return operator.index(value)
    if hasattr(value, "__float__"):
        return float(value)
    return None


def _add_number(key: str, number: Scalar, found: Sorted) -> None:
    if isinstance(number, int) and not INT_MIN <= number <= INT_MAX:
        try:
            number = float(number)
        except OverflowError:
            found.objects.append((key, "text", str(number), None))
            found.problems.append((f"huge {key}", f"{key!r} is too large for a double; its digits were kept as text."))
            return
        found.problems.append(
            (f"wide {key}", f"{key!r} does not fit 64 bits; the nearest double, {number!r}, was kept.")
        )
    found.keys.append(key)
    found.values.append(number)


def as_step(step: Any) -> int | None:
    """A step as an int within +-`MAX_STEP`, or None where it is no whole number or does not fit."""
    number = as_number(step)
    if number is None or (isinstance(number, float) and not number.is_integer()):
        return None
    whole = int(number)
    return whole if -MAX_STEP <= whole <= MAX_STEP else None


__all__ = [
    "INT_MAX",
    "INT_MIN",
    "MAX_STEP",
    "PLAIN",
    "Scalar",
    "Sorted",
    "as_number",
    "as_step",
    "encodable",
    "key_text",
    "plain_numbers",
    "sort_values",
]
