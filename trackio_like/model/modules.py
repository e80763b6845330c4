"""What is shown of a tree, as the modules of a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from trackio_like.model.facts import attributes, class_name
from trackio_like.model.folded import Folded, Shown
from trackio_like.model.graph import Kind, Module, Moe, Params, Tie
from trackio_like.model.moe import Mixture
from trackio_like.model.storage import Entry, Place, summed
from trackio_like.model.tree import Node, Tree, joined_fingerprint


def modules_of(
    tree: Tree, folded: Folded, kinds: Sequence[Kind], mixtures: Mapping[Node, Mixture], idle: Mapping[Node, int]
) -> list[Module]:
    """The modules of a graph, not traced yet, in the order of what is shown."""
    first_names = _first_names(tree)
    made: list[Module] = []
    for shown, kind in zip(folded.shown, kinds, strict=True):
        node = shown.node
        module = Module(
            path=shown.path,
            name=shown.name,
            class_name="" if shown.is_group else class_name(node.module),
            kind=kind,
            parent=shown.parent,
            fingerprint=node.fingerprint,
            repeat=shown.repeat,
            same_as="" if node.same_as is None or shown.is_group else node.same_as.path,
        )
        made.append(
            _of_group(module, _siblings(folded, shown)) if shown.is_group else _of_node(module, node, first_names)
        )
        mixture = mixtures.get(node.source)
        if mixture is not None and not shown.is_group:
            made[-1] = replace(made[-1], moe=_moe(node.source, mixture, idle))
    return made


def idle_params(tree: Tree, mixtures: Mapping[Node, Mixture]) -> dict[Node, int]:
    """Parameters that one token does not meet, of every module that has a mixture of experts in it."""
    idle: dict[Node, int] = {}
    by_print = {node.fingerprint: mixture for node, mixture in mixtures.items()}
    for node in tree.nodes:
        mixture = by_print.get(node.fingerprint)
        if mixture is None or node.same_as is not None or not mixture.num_idle_params:
            continue
        at: Node | None = node
        while at is not None:
            idle[at] = idle.get(at, 0) + mixture.num_idle_params
            at = at.parent
    return idle


def ties_of(tree: Tree, folded: Folded) -> list[Tie]:
    """Links between modules that share a parameter."""
    ties: dict[Tie, None] = {}
    for found in tree.tied.values():
        places = dict.fromkeys(folded.place(node.path).shown for node, _ in found)
        if len(places) > 1:
            ties[Tie(modules=tuple(places), tensor=found[0][1].name)] = None
    return list(ties)


def _of_node(module: Module, node: Node, first_names: Mapping[Place, str]) -> Module:
    source = node.source
    known = attributes(source.module)
    if module.repeat is not None:
        known = {name: value for name, value in known.items() if name not in module.repeat.differs}
    prefix = f"{source.path}." if source.path else ""
    tensors = []
    for entry in source.entries:
        first = first_names.get(entry.place, "")
        tensors.append(entry.described("" if first == prefix + entry.name else first))
    return replace(
        module, params=source.params, num_buffers=source.num_buffers, dtypes=_by_dtype(source.dtypes),
        bits=_bits(source.dtypes), tensors=tuple(tensors), attrs=known,
    )  # fmt: skip


def _of_group(module: Module, siblings: Sequence[Node]) -> Module:
    """Sums over the siblings of one instance, what they share once."""
    shared: dict[Place, Entry] = {}
    dtypes: Counter[tuple[str, int]] = Counter()
    for node in siblings:
        shared.update(node.source.shared)
        dtypes.update(node.source.alone_dtypes)
    for entry in shared.values():
        dtypes[entry.dtype, entry.bits] += entry.num_elements
    sums = summed(shared.values())
    alone = [node.source.alone for node in siblings]
    params = Params(
        total=sum(node.source.params.total for node in siblings),
        unique=sum(each.num_elements for each in alone) + sums.num_elements,
        trainable=sum(each.num_trainable for each in alone) + sums.num_trainable,
        bytes=sum(each.num_bytes for each in alone) + sums.num_bytes,
    )
    return replace(
        module, is_group=True, params=params, num_buffers=sum(node.source.num_buffers for node in siblings),
        dtypes=_by_dtype(dtypes), bits=_bits(dtypes),
        fingerprint=joined_fingerprint(node.fingerprint for node in siblings),
    )  # fmt: skip


def _siblings(folded: Folded, group: Shown) -> list[Node]:
    """All siblings of the first instance of a group, also those that are folded in it."""
    found: list[Node] = []
    for child in group.children:
        shown = folded.shown[child]
        inner = _siblings(folded, shown) if shown.is_group else [shown.node]
        found.extend(inner * (shown.repeat.count if shown.repeat else 1))
    return found


def _moe(node: Node, mixture: Mixture, idle: Mapping[Node, int]) -> Moe:
    return Moe(
        num_experts=mixture.num_experts,
        top_k=mixture.top_k,
        num_shared=mixture.num_shared,
        router="" if mixture.router is None else mixture.router.path,
        experts=mixture.experts[0].path,
        active_params=node.params.unique - idle.get(node, 0),
    )


def _first_names(tree: Tree) -> dict[Place, str]:
    return {
        place: f"{found[0][0].path}.{found[0][1].name}" if found[0][0].path else found[0][1].name
        for place, found in tree.tied.items()
    }


def _by_dtype(dtypes: Counter[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for (dtype, _), count in dtypes.items():
        if count:
            found[dtype] = found.get(dtype, 0) + count
    return found


def _bits(dtypes: Counter[tuple[str, int]]) -> int:
    return max(dtypes.items(), key=lambda item: item[1], default=(("", 0), 0))[0][1]


__all__ = ["idle_params", "modules_of", "ties_of"]
