"""The graph of a network that was not run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from trackio_like.model.certain import certain_flows
from trackio_like.model.facts import class_name
from trackio_like.model.folded import Folded, fold
from trackio_like.model.graph import Meta, ModelGraph, Module, Totals
from trackio_like.model.kinds import kinds_of
from trackio_like.model.modules import idle_params, modules_of, ties_of
from trackio_like.model.moe import find_mixtures
from trackio_like.model.tree import scan

_VERSION: Final = torch.__version__.split("+")[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Still:
    """A network as it stands."""

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
        torch=_VERSION,
    )  # fmt: skip
    ops, edges = certain_flows(folded, modules, mixtures)
    graph = ModelGraph(meta=meta, modules=tuple(modules), ops=ops, edges=edges, ties=tuple(ties_of(tree, folded)))
    return Still(folded=folded, graph=graph)


def bare_graph(model: nn.Module, name: str, note: str) -> ModelGraph:
    """A graph of the model alone, where what is in it cannot be read.

    Args:
        model: the model.
        name: of the graph.
        note: why.
    """
    kind = type(model).__name__
    root = Module(path="", name="", class_name=kind, kind="other", parent=-1)
    return ModelGraph(
        meta=Meta(name=name, class_name=kind, fingerprint="", num_modules=1, notes=(note,), torch=_VERSION),
        modules=(root,),
    )


def _notes(modules: list[Module]) -> tuple[str, ...]:
    num_lazy = sum(tensor.is_lazy for module in modules for tensor in module.tensors)
    if not num_lazy:
        return ()
    return (f"{num_lazy} tensors have no shape before the model has run once; they do not count.",)


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
