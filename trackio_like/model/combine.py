"""Where the results of a mixture's experts come together, in a trace that does not say so itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from trackio_like.model.graph import Edge, Module, Op

_SUMS: Final = frozenset({"add", "add_", "sum", "index_add", "index_add_", "index_put_", "scatter_add", "scatter_add_"})


def with_combines(ops: Sequence[Op], edges: Sequence[Edge], modules: Sequence[Module]) -> tuple[Op, ...]:
    """The operations, the first sum behind the experts of each mixture marked as what combines them.

    Args:
        ops: in the order in which they ran.
        edges: between them.
        modules: of the graph.
    """
    found = list(ops)
    following: dict[int, list[int]] = defaultdict(list)
    for edge in edges:
        if edge.kind != "loop":
            following[edge.source].append(edge.target)
    by_path = {module.path: at for at, module in enumerate(modules)}
    for at, module in enumerate(modules):
        if module.moe is None:
            continue
        block, experts = _inside(modules, at), _inside(modules, by_path.get(module.moe.experts, at))
        if any(op.kind == "combine" for op in ops if op.module in block):
            continue
        for behind in sorted(set(_behind(ops, following, experts))):
            op = ops[behind]
            if op.name in _SUMS and op.module in block and (op.module not in experts or op.module == at):
                found[behind] = replace(op, kind="combine")
                break
    return tuple(found)


def _inside(modules: Sequence[Module], at: int) -> set[int]:
    """A module and all in it."""
    inside = {at}
    for position in range(at + 1, len(modules)):
        if modules[position].parent in inside:
            inside.add(position)
    return inside


def _behind(ops: Sequence[Op], following: dict[int, list[int]], experts: set[int]) -> Iterator[int]:
    """Operations that get something from the experts, directly or through others."""
    waiting = [position for position, op in enumerate(ops) if op.module in experts]
    seen = set(waiting)
    while waiting:
        for target in following.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
                yield target


__all__ = ["with_combines"]
