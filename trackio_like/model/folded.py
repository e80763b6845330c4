"""The tree as it is shown: of siblings that repeat, the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from torch import nn

from trackio_like.model.fold import Run, are_numbered, runs
from trackio_like.model.graph import Repeat
from trackio_like.model.tree import Node, Tree

_LISTS: Final = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_MIN_NAMED: Final = 3
"""Numbered attributes of one module must be that many to be a row: `attn1` and `attn2` are two roles."""


@dataclass(slots=True, eq=False)
class Shown:
    """A module, a representative, or a group of siblings."""

    node: Node
    """The first instance; of a group, its first sibling."""
    path: str
    name: str
    parent: int
    repeat: Repeat | None = None
    is_group: bool = False
    children: list[int] = field(default_factory=list)
    places: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """By the name of a child: what is shown in its place, which instance of that it is in, and the name that stands for
    it in the first instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What stands for a module."""

    shown: int
    instances: tuple[tuple[int, int], ...]
    """The repeats that it is in, from the outermost: what is shown, and which instance this is."""

    @property
    def is_first(self) -> bool:
        """Whether it is shown itself."""
        return all(instance == 0 for _, instance in self.instances)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folded:
    """What is shown of a tree; a parent stands before its children."""

    shown: tuple[Shown, ...]

    def place(self, path: str) -> Place:
        """What stands for a module, or for the innermost known one around it."""
        at = 0
        instances: list[tuple[int, int]] = []
        for part in path.split(".") if path else ():
            name: str | None = part
            while name is not None and (step := self.shown[at].places.get(name)) is not None:
                at, instance, first = step
                if self.shown[at].repeat is not None:
                    instances.append((at, instance))
                name = first if self.shown[at].is_group else None
            if name is not None:
                break
        return Place(shown=at, instances=tuple(instances))


def fold(tree: Tree, *, pools: Callable[[Node], bool], is_folding: bool = True) -> Folded:
    """Folds siblings that are alike.

    Args:
        tree: all modules.
        pools: whether the children of a module are experts, of which those of the majority fold wherever they stand.
        is_folding: False leaves every module apart.
    """
    folder = _Folder(pools, is_folding=is_folding)
    folder.add(Shown(node=tree.root, path="", name="", parent=-1), tree.root.children)
    while folder.waiting:
        folder.place(*folder.waiting.pop())
    return Folded(shown=tuple(folder.shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """Siblings that become one module or group."""

    members: Sequence[Node]
    period: int
    count: int


class _Folder:
    def __init__(self, pools: Callable[[Node], bool], *, is_folding: bool) -> None:
        self.shown: list[Shown] = []
        self.waiting: list[tuple[int, _Row]] = []
        self._pools = pools
        self._is_folding = is_folding

    def add(self, entry: Shown, inner: Sequence[Node]) -> int:
        at = len(self.shown)
        self.shown.append(entry)
        self.waiting.extend((at, row) for row in reversed(self._rows(entry, inner)))
        return at

    def place(self, parent: int, row: _Row) -> None:
        members, first = row.members, row.members[0]
        names = [node.name for node in members]
        entry = Shown(node=first, path=first.path, name=first.name, parent=parent)
        if row.count > 1:
            ends = members[row.period * (row.count - 1) :]
            differs = {name for a, b in zip(members, ends, strict=False) for name in _differing(a, b)}
            entry.repeat = Repeat(
                count=row.count, names=spelled(names), period=row.period, differs=tuple(sorted(differs))
            )
            entry.name = entry.repeat.names
        inner: Sequence[Node] = first.children
        if row.period > 1:
            inner = members[: row.period]
            entry.is_group = True
            entry.path = f"{first.path[: len(first.path) - len(first.name)].rstrip('.')}[{names[0]}:{inner[-1].name}]"
        at = self.add(entry, inner)
        owner = self.shown[parent]
        owner.children.append(at)
        for position, name in enumerate(names):
            owner.places[name] = (at, position // row.period, names[position % row.period])

    def _rows(self, entry: Shown, nodes: Sequence[Node]) -> list[_Row]:
        if not self._is_folding:
            return [_Row(members=[node], period=1, count=1) for node in nodes]
        if not entry.is_group and nodes and self._pools(entry.node):
            return _majority(nodes)
        if entry.is_group or isinstance(entry.node.module, _LISTS):
            found = runs([_key(node) for node in nodes])
        else:
            found = _numbered(nodes)
        return [_Row(members=nodes[run.start : run.end], period=run.period, count=run.count) for run in found]


def _key(node: Node) -> tuple[str, str]:
    """What siblings are compared by; a module that stands again is alike only another place of the same one."""
    return (node.fingerprint, "" if node.same_as is None else node.same_as.path or "/")


def _numbered(nodes: Sequence[Node]) -> list[Run]:
    """Rows among the attributes of a module: of larger parts whose names are numbered."""
    found: list[Run] = []
    for run in runs([_key(node) for node in nodes], max_period=1):
        row = nodes[run.start : run.end]
        if run.count >= _MIN_NAMED and row[0].children and are_numbered([node.name for node in row]):
            found.append(run)
        else:
            found.extend(Run(start=position, period=1, count=1) for position in range(run.start, run.end))
    return found


def _majority(nodes: Sequence[Node]) -> list[_Row]:
    """Experts: those alike are one, wherever they stand; odd ones stay apart."""
    most, _ = Counter(map(_key, nodes)).most_common(1)[0]
    alike = [node for node in nodes if _key(node) == most]
    rows = [_Row(members=alike, period=1, count=len(alike))]
    rows.extend(_Row(members=[node], period=1, count=1) for node in nodes if _key(node) != most)
    return sorted(rows, key=lambda row: row.members[0].order)


def spelled(names: Sequence[str]) -> str:
    """Names in short: `0..31`, `0..2,4..7`, `block1..block4`."""
    if not all(name.isdecimal() for name in names):
        return names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}"
    spans: list[list[int]] = []
    for number in map(int, names):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}..{last}" for first, last in spans)


def _differing(a: Node, b: Node) -> tuple[str, ...]:
    """The numbers that tell two instances apart."""
    found: set[str] = set()
    for one, other in zip(a.walk(), b.walk(), strict=False):
        if one.numbers != other.numbers:
            found.update(name for name, value in one.numbers.items() if other.numbers.get(name) != value)
    return tuple(sorted(found))


__all__ = ["Folded", "Place", "Shown", "fold", "spelled"]
