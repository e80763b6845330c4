"""The edges that are certain without a run: of plain sequences, and of mixtures of experts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from torch import nn

from trackio_like.model.folded import Folded
from trackio_like.model.graph import Edge, EdgeKind, Module, Op, OpKind
from trackio_like.model.moe import Mixture
from trackio_like.model.tree import Node


def certain_flows(
    folded: Folded, modules: Sequence[Module], mixtures: Mapping[Node, Mixture]
) -> tuple[tuple[Op, ...], tuple[Edge, ...]]:
    """One operation for each module of a `Sequential` and each part of a mixture, and the edges between them."""
    flows = _Flows(modules)
    for position, shown in enumerate(folded.shown):
        if _is_sequence(folded, position):
            for source, target in itertools.pairwise(shown.children):
                flows.edge(flows.op(source), flows.op(target))
            for child in shown.children:
                if modules[child].count > 1:
                    flows.edge(flows.op(child), flows.op(child), kind="loop")
        mixture = None if shown.is_group else mixtures.get(shown.node)
        if mixture is not None:
            _mixture(flows, folded, position, mixture)
    return tuple(flows.ops), tuple(flows.edges)


class _Flows:
    def __init__(self, modules: Sequence[Module]) -> None:
        self.ops: list[Op] = []
        self.edges: list[Edge] = []
        self._modules = modules
        self._known: dict[tuple[int, OpKind], int] = {}

    def op(self, module: int, kind: OpKind = "other") -> int:
        """The operation of a module; made where there is none."""
        if (module, kind) not in self._known:
            self._known[module, kind] = len(self.ops)
            name = kind if kind in ("router", "combine") else self._modules[module].class_name or "group"
            self.ops.append(Op(name=name, kind=kind, module=module))
        return self._known[module, kind]

    def edge(self, source: int, target: int, *, kind: EdgeKind = "tensor", label: str = "") -> None:
        self.edges.append(Edge(source=source, target=target, kind=kind, label=label))


def _mixture(flows: _Flows, folded: Folded, position: int, mixture: Mixture) -> None:
    router = position if mixture.router is None else folded.place(mixture.router.path).shown
    choice = flows.op(router, "router")
    combine = flows.op(position, "combine")
    label = routing_label(mixture.top_k, mixture.num_experts)
    for experts in dict.fromkeys(folded.place(pool.path).shown for pool in mixture.experts):
        result = flows.op(experts)
        flows.edge(choice, result, kind="routing", label=label)
        flows.edge(result, combine)
    for shared in mixture.shared:
        flows.edge(flows.op(folded.place(shared.path).shown), combine)


def routing_label(top_k: int, num_experts: int) -> str:
    """Such as `top-2/8`."""
    return f"top-{top_k}/{num_experts}" if top_k else f"of {num_experts}"


def _is_sequence(folded: Folded, position: int) -> bool:
    """Whether the children of a module, or of a group in it, run in their order."""
    shown = folded.shown[position]
    while shown.is_group:
        shown = folded.shown[shown.parent]
    module = shown.node.module
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


__all__ = ["certain_flows", "routing_label"]
