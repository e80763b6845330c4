"""The operations and edges of a trace, folded as the modules are.

Of every operation one is kept for all instances of a repeat. What runs between two instances belongs to a repeat too,
where it is the same each time, such as the addition in `x = x + layer(x)`. An edge from one instance into the next is a
loop; all other edges stay as they are, between the operations that stand for their ends.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from trackio_like.model.folded import Folded
from trackio_like.model.graph import Edge, Op, Port
from trackio_like.model.trace.records import Trace, TracedEdge, TracedOp
from trackio_like.model.turns import signatures, turns

Chain = tuple[tuple[int, int], ...]
"""The repeats that an operation is in, from the outermost, and the instance of each; below 0: calls of one module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Operations and edges of a graph."""

    ops: tuple[Op, ...]
    edges: tuple[Edge, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def fold_flows(trace: Trace, folded: Folded) -> Flows:
    """Folds a trace; every edge has both its ends among the operations that are kept."""
    places = {path: folded.place(path) for path in {op.module for op in trace.ops}}
    shown = [places[op.module].shown for op in trace.ops]
    chains: list[Chain] = [places[op.module].instances for op in trace.ops]
    marks: list[Chain] = [()] * len(trace.ops)
    for turned, depth, calls in turns(trace, folded):
        for instance, call in enumerate(calls):
            for at in range(call.first_op, call.end_op):
                if all(step >= 0 for step, _ in chains[at]):  # else a row around it has taken it
                    chains[at] = (*chains[at][:depth], (-1 - turned, instance), *chains[at][depth:])
    for repeat in sorted({step[0] for chain in chains for step in chain}):
        _take_between(trace.ops, repeat, chains, marks)
    stands_for = _representatives(trace, shown, chains, marks)
    kept = sorted(set(stands_for))
    position = {old: new for new, old in enumerate(kept)}
    ops = tuple(_op(trace.ops[old], shown[old]) for old in kept)
    edges = _edges(trace.edges, chains, stands_for, position)

    def moved(ports: Sequence[Port]) -> tuple[Port, ...]:
        return tuple(replace(port, op=position[stands_for[port.op]]) for port in ports)

    return Flows(ops=ops, edges=tuple(edges), inputs=moved(trace.inputs), outputs=moved(trace.outputs))


def _take_between(ops: Sequence[TracedOp], repeat: int, chains: list[Chain], marks: list[Chain]) -> None:
    """Adds what runs around and between the instances of a repeat to them, where it is the same each time."""
    for context, members in _contexts(repeat, chains).items():
        depth = len(context)
        instances: list[int] = []
        before: list[int] = []
        after: dict[int, list[int]] = defaultdict(list)
        for at in range(len(ops)):
            chain = chains[at]
            if chain[:depth] != context:
                continue
            if len(chain) > depth and chain[depth][0] == repeat:
                if not instances or instances[-1] != chain[depth][1]:
                    instances.append(chain[depth][1])
            elif chain == context and ops[at].kind not in ("input", "output"):
                (after[instances[-1]] if instances else before).append(at)
        if len(instances) > 1 and instances == sorted(set(instances)):
            for instance, found in _shares(ops, instances, before, after, end=members[-1]):
                for at in found:
                    chains[at] = (*context, (repeat, instance))
                    marks[at] = (*marks[at], (repeat, 0))


def _shares(
    ops: Sequence[TracedOp],
    instances: Sequence[int],
    before: Sequence[int],
    after: Mapping[int, list[int]],
    *,
    end: int,
) -> list[tuple[int, Sequence[int]]]:
    """What belongs to each instance of what ran outside them; nothing where it is not the same each time.

    Args:
        ops: all operations.
        instances: in their order.
        before: operations before the first.
        after: operations since the begin of each, until the next begins.
        end: the last operation of the last.
    """

    def seen(found: Sequence[int]) -> list[Hashable]:
        return signatures([ops[at] for at in found])

    inner, last = instances[:-1], instances[-1]
    pattern = seen(after.get(inner[0], ()))
    if not pattern or any(seen(after.get(k, ())) != pattern for k in inner[1:]):
        return []
    behind = after.get(last, [])
    for num_behind in range(len(pattern), -1, -1):  # of the pattern, what belongs to the instance before it
        num_ahead = len(pattern) - num_behind
        fits = seen(behind[:num_behind]) == pattern[:num_behind]
        if fits and (not num_ahead or seen(before[-num_ahead:]) == pattern[num_behind:]):
            break
    else:
        num_ahead, num_behind = 0, len(pattern)
        behind = [at for at in behind if at < end]
    shares: list[tuple[int, Sequence[int]]] = [
        (inner[0], before[len(before) - num_ahead :]),
        (last, behind[:num_behind]),
    ]
    for k, following in itertools.pairwise(instances):
        shares.append((k, after[k][:num_behind]))
        shares.append((following, after[k][num_behind:]))
    return shares


def _contexts(repeat: int, chains: Sequence[Chain]) -> dict[Chain, list[int]]:
    """Operations in a repeat, by the instances of the repeats around it."""
    found: dict[Chain, list[int]] = defaultdict(list)
    for at, chain in enumerate(chains):
        for depth, (step, _) in enumerate(chain):
            if step == repeat:
                found[chain[:depth]].append(at)
    return found


def _representatives(trace: Trace, shown: Sequence[int], chains: Sequence[Chain], marks: Sequence[Chain]) -> list[int]:
    """For each operation the one that stands for it: the same one of the first instance that ran."""
    groups: dict[tuple[Hashable, Chain], list[int]] = defaultdict(list)
    for at, chain in enumerate(chains):
        role: Hashable = (shown[at], marks[at], tuple(step for step, _ in chain))
        groups[role, chain].append(at)
    first: dict[Hashable, list[int]] = {}
    for (role, _), members in groups.items():  # in the order in which they ran
        first.setdefault(role, members)
    stands_for = list(range(len(chains)))
    before = _sources(trace.edges)
    lost: list[int] = []
    for (role, _), members in groups.items():
        models = first[role]
        if members is models:
            continue
        for place, at in enumerate(members):
            other = _same_op(trace.ops, models, place, at)
            if other is None:
                lost.append(at)
            else:
                stands_for[at] = other
    for at in sorted(lost):  # an instance did more than the first: what it did belongs to what came before
        earlier = [stands_for[source] for source in before.get(at, ()) if source < at]
        stands_for[at] = earlier[0] if earlier else at
    return stands_for


def _same_op(ops: Sequence[TracedOp], models: Sequence[int], place: int, at: int) -> int | None:
    if place < len(models) and ops[models[place]].name == ops[at].name:
        return models[place]
    named = [model for model in models if ops[model].name == ops[at].name]
    return min(named, key=lambda model: abs(models.index(model) - place)) if named else None


def _sources(edges: Sequence[TracedEdge]) -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for edge in edges:
        found[edge.target].append(edge.source)
    return found


def _edges(
    traced: Sequence[TracedEdge], chains: Sequence[Chain], stands_for: Sequence[int], position: Mapping[int, int]
) -> list[Edge]:
    found: dict[tuple[int, int, bool], Edge] = {}
    later: list[tuple[TracedEdge, bool]] = []
    for edge in traced:
        is_kept = stands_for[edge.source] == edge.source and stands_for[edge.target] == edge.target
        if is_kept and not _are_instances(chains[edge.source], chains[edge.target]):
            _add(found, edge, position[edge.source], position[edge.target], is_loop=edge.kind == "loop")
        else:
            later.append((edge, _are_instances(chains[edge.source], chains[edge.target])))
    for edge, is_loop in later:
        source, target = position[stands_for[edge.source]], position[stands_for[edge.target]]
        if chains[edge.source] == chains[edge.target] and chains[edge.source]:
            continue  # a copy of what is in the first instance
        if source == target and not is_loop:
            continue
        _add(found, edge, source, target, is_loop=is_loop or source >= target)
    return list(found.values())


def _add(
    found: dict[tuple[int, int, bool], Edge], edge: TracedEdge, source: int, target: int, *, is_loop: bool
) -> None:
    """Adds an edge once; of two between the same operations the one that says more is kept."""
    key = (source, target, is_loop)
    known = found.get(key)
    if known is None or (known.kind == "tensor" and edge.kind != "tensor"):
        kind = "loop" if is_loop else edge.kind
        found[key] = Edge(source=source, target=target, kind=kind, bytes=edge.bytes, label=edge.label)


def _are_instances(a: Chain, b: Chain) -> bool:
    """Whether two operations are in different instances of one repeat."""
    for (repeat, instance), (other, other_instance) in zip(a, b, strict=False):
        if repeat != other:
            return False
        if instance != other_instance:
            return True
    return False


def _op(op: TracedOp, module: int) -> Op:
    return Op(name=op.name, kind=op.kind, module=module, shape=op.shape, dtype=op.dtype, flops=op.flops, bytes=op.bytes)


__all__ = ["Flows", "fold_flows"]
