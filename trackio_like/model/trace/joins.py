"""Where two ways meet: residuals around modules, through projections, and skips into concatenations."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from trackio_like.model.trace.flow import Flow

_MOST_JOINED = 16


def residuals(flow: Flow) -> Iterator[tuple[int, int, str]]:
    """The second ways into additions: producer, addition, label.

    An addition of A and B is a residual where A is data of the result's shape, and B descends from A through a module
    in the one that adds, or through a product. Of a projection, A and B come from one operation, on both ways, and A's
    way has one product and nothing that bends.
    """
    for index, op in enumerate(flow.ops):
        if op.kind != "add" or len(op.sources) < 2:
            continue
        (first, first_source), (second, second_source) = flow.sources[index][:2]
        if min(first, second) < 0 or first == second or max(first, second) >= index:
            continue
        early, late, shape = first, second, first_source.shape
        if second < first:
            early, late, shape = second, first, second_source.shape
        if not (flow.ops[early].is_data and shape == op.shape):
            continue
        if flow.descends(late, early, op.call):
            yield early, index, ""
        elif first_source.shape == second_source.shape and (short := _projected(flow, first, second)) >= 0:
            yield short, index, "projection"


def _projected(flow: Flow, first: int, second: int) -> int:
    """Which of two operations ends a projection around what the other ends; -1 where none does."""
    ways: dict[int, int] = {first: 1, second: 2}
    todo = [-first, -second]
    heapq.heapify(todo)
    passed: dict[int, list[int]] = {1: [], 2: []}
    while todo:
        op = -heapq.heappop(todo)
        way = ways[op]
        if way == 3:
            # They come from here; a way that goes on further back has another entrance.
            return -1 if todo else _short(flow, passed[1], passed[2], first, second)
        passed[way].append(op)
        if flow.ops[op].kind == "input" or not flow.parents[op]:
            return -1
        for parent in flow.parents[op]:
            if parent not in ways:
                ways[parent] = way
                heapq.heappush(todo, -parent)
            else:
                ways[parent] |= way
    return -1


def _short(flow: Flow, ops_1: list[int], ops_2: list[int], first: int, second: int) -> int:
    for short, long, end in ((ops_1, ops_2, first), (ops_2, ops_1, second)):
        products = [op for op in short if flow.is_weighted(op)]
        bends = any(flow.ops[op].kind in ("act", "attention", "loop") for op in short)
        if len(products) != 1 or bends:
            continue
        others = [op for op in long if flow.is_weighted(op)]
        # In an unrolled recurrence the same weights are met on both ways: that is no projection.
        is_again = any(flow.path(op) == flow.path(products[0]) for op in others)
        if len(others) > 1 and not is_again and any(flow.ops[op].kind == "act" for op in long):
            return end
    return -1


def skips(flow: Flow) -> Iterator[tuple[int, int]]:
    """What goes into a concatenation beside something that descends from it: producer, concatenation."""
    for index, op in enumerate(flow.ops):
        if op.kind != "cat" or op.name == "stack" or not 2 <= len(op.sources) <= _MOST_JOINED:
            continue
        joined = [p for p in dict.fromkeys(p for p, _ in flow.sources[index]) if 0 <= p < index and flow.ops[p].is_data]
        for early in joined:
            later = (late for late in joined if late > early and flow.path(late) != flow.path(early))
            if any(flow.descends(late, early, op.call) for late in later):
                yield early, index


__all__ = ["residuals", "skips"]
