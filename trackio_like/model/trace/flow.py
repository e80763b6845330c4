"""The operations of a pass as a graph: who made what for whom, and which calls lie in which."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from trackio_like.model.trace.tape import Call, Op, Source, Tape

WEIGHTED_KINDS = frozenset({"matmul", "conv", "attention", "loop"})


class Flow:
    """Operations in the order in which they ran, turns of loops taken together."""

    def __init__(self, ops: Sequence[Op], calls: Sequence[Call], same_as: Mapping[int, int]) -> None:
        """Takes a tape's operations, and those of `same_as` away."""
        kept = [position for position in range(len(ops)) if position not in same_as]
        self._kept = kept
        new = {position: index for index, position in enumerate(kept)}
        for again, first in same_as.items():
            while first in same_as:
                first = same_as[first]  # noqa: PLW2901  # a loop whose first turn is one of an outer loop
            new[again] = new[first]
        self.position = new
        """Where each of the tape's operations is."""
        self.ops = [ops[position] for position in kept]
        self.calls = calls
        self.sources: list[tuple[tuple[int, Source], ...]] = [
            tuple((new.get(source.producer, -1), source) for source in (*op.sources, *op.later)) for op in self.ops
        ]
        """Of each operation: what it got, each with its producer here, -1 for a constant."""
        self.parents: list[tuple[int, ...]] = [
            tuple(
                dict.fromkeys(
                    producer for producer, _ in sources if 0 <= producer < index and self.ops[producer].is_data
                )
            )
            for index, sources in enumerate(self.sources)
        ]
        """Of each operation: the earlier ones that made data for it."""
        self.children: list[list[int]] = [[] for _ in self.ops]
        for index, parents in enumerate(self.parents):
            for parent in parents:
                self.children[parent].append(index)
        self.consumers: list[list[int]] = [[] for _ in self.ops]
        """Of each operation: those that got something of it, also what is no data."""
        for index, sources in enumerate(self.sources):
            for producer, _ in sources:
                if producer >= 0:
                    self.consumers[producer].append(index)
        self._last = list(range(len(calls)))
        for index in range(len(calls) - 1, 0, -1):
            parent = calls[index].parent
            self._last[parent] = max(self._last[parent], self._last[index])

    @classmethod
    def of(cls, tape: Tape) -> Flow:
        """The operations of a tape."""
        return cls(tape.ops, tape.calls, tape.same_as)

    def index_of(self, position: int) -> int:
        """How many operations that are kept stand before a position on the tape."""
        return bisect_left(self._kept, position)

    def path(self, op: int) -> str:
        """The path of the innermost module that called an operation."""
        return self.calls[self.ops[op].call].path

    def is_within(self, call: int, outer: int) -> bool:
        """Whether a call is `outer` or happened in it."""
        return outer <= call <= self._last[outer]

    def outer_calls(self, call: int) -> Iterator[int]:
        """A call and those that it happened in, the innermost first."""
        while call >= 0:
            yield call
            call = self.calls[call].parent

    def is_weighted(self, op: int) -> bool:
        """Whether it is a product with parameters."""
        return self.ops[op].has_param and self.ops[op].kind in WEIGHTED_KINDS

    def descends(self, late: int, early: int, outer: int) -> bool:
        """Whether data go from one operation to another through a module in `outer`, or a product.

        Args:
            late: an operation.
            early: one before it.
            outer: the call whose inner modules count.
        """
        seen: set[tuple[int, bool]] = set()
        todo = [(late, self._counts(late, outer))]
        while todo:
            op, has_passed = todo.pop()
            for parent in self.parents[op]:
                if parent == early:
                    if has_passed:
                        return True
                elif parent > early:
                    state = (parent, has_passed or self._counts(parent, outer))
                    if state not in seen:
                        seen.add(state)
                        todo.append(state)
        return False

    def _counts(self, op: int, outer: int) -> bool:
        call = self.ops[op].call
        return (call != outer and self.is_within(call, outer)) or self.ops[op].kind in WEIGHTED_KINDS


__all__ = ["WEIGHTED_KINDS", "Flow"]
