"""Which sizes of a model's inputs are its batch and its sequences, and what sizes elsewhere are made of them: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Sequences = Literal["all", "indices", "none"]
_STEPS = (3, 5, 7, 11)
_SHORTEST_CUT = 16
_MAX_FACTOR = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One input, as far as its sizes matter."""

    sizes: tuple[int, ...]
    is_float: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Other sizes for the same inputs."""

    names: Mapping[str, tuple[int, int]]
    """What each named size is, and what it is in the other pass."""
    shapes: tuple[tuple[int, ...], ...]
    """The inputs' sizes in the other pass."""
    dims: tuple[tuple[str, ...], ...]
    """The inputs' sizes by name, "" for those that stay."""


def plan(inputs: Sequence[Shape], *, is_batch_first: bool, sequences: Sequences) -> Plan | None:
    """Other sizes for a second pass, so that what changes with them shows; None where nothing has a batch.

    The first size is the batch's; the second of rows of indices, and of rows of vectors, a sequence's. Sequences of
    one length change together, for they may have to fit.

    Args:
        inputs: of the first pass.
        is_batch_first: whether the batch stands before the sequence.
        sequences: which to change as well: all, those of indices only, or none.
    """
    batch_at, sequence_at = (0, 1) if is_batch_first else (1, 0)
    batch = next((shape.sizes[batch_at] for shape in inputs if len(shape.sizes) > batch_at), 0)
    if batch < 1:
        return None
    names = {"B": (batch, batch + 1)}
    lengths: dict[int, str] = {}
    for shape in inputs if sequences != "none" else ():
        if shape.is_float and sequences == "indices":
            continue
        length = shape.sizes[sequence_at] if len(shape.sizes) == (3 if shape.is_float else 2) else 0
        if length > 1 and length not in lengths and len(lengths) < len(_STEPS):
            name = "T" if not lengths else f"T{len(lengths) + 1}"
            step = _STEPS[len(lengths)]
            names[name] = (length, length - step if length > _SHORTEST_CUT else length + step)
            lengths[length] = name
    dims = tuple(_named(shape, batch_at, batch, lengths, sequence_at) for shape in inputs)
    shapes = tuple(
        tuple(names[name][1] if name else size for size, name in zip(shape.sizes, named, strict=True))
        for shape, named in zip(inputs, dims, strict=True)
    )
    return Plan(names=names, shapes=shapes, dims=dims)


def _named(shape: Shape, batch_at: int, batch: int, lengths: Mapping[int, str], sequence_at: int) -> tuple[str, ...]:
    found = []
    for position, size in enumerate(shape.sizes):
        is_batch = position == batch_at and size == batch
        # A mask may have a sequence's length anywhere; of vectors, only one place is a sequence's.
        may_be_length = (
            position == sequence_at or (not shape.is_float and position != batch_at) or len(shape.sizes) == 1
        )
        name = "B" if is_batch and len(shape.sizes) > batch_at else ""
        if not name and may_be_length and len(shape.sizes) <= 4 and not (shape.is_float and len(shape.sizes) == 4):
            name = lengths.get(size, "")
        found.append(name)
    return tuple(found)


def name_of(first: int, second: int, names: Mapping[str, tuple[int, int]]) -> str:
    """What a size is, by what it was in two passes: such as `B`, `T`, `B*T`, `T+1`, `T/2`; "" where it is neither.

    Args:
        first: the size in the first pass.
        second: in the second.
        names: see `Plan`.
    """
    if first == second:
        return ""
    for name, pair in names.items():
        if pair == (first, second):
            return name
    batch = names.get("B", (1, 1))
    lengths = [(name, pair) for name, pair in names.items() if name != "B"]
    products = [(f"B*{name}", (batch[0] * one, batch[1] * other)) for name, (one, other) in lengths]
    for name, (one, other) in [("B", batch), *products, *lengths]:
        if first % one == 0 and first // one * other == second and first // one <= _MAX_FACTOR * 4096:
            return f"{first // one}*{name}" if first != one else name
    for name, (one, other) in lengths:
        if first - one == second - other and abs(first - one) < one:
            return f"{name}{first - one:+d}"
    for name, (one, other) in lengths:
        for factor in range(2, _MAX_FACTOR + 1):
            if (first, second) in ((-(-one // factor), -(-other // factor)), (one // factor, other // factor)):
                return f"{name}/{factor}"
    return ""


__all__ = ["Plan", "Sequences", "Shape", "name_of", "plan"]
