"""Where attention is, whether its keys come from another stream than its queries, and what a cache of them takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trackio_like.model.trace.flow import Flow

_MAX_STEPS = 24


@dataclass(frozen=True, slots=True)
class Core:
    """What attends: an operation of its own, or the product of queries and keys before a softmax."""

    op: int
    query: int
    """The operations that made these; -1 for a constant."""
    key: int
    value: int
    key_shape: tuple[int, ...]
    value_shape: tuple[int, ...]
    dtype: str
    """Of keys and values."""
    is_causal: bool


def cores(flow: Flow) -> Iterator[Core]:
    """All places where attention is."""
    for index, op in enumerate(flow.ops):
        if op.kind == "attention" and len(op.sources) >= 3:
            (query, _), (key, of_key), (value, of_value) = flow.sources[index][:3]
            yield Core(index, query, key, value, of_key.shape, of_value.shape, op.dtype, op.is_causal)
        elif op.name in ("_softmax", "_safe_softmax") and (found := _taken_apart(flow, index)) is not None:
            yield found


def _taken_apart(flow: Flow, softmax: int) -> Core | None:
    scores = _product(flow, softmax, backwards=True)
    mixed = _product(flow, softmax, backwards=False)
    if scores < 0 or mixed < 0 or len(flow.sources[scores]) < 2:
        return None
    name = flow.ops[scores].name
    (query, _), (key, of_key) = flow.sources[scores][-2:] if name.startswith("baddbmm") else flow.sources[scores][:2]
    others = [(producer, source) for producer, source in flow.sources[mixed] if producer < softmax]
    if not others:
        return None
    value, of_value = others[-1]
    key_shape = (*of_key.shape[:-2], of_key.shape[-1], of_key.shape[-2])  # it was transposed for the product
    return Core(scores, query, key, value, key_shape, of_value.shape, flow.ops[scores].dtype, is_causal=False)


def _product(flow: Flow, start: int, *, backwards: bool) -> int:
    """The next product without parameters before or after an operation in its call; -1 for none."""
    call = flow.ops[start].call
    todo, seen = [start], {start}
    for _ in range(_MAX_STEPS):
        if not todo:
            break
        for near in (flow.parents if backwards else flow.children)[todo.pop(0)]:
            if near in seen or not flow.is_within(flow.ops[near].call, max(flow.calls[call].parent, 0)):
                continue
            if flow.ops[near].kind == "matmul":
                if flow.ops[near].has_param:
                    continue
                return near
            seen.add(near)
            todo.append(near)
    return -1


def crossings(flow: Flow, core: Core) -> Iterator[tuple[int, int]]:
    """The edges on which keys and values come in from another stream; none where they are the queries' own."""
    if min(core.query, core.key) < 0:
        return
    for outer in flow.outer_calls(flow.ops[core.op].call):
        from_query, has_query_product = _entrances(flow, core.op, core.query, outer)
        from_key, has_key_product = _entrances(flow, core.op, core.key, outer)
        if not (has_query_product and has_key_product):
            continue  # the projections, whose inputs are the streams, are further out
        sources = {source for source, _ in from_query}
        if sources and from_key and not sources & {source for source, _ in from_key}:
            from_value, _ = _entrances(flow, core.op, core.value, outer) if core.value >= 0 else (set(), False)
            yield from sorted(from_key | from_value)
        return


def _entrances(flow: Flow, core: int, start: int, outer: int) -> tuple[set[tuple[int, int]], bool]:
    """Edges on which data for an operation come into a call, and whether a product with parameters is on the way."""
    found: set[tuple[int, int]] = set()
    has_product = False
    todo: list[tuple[int, int]] = [(start, core)]
    seen: set[int] = set()
    while todo:
        op, target = todo.pop()
        if not flow.ops[op].is_data:
            continue
        if flow.ops[op].kind == "input" or not flow.is_within(flow.ops[op].call, outer):
            found.add((op, target))
        elif op not in seen:
            seen.add(op)
            has_product = has_product or flow.is_weighted(op)
            todo += [(parent, op) for parent in flow.parents[op]]
    return found, has_product


__all__ = ["Core", "cores", "crossings"]
