"""A pass becomes a `Trace`: edges get their kinds, runs of small operations become one, numbers are added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trackio_like.model.graph import EdgeKind, OpKind, Port, Rung
from trackio_like.model.trace.attention import Core, cores, crossings
from trackio_like.model.trace.flow import Flow
from trackio_like.model.trace.joins import residuals, skips
from trackio_like.model.trace.records import ModuleCall, Trace, TracedEdge, TracedOp
from trackio_like.model.trace.routing import routings
from trackio_like.model.trace.rungs import Pass
from trackio_like.model.trace.runs import runs, shown, spokesmen

KvBytes = Callable[[str, Core], int]
"""The bytes of a cache for one token, of an attention module by its path and what was seen."""


@dataclass(slots=True)
class _Kinds:
    edges: dict[tuple[int, int], tuple[EdgeKind, str]] = field(default_factory=dict)
    ops: dict[int, OpKind] = field(default_factory=dict)


def finished(done: Pass, rungs: Sequence[Rung], *, kv_bytes: KvBytes) -> Trace:
    """What a pass has shown.

    Args:
        done: the pass.
        rungs: all that were tried, this one last.
        kv_bytes: see there.
    """
    tape = done.tracer.tape
    flow = Flow.of(tape)
    seen = list(cores(flow))
    kinds = _kinds(flow, seen)
    fixed = set(kinds.ops) | {target for _, target in kinds.edges} | {source for source, _ in kinds.edges}
    end = runs(flow, fixed)
    dead = _dead(flow, done)
    order = sorted(
        (index for index in set(end) if index not in dead),
        key=lambda index: ({"input": 0, "output": 2}.get(flow.ops[index].kind, 1), index),
    )
    place = {index: position for position, index in enumerate(order)}
    speaks = spokesmen(flow, end)
    root = tape.calls[0]
    return Trace(
        mode=done.mode,
        rungs=tuple(rungs),
        is_partial=bool(done.error),
        failed_at=done.tracer.failed_at if done.error else "",
        error=done.error,
        num_assumed=done.tracer.num_assumed + done.tracer.num_sizes_assumed,
        ops=_ops(flow, kinds, end, order, speaks),
        edges=_edges(flow, kinds, end, place),
        inputs=_ports(done.inputs, flow, place),
        outputs=_ports(done.outputs, flow, place),
        calls=_calls(flow, end, place, len(order)),
        kv_bytes=_kv(flow, seen, kv_bytes),
        flops=2 * root.macs,
        macs=root.macs,
        activation_bytes=done.tracer.storages.total_bytes,
        peak_bytes=root.peak_bytes,
        notes=tuple(done.notes),
    )


def _kinds(flow: Flow, seen: Sequence[Core]) -> _Kinds:
    found = _Kinds()
    for routing in routings(flow):
        found.ops[routing.op] = "router"
        if routing.combine >= 0:
            found.ops[routing.combine] = "combine"
        for edge in routing.edges:
            found.edges[edge] = ("routing", routing.label)
    for core in seen:
        for edge in crossings(flow, core):
            found.edges[edge] = ("cross", "")
    for source, target in skips(flow):
        found.edges[source, target] = ("skip", "")
    for source, target, label in residuals(flow):
        found.edges[source, target] = ("residual", label)
    return found


def _ops(flow: Flow, kinds: _Kinds, end: list[int], order: list[int], speaks: dict[int, int]) -> tuple[TracedOp, ...]:
    macs = dict.fromkeys(order, 0)
    names: dict[int, set[str]] = {index: set() for index in order}
    for index, last in enumerate(end):
        if last in macs:
            macs[last] += flow.ops[index].macs
            names[last].add(flow.ops[index].name)
    found = []
    for index in order:
        op, says = flow.ops[index], flow.ops[speaks[index]]
        call = flow.calls[op.call]
        name, kind = shown(names[index], says)
        found.append(
            TracedOp(
                name=name,
                kind=kinds.ops.get(index, kind),
                module=call.path,
                call=call.number,
                shape=op.shape,
                dtype=op.dtype,
                flops=2 * macs[index],
                macs=macs[index],
                bytes=op.num_bytes,
                num_runs=op.num_runs,
                is_data=op.is_data,
            )
        )
    return tuple(found)


def _edges(flow: Flow, kinds: _Kinds, end: list[int], place: dict[int, int]) -> tuple[TracedEdge, ...]:
    found: dict[tuple[int, int], tuple[EdgeKind, str, int]] = {}
    for target, sources in enumerate(flow.sources):
        for source, about in sources:
            if (
                source < 0
                or end[source] not in place
                or end[target] not in place
                or (end[source] == end[target] and source < target)
            ):
                continue
            kind, label = kinds.edges.get((source, target), ("tensor", ""))
            if kind == "tensor" and (source >= target or _is_again(flow, source, target)):
                kind = "loop"
            edge = (end[source], end[target])
            known = found.get(edge)
            if known is None or (known[0] == "tensor" != kind) or (known[0] == kind and known[2] < about.num_bytes):
                found[edge] = (kind, label, about.num_bytes)
    return tuple(
        TracedEdge(source=place[source], target=place[target], kind=kind, bytes=num_bytes, label=label)
        for (source, target), (kind, label, num_bytes) in found.items()
    )


def _is_again(flow: Flow, source: int, target: int) -> bool:
    """Whether data go from one call of a module straight into its next."""
    if flow.ops[target].call == flow.ops[source].call:
        return False
    numbers = {flow.calls[call].path: flow.calls[call].number for call in flow.outer_calls(flow.ops[source].call)}
    return any(
        flow.calls[call].number > numbers.get(flow.calls[call].path, flow.calls[call].number)
        for call in flow.outer_calls(flow.ops[target].call)
    )


def _dead(flow: Flow, done: Pass) -> set[int]:
    """Operations without parameters whose results go nowhere."""
    found: set[int] = set()
    if not done.outputs:
        return found
    for index in range(len(flow.ops) - 1, -1, -1):
        op = flow.ops[index]
        is_end = op.kind in ("input", "output") or op.has_param or op.num_runs > 1
        if not is_end and all(child in found for child in flow.consumers[index]):
            found.add(index)
    return found


def _ports(named: list[tuple[str, int]], flow: Flow, place: dict[int, int]) -> tuple[Port, ...]:
    found = []
    for name, position in named:
        index = flow.position[position]
        op = flow.ops[index]
        found.append(Port(name=name, shape=op.shape, dtype=op.dtype, op=place[index]))
    return tuple(found)


def _calls(flow: Flow, end: list[int], place: dict[int, int], num_ops: int) -> dict[str, tuple[ModuleCall, ...]]:
    after = [num_ops] * (len(end) + 1)
    for index in range(len(end) - 1, -1, -1):
        is_inside = flow.ops[index].kind not in ("input", "output") and end[index] in place
        own = place[end[index]] if is_inside else num_ops
        after[index] = min(own, after[index + 1])
    found: dict[str, list[ModuleCall]] = {}
    for call in flow.calls:
        first = after[flow.index_of(call.first_op)]
        last = after[flow.index_of(call.end_op)] if call.end_op >= 0 else num_ops
        found.setdefault(call.path, []).append(
            ModuleCall(
                inputs=call.inputs,
                outputs=call.outputs,
                flops=2 * call.macs,
                macs=call.macs,
                out_bytes=call.out_bytes,
                peak_bytes=call.peak_bytes - call.base_bytes,
                first_op=min(first, last),
                end_op=last,
                is_finished=call.is_finished,
            )
        )
    return {path: tuple(calls) for path, calls in found.items()}


def _kv(flow: Flow, seen: Sequence[Core], kv_bytes: KvBytes) -> dict[str, int]:
    found: dict[str, int] = {}
    for core in seen:
        if any(True for _ in crossings(flow, core)):
            continue
        for call in flow.outer_calls(flow.ops[core.op].call):
            path = flow.calls[call].path
            num_bytes = kv_bytes(path, core)
            if num_bytes:
                found.setdefault(path, num_bytes)
                break
    return found


__all__ = ["KvBytes", "finished"]
