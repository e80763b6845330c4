"""What a trace tells about modules: calls, tensors, numbers, and the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import nn

from trackio_like.model.folded import Folded
from trackio_like.model.graph import Module
from trackio_like.model.trace.records import ModuleCall, Trace


def measured(modules: Sequence[Module], trace: Trace, folded: Folded) -> list[Module]:
    """The modules with what the trace saw of the first of their instances that ran."""
    seen = _first_seen(trace, folded)
    found = [_measured(module, trace.calls[seen[at]]) if at in seen else module for at, module in enumerate(modules)]
    own_kv = {at: trace.kv_bytes[path] for at, path in seen.items() if trace.kv_bytes.get(path)}
    kv = [own_kv.get(at, 0) for at in range(len(modules))]
    flops, macs, out = [m.flops for m in found], [m.macs for m in found], [m.out_bytes for m in found]
    for at in range(len(modules) - 1, -1, -1):
        parent = modules[at].parent
        if parent < 0:
            continue
        count = modules[at].count
        if not own_kv.get(parent):
            kv[parent] += kv[at] * count
        if parent not in seen:  # a list or a group has no call of its own
            flops[parent] += flops[at] * count
            macs[parent] += macs[at] * count
            out[parent] = out[parent] or out[at]
    failed = folded.place(trace.failed_at).shown if trace.is_partial else -1
    return [
        replace(
            module, flops=flops[at], macs=macs[at], out_bytes=out[at], kv_bytes_per_token=kv[at], is_failed=at == failed
        )
        for at, module in enumerate(found)
    ]


def called_order(trace: Trace, folded: Folded) -> list[int]:
    """The positions of what is shown, a parent before its children, those in the order in which they ran first."""
    ranks: dict[int, int] = {}
    for rank, path in enumerate(trace.calls):
        at = folded.place(path).shown
        while at >= 0 and at not in ranks:
            ranks[at] = rank
            at = folded.shown[at].parent
    order: list[int] = []
    waiting = [0]
    while waiting:
        at = waiting.pop()
        order.append(at)
        shown = folded.shown[at]
        children = shown.children
        if not (shown.is_group or isinstance(shown.node.module, nn.ModuleList | nn.Sequential)):
            children = _ordered(children, ranks)
        waiting.extend(reversed(children))
    return order


def _ordered(children: Sequence[int], ranks: Mapping[int, int]) -> list[int]:
    """One that did not run stays behind the one that it stands behind."""
    keys: list[tuple[int, int]] = []
    for place, child in enumerate(children):
        keys.append((ranks.get(child, keys[-1][0] if keys else -1), place))
    return [child for _, child in sorted(zip(keys, children, strict=True))]


def _first_seen(trace: Trace, folded: Folded) -> dict[int, str]:
    """The path of the first instance that ran, of everything shown that did."""
    found: dict[int, str] = {}
    for path in trace.calls:
        found.setdefault(folded.place(path).shown, path)
    for at, path in list(found.items()):
        shown = folded.shown[at]
        if shown.node.name != path.rpartition(".")[2] and shown.repeat is None:
            del found[at]  # something inside that has no place of its own, such as a parametrisation
    return found


def _measured(module: Module, calls: Sequence[ModuleCall]) -> Module:
    first = calls[0]
    return replace(
        module,
        calls=len(calls),
        inputs=first.inputs,
        outputs=first.outputs,
        flops=sum(call.flops for call in calls),
        macs=sum(call.macs for call in calls),
        out_bytes=first.out_bytes,
        peak_bytes=max(call.peak_bytes for call in calls),
    )


__all__ = ["called_order", "measured"]
