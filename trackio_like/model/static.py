"""The graph of a network that was not run: its modules, and the edges of plain sequences."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from trackio_like.model.facts import class_name
from trackio_like.model.folded import Folded, fold
from trackio_like.model.graph import Edge, Meta, ModelGraph, Module, Op, Totals
from trackio_like.model.kinds import kinds_of
from trackio_like.model.modules import idle_params, modules_of, ties_of
from trackio_like.model.moe import find_mixtures
from trackio_like.model.tree import Tree, scan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Still:
    """A network as it stands."""

    tree: Tree
    folded: Folded
    graph: ModelGraph


def still_graph(model: nn.Module, name: str, *, is_folding: bool = True) -> Still:
    """Reads a network; nothing is run and nothing of it changes.

    Args:
        model: without wrappers.
        name: of the graph.
        is_folding: False shows every module.
    """
    with _without_collections():
        tree = scan(model)
        mixtures = find_mixtures(tree.nodes)
        pools = {pool for mixture in mixtures.values() for pool in mixture.experts}
        folded = fold(tree, pools=lambda node: node in pools, is_folding=is_folding)
        kinds = kinds_of(folded, mixtures)
        idle = idle_params(tree, mixtures)
        modules = modules_of(tree, folded, kinds, mixtures, idle)
    params = tree.root.params
    meta = Meta(
        name=name,
        class_name=class_name(model),
        fingerprint=tree.root.fingerprint,
        num_modules=tree.num_modules,
        totals=Totals(
            params=params.total, unique=params.unique, trainable=params.trainable, bytes=params.bytes,
            active=params.unique - idle.get(tree.root, 0),
        ),
        notes=_notes(modules),
        torch=torch.__version__.split("+")[0],
    )  # fmt: skip
    ops, edges = _sequences(folded, modules)
    graph = ModelGraph(
        meta=meta, modules=tuple(modules), ops=tuple(ops), edges=tuple(edges), ties=tuple(ties_of(tree, folded))
    )
    return Still(tree=tree, folded=folded, graph=graph)


def _notes(modules: list[Module]) -> tuple[str, ...]:
    num_lazy = sum(tensor.is_lazy for module in modules for tensor in module.tensors)
    if not num_lazy:
        return ()
    return (f"{num_lazy} tensors have no shape before the model has run once; they do not count.",)


def _sequences(folded: Folded, modules: list[Module]) -> tuple[list[Op], list[Edge]]:
    """One operation for each module of a `Sequential`, in its order: the only edges that are certain without a run."""
    ops: list[Op] = []
    edges: list[Edge] = []
    at: dict[int, int] = {}

    def op(position: int) -> int:
        if position not in at:
            at[position] = len(ops)
            ops.append(Op(name=modules[position].class_name or "group", kind="other", module=position))
        return at[position]

    for position, shown in enumerate(folded.shown):
        in_order = isinstance(shown.node.module, nn.Sequential) and not shown.is_group
        in_group = shown.is_group and shown.node.parent is not None
        if not (in_order or (in_group and _is_sequence(folded, position))):
            continue
        for source, target in zip(shown.children, shown.children[1:], strict=False):
            edges.append(Edge(source=op(source), target=op(target)))
        for child in shown.children:
            repeat = folded.shown[child].repeat
            if repeat is not None:
                edges.append(Edge(source=op(child), target=op(child), kind="loop", label=f"x{repeat.count}"))
    return ops, edges


def _is_sequence(folded: Folded, position: int) -> bool:
    """Whether a group stands in a `Sequential`."""
    shown = folded.shown[position]
    while shown.is_group:
        shown = folded.shown[shown.parent]
    return isinstance(shown.node.module, nn.Sequential)


@contextmanager
def _without_collections() -> Iterator[None]:
    """No pause for cyclic garbage: among all the objects of torch and transformers, one takes longer than the work."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


__all__ = ["Still", "still_graph"]
