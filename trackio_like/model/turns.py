"""Modules that are called again and again in a row: their calls fold as the instances of a repeat do."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence

from trackio_like.model.folded import Folded
from trackio_like.model.trace.records import ModuleCall, Trace, TracedOp

_CERTAIN: int = 3
"""So many calls with the same between them are a row; two with something between them may be two steps of one."""


def turns(trace: Trace, folded: Folded) -> Iterator[tuple[int, int, Sequence[ModuleCall]]]:
    """The outermost modules whose calls follow each other and do the same.

    Yields:
        What is shown of it, the repeats that it is in, and its calls in order.
    """
    taken: list[str] = []
    for path in sorted(trace.calls, key=lambda path: path.count(".") + bool(path)):
        calls = trace.calls[path]
        if len(calls) < 2 or any(path.startswith(f"{outer}.") for outer in taken):
            continue
        if _is_row(trace.ops, calls):
            taken.append(path)
            place = folded.place(path)
            yield place.shown, len(place.instances), calls


def _is_row(ops: Sequence[TracedOp], calls: Sequence[ModuleCall]) -> bool:
    if not all(call.is_finished and call.end_op > call.first_op for call in calls):
        return False
    if any(a.end_op > b.first_op for a, b in itertools.pairwise(calls)):
        return False  # called from within itself
    first = signatures(ops[calls[0].first_op : calls[0].end_op])
    if any(signatures(ops[call.first_op : call.end_op]) != first for call in calls[1:]):
        return False
    between = [signatures(ops[a.end_op : b.first_op]) for a, b in itertools.pairwise(calls)]
    return all(found == between[0] for found in between) and (len(calls) >= _CERTAIN or not between[0])


def signatures(ops: Sequence[TracedOp]) -> list[Hashable]:
    """What operations must have in common to be the same."""
    return [(op.name, op.kind, op.module, op.shape, op.dtype) for op in ops]


__all__ = ["signatures", "turns"]
