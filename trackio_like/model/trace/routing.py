"""Where a router chooses among experts, and where their results come together again."""

from __future__ import annotations

from dataclasses import dataclass

from trackio_like.model.trace.flow import Flow

_CHOICES = frozenset({"topk", "max", "argmax"})
_COMBINES = frozenset(
    {
        "sum",
        "index_add",
        "index_add_",
        "scatter_add",
        "scatter_add_",
        "scatter_reduce",
        "index_put",
        "index_put_",
        "bmm",
    }
)
_MAX_STEPS = 32
_MAX_EXPERTS = 4096


@dataclass(frozen=True, slots=True)
class Routing:
    """One choice."""

    op: int
    """What chooses."""
    label: str
    """Such as `top-2/8`."""
    edges: tuple[tuple[int, int], ...]
    """On which it goes to what it chooses for."""
    combine: int
    """What brings the results together; -1 where that is not seen."""


def routings(flow: Flow) -> list[Routing]:
    """All choices among experts."""
    found: list[Routing] = []
    taken: set[int] = set()
    for index, op in enumerate(flow.ops):
        if op.name not in _CHOICES or index in taken or not op.sources or not op.sources[0].shape:
            continue
        num_experts = op.sources[0].shape[-1]
        top_k = op.shape[-1] if op.name == "topk" and op.shape else 1
        scores = _scores(flow, index, num_experts)
        if not scores or not top_k < num_experts <= _MAX_EXPERTS:
            continue
        choice, last = _choice(flow, index, scores)
        taken |= {each for each in choice if flow.ops[each].name in _CHOICES}
        if last != index:  # groups were chosen first, then experts in them
            top_k = flow.ops[last].shape[-1] if flow.ops[last].shape else 1
            num_experts = flow.ops[last].sources[0].shape[-1]
        edges = tuple(
            (source, target)
            for source in sorted(choice)
            for target in flow.children[source]
            if (target not in choice or flow.path(target) != flow.path(source)) and flow.ops[target].kind != "output"
        )
        if any(flow.ops[target].kind != "output" for _, target in edges):
            found.append(Routing(last, f"top-{top_k}/{num_experts}", edges, _combine(flow, choice)))
    return found


def _scores(flow: Flow, choice: int, num_experts: int) -> set[int]:
    """What was computed from the products that give a score for each expert; empty where there is no such product."""
    todo, seen = list(flow.parents[choice]), set(flow.parents[choice])
    has_product = False
    for _ in range(_MAX_STEPS):
        if not todo:
            break
        op = todo.pop()
        if flow.ops[op].kind == "input":
            return set()
        if flow.is_weighted(op):
            if flow.ops[op].shape and flow.ops[op].shape[-1] % num_experts and num_experts % flow.ops[op].shape[-1]:
                return set()
            has_product = True
            continue
        todo += [parent for parent in flow.parents[op] if parent not in seen]
        seen.update(flow.parents[op])
    return seen if has_product and not todo else set()


def _choice(flow: Flow, first: int, scores: set[int]) -> tuple[set[int], int]:
    """What is computed from a choice and the scores alone, and the last choice among it."""
    choice, last = {first}, first
    todo = [first]
    while todo:
        for child in sorted(flow.children[todo.pop()]):
            op = flow.ops[child]
            if child in choice or op.has_param or op.kind in ("output", "matmul"):
                continue
            if all(parent in choice or parent in scores for parent in flow.parents[child]):
                choice.add(child)
                todo.append(child)
                if op.name == "topk":
                    last = max(last, child)
    return choice, last


def _combine(flow: Flow, choice: set[int]) -> int:
    """The first operation that sums what experts gave, weighted by the choice."""
    weighted = sorted(
        child
        for op in choice
        for child in flow.children[op]
        if child not in choice and flow.ops[child].kind in ("mul", "matmul")
    )
    for start in weighted:
        if flow.ops[start].name in _COMBINES:
            return start
        todo, num_steps = [start], 0
        while todo and num_steps < 6:
            op = todo.pop(0)
            num_steps += 1
            for child in flow.children[op]:
                if flow.ops[child].name in _COMBINES:
                    return child
                if flow.ops[child].kind in ("mul", "other", "cat"):
                    todo.append(child)
    return -1


__all__ = ["Routing", "routings"]
