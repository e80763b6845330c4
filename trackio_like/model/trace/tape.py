"""What a trace writes down while it runs: operations and calls, loops rolled up as they are seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from trackio_like.model.graph import OpKind, TensorIO

_ROLL_FROM: Final = 24
_ROLL_EVERY: Final = 512
_FEWEST_TURNS: Final = 8
_LONGEST_PERIOD: Final = 64
_COUNTS: Final = frozenset({"any", "sum", "bincount", "histc", "count_nonzero", "gt", "ge", "ne"})
_MOST_BEFORE: Final = 24
_MOST_LATER: Final = 8


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
        "call", "dtype", "is_causal", "is_data", "kind", "later", "macs", "name", "num_bytes", "num_runs", "shape",
        "sources", "weights",
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
        weights: tuple[int, ...] = (),
        is_causal: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.call = call
        """A position among the calls."""
        self.shape = shape
        self.dtype = dtype
        self.sources = sources
        self.later: tuple[Source, ...] = ()
        """What it got in later turns of a loop, from elsewhere than in the first."""
        self.num_bytes = num_bytes
        self.macs = macs
        self.num_runs = 1
        self.is_data = is_data
        self.weights = weights
        """Identities of the parameters that it got."""
        self.is_causal = is_causal

    @property
    def has_param(self) -> bool:
        """Whether a parameter or buffer is among what it got."""
        return bool(self.weights)

    def key(self) -> tuple[Any, ...]:
        """What is the same of an operation that is the same one, a turn of a loop later."""
        return (self.name, self.shape, self.weights, *(source.shape for source in self.sources))


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
    """What the module called itself, since the last loop: operations, and calls of modules as -1 - their positions."""
    body: tuple[int, ...] = ()
    """The operations of the loop that it is in, where a loop is of operations only."""
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
        if parent >= 0:
            outer = self.calls[parent]
            if outer.body:
                outer.body, outer.own = (), []
            outer.own.append(-1 - position)
        return position

    def end(self, position: int) -> Call:
        """The call ends, and those in it that were left by an exception."""
        while self.stack:
            last = self.stack.pop()
            call = self.calls[last]
            call.end_op = len(self.ops)
            if not call.body:
                self._roll(call)
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
            if op.key() == self.ops[again].key():
                call.phase += 1
                self._repeat(again, op)
                return again
            call.body, call.own = (), []
        position = len(self.ops)
        if position - len(self.same_as) >= self._max_ops:
            raise EndOfTraceError(f"it has more than {self._max_ops} operations")
        self.ops.append(op)
        call.own.append(position)
        if len(call.own) % _ROLL_EVERY == 0:
            self._roll(call)
            return self.same_as.get(position, position)
        return position

    def chosen(self, position: int) -> bool:
        """Whether an operation counts or compares what a choice among experts gave."""
        if position < 0 or self.ops[position].name not in _COUNTS:
            return False
        todo, seen = [position], {position}
        while todo and len(seen) < _MOST_BEFORE:
            for source in self.ops[todo.pop(0)].sources:
                if source.producer >= 0 and source.producer not in seen:
                    if self.ops[source.producer].name == "topk":
                        return True
                    seen.add(source.producer)
                    todo.append(source.producer)
        return False

    def _repeat(self, first: int, op: Op) -> None:
        known = self.ops[first]
        known.num_runs += op.num_runs
        known.macs += op.macs
        known.is_data = known.is_data or op.is_data
        seen = {source.producer for source in (*known.sources, *known.later)}
        if len(known.later) < _MOST_LATER:
            known.later += tuple(source for source in op.sources if source.producer not in seen)

    def _roll(self, call: Call) -> None:
        """Takes the turns of loops among a call's own operations together; goes on so while the last one lasts."""
        if len(call.own) < _ROLL_FROM:
            return
        keys = [self._key(entry) for entry in call.own]
        for start, period, length in _loops(keys):
            body = call.own[start : start + period]
            for offset in range(period, length):
                self._join(body[offset % period], call.own[start + offset])
            if start + length == len(keys) and min(body) >= 0:
                call.body, call.phase = tuple(body), length % period
        call.own = []

    def _key(self, entry: int) -> Any:
        if entry >= 0:
            return self.ops[entry].key()
        call = self.calls[-1 - entry]
        return (call.path, *(self.ops[position].key() for position in self._inside(call)))

    def _inside(self, call: Call) -> list[int]:
        end = call.end_op if call.end_op >= 0 else len(self.ops)
        return [position for position in range(call.first_op, end) if position not in self.same_as]

    def _join(self, first: int, again: int) -> None:
        if first >= 0:
            pairs = [(first, again)]
        else:
            pairs = list(zip(self._inside(self.calls[-1 - first]), self._inside(self.calls[-1 - again]), strict=True))
        for one, other in pairs:
            self.same_as[other] = one
            self._repeat(one, self.ops[other])


def _loops(keys: list[Any]) -> list[tuple[int, int, int]]:
    """Stretches that repeat themselves often enough: start, period, length; of those that overlap, the first found."""
    numbers: dict[Any, int] = {}
    row = [numbers.setdefault(key, len(numbers)) for key in keys]
    found: list[tuple[int, int, int]] = []
    is_taken = [False] * len(row)
    for period in range(1, min(_LONGEST_PERIOD, len(row) // _FEWEST_TURNS) + 1):
        start = 0
        for position in range(period, len(row) + 1):
            if position < len(row) and row[position] == row[position - period] and not is_taken[position - period]:
                continue
            length = position - start
            if length >= max(_FEWEST_TURNS * period, _ROLL_FROM) and not any(is_taken[start:position]):
                found.append((start, period, length))
                is_taken[start:position] = [True] * length
            start = position - period + 1
    return sorted(found)


__all__ = ["Call", "EndOfTraceError", "Op", "Source", "Tape"]
