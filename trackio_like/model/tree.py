"""The tree of a network's modules, as it stands: what each has, and what tells it from another."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from torch.nn.utils import parametrize

from trackio_like.model.facts import class_name, identity, printed
from trackio_like.model.graph import Params
from trackio_like.model.storage import Entry, Place, Weights, own_entries, summed

if TYPE_CHECKING:
    from torch import nn

_HIDDEN: Final = "parametrizations"


@dataclass(slots=True, eq=False)
class Node:
    """A module at one place of the tree."""

    path: str
    name: str
    module: nn.Module
    parent: Node | None
    order: int
    """Among all nodes, a parent before its children."""
    same_as: Node | None = None
    """Where this very module stands first; this node has no children then."""
    children: list[Node] = field(default_factory=list)
    entries: tuple[Entry, ...] = ()
    fingerprint: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    """Its attributes that only number it."""
    last: int = 0
    """The order of the last node in it."""
    params: Params = field(default_factory=Params)
    num_buffers: int = 0
    dtypes: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Elements of weights by dtype and bits, each storage once."""
    alone: Weights = field(default_factory=Weights)
    """Sums of the weights in it that stand in no other place."""
    alone_dtypes: Counter[tuple[str, int]] = field(default_factory=Counter)
    shared: dict[Place, Entry] = field(default_factory=dict)
    """The weights in it that do."""
    again: dict[int, Node] = field(default_factory=dict)
    """Modules that stand in it for a second time, by their first node's order."""

    @property
    def source(self) -> Node:
        """The node that has the module's insides."""
        return self if self.same_as is None else self.same_as

    def walk(self) -> Iterator[Node]:
        """This node and all in it, in order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """All modules of a model."""

    root: Node
    nodes: tuple[Node, ...]
    """In order."""
    tied: dict[Place, list[tuple[Node, Entry]]]
    """Weights that lie in one place, under all their names."""

    @property
    def num_modules(self) -> int:
        """Distinct modules."""
        return sum(node.same_as is None for node in self.nodes)


def scan(model: nn.Module) -> Tree:
    """Reads a model; nothing is run, no weight is read."""
    nodes = _nodes(model)
    tied = _tied(nodes)
    used_again = _used_again(nodes)
    for node in _inner_first(nodes[0]):
        _count(node, tied, is_used_again=node.order in used_again)
        _identify(node)
    names = {place: found for place, found in tied.items() if len(found) > 1}
    return Tree(root=nodes[0], nodes=tuple(nodes), tied=names)


def _nodes(model: nn.Module) -> list[Node]:
    nodes: list[Node] = []
    first: dict[int, Node] = {}
    waiting: list[tuple[str, str, nn.Module, Node | None]] = [("", "", model, None)]
    while waiting:
        path, name, module, parent = waiting.pop()
        node = Node(path=path, name=name, module=module, parent=parent, order=len(nodes), last=len(nodes))
        nodes.append(node)
        if parent is not None:
            parent.children.append(node)
        node.same_as = first.get(id(module))
        if node.same_as is not None:
            continue
        first[id(module)] = node
        inner = [(key, child) for key, child in module._modules.items() if child is not None]  # noqa: SLF001
        hidden: list[tuple[str, nn.Module]] = []
        if _HIDDEN in module._modules and parametrize.is_parametrized(module):  # noqa: SLF001
            inner = [(key, child) for key, child in inner if key != _HIDDEN]
            hidden = [
                (f"{_HIDDEN}.{key}." if key else f"{_HIDDEN}.", part)
                for key, part in module.get_submodule(_HIDDEN).named_modules()
            ]
        node.entries = tuple(own_entries(module, hidden=hidden))
        prefix = f"{path}." if path else ""
        waiting.extend((prefix + key, key, child, node) for key, child in reversed(inner))
    for node in reversed(nodes):
        if node.parent is not None:
            node.parent.last = max(node.parent.last, node.last)
    return nodes


def _inner_first(root: Node) -> Iterator[Node]:
    """Children before their parents, earlier ones before later ones: what a node repeats is known when it comes."""
    waiting = [(root, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done or not node.children:
            yield node
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))


def _tied(nodes: list[Node]) -> dict[Place, list[tuple[Node, Entry]]]:
    """Weights by their places, where a storage holds several that are not told apart by their places alone."""
    by_storage: dict[object, list[tuple[Node, Entry]]] = {}
    for node in nodes:
        for entry in node.entries:
            if entry.is_weight and entry.num_elements:
                by_storage.setdefault(entry.place[0], []).append((node, entry))
    tied: dict[Place, list[tuple[Node, Entry]]] = {}
    for found in by_storage.values():
        if len(found) < 2 or _are_apart([entry for _, entry in found]):
            continue
        for node, entry in found:
            tied.setdefault(entry.place, []).append((node, entry))
    return tied


def _are_apart(entries: list[Entry]) -> bool:
    ends = 0
    for _, first, last in sorted(entry.place for entry in entries):
        if first < ends:
            return False
        ends = last
    return True


def _used_again(nodes: list[Node]) -> set[int]:
    """The orders of all nodes in modules that stand in several places."""
    found: set[int] = set()
    for other in {node.same_as.order: node.same_as for node in nodes if node.same_as is not None}.values():
        found.update(range(other.order, other.last + 1))
    return found


def _count(node: Node, tied: Mapping[Place, object], *, is_used_again: bool) -> None:
    if (other := node.same_as) is not None:
        node.shared, node.again = other.shared, {other.order: other, **other.again}
        node.params, node.num_buffers, node.dtypes = other.params, other.num_buffers, other.dtypes
        return
    weights = [entry for entry in node.entries if entry.is_weight]
    alone = [] if is_used_again else [entry for entry in weights if entry.place not in tied]
    node.shared = (
        {} if len(alone) == len(weights) else {e.place: e for e in weights if is_used_again or e.place in tied}
    )
    node.num_buffers = sum(entry.num_elements for entry in node.entries if not entry.is_weight)
    for entry in alone:
        node.alone_dtypes[entry.dtype, entry.bits] += entry.num_elements
    sums = [_sum(alone)]
    total = sum(entry.num_elements for entry in weights)
    for child in node.children:
        node.shared.update(child.shared)
        node.again.update(child.again)
        if child.same_as is None:
            total += child.params.total
            node.num_buffers += child.num_buffers
            node.alone_dtypes.update(child.alone_dtypes)
            sums.append(child.alone)
    node.alone = _added(sums)
    outside = {order: other for order, other in node.again.items() if not node.order <= order <= node.last}
    for other in outside.values():
        if not any(o.order < other.order <= o.last for o in outside.values()):
            total += other.params.total
    shared = summed(node.shared.values())
    node.dtypes = Counter(node.alone_dtypes)
    for entry in node.shared.values():
        node.dtypes[entry.dtype, entry.bits] += entry.num_elements
    node.params = Params(
        own=summed(weights).num_elements if node.shared else _sum(weights).num_elements,
        total=total,
        unique=node.alone.num_elements + shared.num_elements,
        trainable=node.alone.num_trainable + shared.num_trainable,
        bytes=node.alone.num_bytes + shared.num_bytes,
    )


def _sum(entries: list[Entry]) -> Weights:
    return Weights(
        num_elements=sum(entry.num_elements for entry in entries),
        num_trainable=sum(entry.num_elements for entry in entries if entry.trainable),
        num_bytes=sum(entry.num_bytes for entry in entries),
    )


def _added(sums: list[Weights]) -> Weights:
    return Weights(
        num_elements=sum(each.num_elements for each in sums),
        num_trainable=sum(each.num_trainable for each in sums),
        num_bytes=sum(each.num_bytes for each in sums),
    )


def _identify(node: Node) -> None:
    """The fingerprint: equal for modules that differ in nothing but their names and numbers."""
    if node.same_as is not None:
        node.fingerprint, node.numbers = node.same_as.fingerprint, node.same_as.numbers
        return
    module = node.module
    text, node.numbers = identity(module, printed(module))
    tensors = [(e.name, e.shape, e.dtype, e.trainable, e.is_buffer, e.is_lazy) for e in node.entries]
    inner = [(child.name, child.fingerprint) for child in node.children]
    parts = (type(module).__module__, class_name(module), text, tensors, inner, node.params.unique)
    node.fingerprint = _digest(repr(parts))


def joined_fingerprint(fingerprints: Iterable[str]) -> str:
    """The fingerprint of several modules in a row."""
    return _digest("+".join(fingerprints))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


__all__ = ["Node", "Tree", "joined_fingerprint", "scan"]
