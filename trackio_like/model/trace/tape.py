"""What a trace writes down while it runs: operations and calls, loops rolled up as they are seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from trackio_like.model.graph import OpKind, TensorIO

_ROLL_FROM: Final = 256
_ROLL_EVERY: Final = 128
_LONGEST_PERIOD: Final = 64


class EndOfTraceError(BaseException):
    """A limit is reached. No `Exception`, so that a model that catches those does not go on."""


class Source:
    """A tensor that an operation got."""

    __slots__ = ("num_bytes", "producer", "shape")

    def __init__(self, producer: int, num_bytes: int, shape: tuple[int, ...]) -> None:
        self.producer = producer
        """A position among the operations, or -1."""
        self.num_bytes = num_bytes
        self.shape = shape


class Op:
    """One operation."""

    __slots__ = (
        "call", "dtype", "has_param", "is_causal", "is_data", "kind", "macs", "name", "num_bytes", "num_runs", "shape",
        "sources",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        kind: OpKind,
        call: int,
        *,
        shape: tuple[int, ...],
        dtype: str,
        sources: tuple[Source, ...],
        num_bytes: int = 0,
        macs: int = 0,
        is_data: bool = True,
        has_param: bool = False,
        is_causal: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.call = call
        """A position among the calls."""
        self.shape = shape
        self.dtype = dtype
        self.sources = sources
        self.num_bytes = num_bytes
        self.macs = macs
        self.num_runs = 1
        self.is_data = is_data
        self.has_param = has_param
        self.is_causal = is_causal

    def looks_like(self, other: Op) -> bool:
        """Whether it may be the same operation, a turn of a loop later."""
        return (
            self.name == other.name
            and self.shape == other.shape
            and len(self.sources) == len(other.sources)
            and all(a.shape == b.shape for a, b in zip(self.sources, other.sources, strict=True))
        )


@dataclass(slots=True)
class Call:
    """One call of a module."""

    path: str
    number: int
    parent: int
    """A position among the calls; -1 for the model's."""
    first_op: int
    base_bytes: int = 0
    peak_bytes: int = 0
    end_op: int = -1
    macs: int = 0
    out_bytes: int = 0
    inputs: tuple[TensorIO, ...] = ()
    outputs: tuple[TensorIO, ...] = ()
    is_finished: bool = False
    own: list[int] = field(default_factory=list)
    """Operations that the module called itself, since the last loop."""
    body: tuple[int, ...] = ()
    """The operations of the loop that it is in."""
    phase: int = 0


class Tape:
    """All operations and calls of one pass."""

    def __init__(self, max_ops: int) -> None:
        """Begins anew.

        Args:
            max_ops: rolled loops count once.
        """
        self.ops: list[Op] = []
        self.calls: list[Call] = []
        self.stack: list[int] = []
        """The calls that have begun and not ended, the innermost last."""
        self.same_as: dict[int, int] = {}
        """Operations that are turns of a loop, and the one of its first turn that each is."""
        self._numbers: dict[str, int] = {}
        self._max_ops = max_ops

    def begin(self, path: str, live_bytes: int) -> int:
        """A module is called; gives the call's position."""
        number = self._numbers.get(path, 0)
        self._numbers[path] = number + 1
        parent = self.stack[-1] if self.stack else -1
        position = len(self.calls)
        self.calls.append(Call(path, number, parent, len(self.ops), live_bytes, live_bytes))
        self.stack.append(position)
        return position

    def end(self, position: int) -> Call:
        """The call ends, and those in it that were left by an exception."""
        while self.stack:
            last = self.stack.pop()
            call = self.calls[last]
            call.end_op = len(self.ops)
            call.own, call.body = [], ()
            if call.parent >= 0:
                parent = self.calls[call.parent]
                parent.macs += call.macs
                parent.peak_bytes = max(parent.peak_bytes, call.peak_bytes)
            if last == position:
                break
        return self.calls[position]

    def add(self, op: Op) -> int:
        """An operation ran; gives its position, or that of the one it repeats.

        Raises:
            EndOfTraceError: there are too many.
        """
        call = self.calls[op.call]
        call.macs += op.macs
        if call.body:
            again = call.body[call.phase % len(call.body)]
            if op.looks_like(self.ops[again]):
                call.phase += 1
                self._repeat(again, op)
                return again
            call.body, call.own = (), []
        position = len(self.ops)
        if position - len(self.same_as) >= self._max_ops:
            raise EndOfTraceError(f"it has more than {self._max_ops} operations")
        self.ops.append(op)
        call.own.append(position)
        if len(call.own) >= _ROLL_FROM and len(call.own) % _ROLL_EVERY == 0:
            self._roll(call)
            return self.same_as.get(position, position)
        return position

    def _repeat(self, first: int, op: Op) -> None:
        known = self.ops[first]
        known.num_runs += op.num_runs
        known.macs += op.macs
        seen = {source.producer for source in known.sources}
        new = tuple(source for source in op.sources if source.producer not in seen)
        if new and len(known.sources) < 8:
            known.sources += new

    def _roll(self, call: Call) -> None:
        ops = [self.ops[position] for position in call.own]
        period = _period(ops)
        if not period:
            return
        start = len(ops) - _ROLL_EVERY - period
        while start > 0 and ops[start - 1].looks_like(ops[start - 1 + period]):
            start -= 1
        body = call.own[start : start + period]
        for offset, position in enumerate(call.own[start + period :]):
            first = body[offset % period]
            self.same_as[position] = first
            self._repeat(first, self.ops[position])
        call.body, call.phase = tuple(body), (len(ops) - start) % period
        call.own = []


def _period(ops: list[Op]) -> int:
    """The shortest period of the last operations; 0 where they have none."""
    for period in range(1, _LONGEST_PERIOD + 1):
        last = range(len(ops) - _ROLL_EVERY, len(ops))
        if all(ops[position].looks_like(ops[position - period]) for position in last):
            return period
    return 0


__all__ = ["Call", "EndOfTraceError", "Op", "Source", "Tape"]
