"""Runs of small operations become one: those of one call, one after another, that nothing else joins."""

from __future__ import annotations

from collections.abc import Set

from trackio_like.model.graph import OpKind
from trackio_like.model.trace.flow import Flow
from trackio_like.model.trace.tape import Op

_SMALL: frozenset[OpKind] = frozenset({"add", "mul", "norm", "act", "cat", "other"})
_RANK: dict[OpKind, int] = {"norm": 5, "act": 4, "add": 3, "mul": 2, "cat": 1, "other": 0}

_ROTARY = frozenset({"neg", "cat", "mul", "add"})
"""What turns pairs of a vector's halves by an angle."""


def runs(flow: Flow, fixed: Set[int]) -> list[int]:
    """Of each operation, the last one of the run that it is in; itself where it stands alone.

    No other call's operation ran between two of a run, and only its last one gives something to others: to take them
    together can neither hide a way nor close a circle.

    Args:
        flow: the operations.
        fixed: those that stand alone whatever they are.
    """
    end = list(range(len(flow.ops)))
    for start, stop in _stretches(flow):
        for index in range(stop - 1, start - 1, -1):
            op = flow.ops[index]
            children = flow.children[index]
            if index in fixed or op.kind not in _SMALL or not children or op.num_runs > 1:
                continue
            ends = {end[child] for child in children}
            target = next(iter(ends))
            same = len(ends) == 1 and target < stop and flow.ops[target].kind in _SMALL and target not in fixed
            if (
                same
                and flow.ops[target].num_runs == 1
                and all(flow.ops[child].is_data == op.is_data for child in children)
            ):
                end[index] = target
    return end


def _stretches(flow: Flow) -> list[tuple[int, int]]:
    """Where operations of one call follow each other: start, and stop exclusively."""
    found, start = [], 0
    for index in range(1, len(flow.ops) + 1):
        if index == len(flow.ops) or flow.ops[index].call != flow.ops[start].call:
            found.append((start, index))
            start = index
    return found


def shown(names: Set[str], says: Op) -> tuple[str, OpKind]:
    """The name and the kind of a run.

    Args:
        names: of its operations.
        says: the one that says most.
    """
    if names >= _ROTARY:
        return "rotary", "other"
    return ("norm" if says.name == "rsqrt" else says.name), says.kind


def spokesmen(flow: Flow, end: list[int]) -> dict[int, int]:
    """Of each run, by its last operation, the operation that says most of what it is."""
    found: dict[int, int] = {}
    for index, last in enumerate(end):
        known = found.get(last)
        if known is None or _RANK.get(flow.ops[index].kind, 9) >= _RANK.get(flow.ops[known].kind, 9):
            found[last] = index
    return found


__all__ = ["runs", "shown", "spokesmen"]
