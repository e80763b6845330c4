"""Mixtures of experts: which modules are one, and who chooses in it; told by shapes, not by class names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trackio_like.model.facts import number
from trackio_like.model.tree import Node

_TOP_K: Final = (
    "top_k", "topk", "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "experts_per_tok",
    "moe_top_k", "moe_k", "moe_topk", "num_selected_experts", "n_activated_experts", "num_experts_per_topk",
    "router_top_k",
)  # fmt: skip
_TOP_K_HERE: Final = (*_TOP_K, "k")
"""Also by a name that means other things elsewhere."""
_NUM_EXPERTS: Final = (
    "num_experts", "n_experts", "num_local_experts", "n_routed_experts", "num_routed_experts", "moe_num_experts",
    "n_expert", "num_expert",
)  # fmt: skip
_NUM_SHARED: Final = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
_EXPERTS_NAME: Final = re.compile(r"expert", re.IGNORECASE)
_ROUTER_NAME: Final = re.compile(r"router|gat(e|ing)|\bwg\b|switch", re.IGNORECASE)
_MAX_ROUTER_MODULES: Final = 12
_MAJORITY: Final = 0.6
_MIN_EXPERTS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """A module that is a mixture of experts."""

    num_experts: int
    top_k: int
    """0 where it is not known."""
    num_shared: int
    router: Node | None
    """None where the module itself chooses."""
    experts: tuple[Node, ...]
    """What holds the experts: a list of modules, or stacked weights; the module itself where they are its own."""
    shared: tuple[Node, ...]
    num_routed_params: int
    """Unique parameters of all routed experts."""

    @property
    def num_idle_params(self) -> int:
        """Unique parameters that one token does not meet."""
        if not self.top_k:
            return 0
        return self.num_routed_params - self.num_routed_params * self.top_k // self.num_experts


def find_mixture(node: Node) -> Mixture | None:
    """The mixture of experts that a module is, if it is one."""
    if node.same_as is not None or not (node.children or node.entries):
        return None
    for num_experts, experts in _pools(node):
        found = _mixture(node, num_experts, experts)
        if found is not None:
            return found
    return None


def find_mixtures(nodes: Iterable[Node]) -> dict[Node, Mixture]:
    """All mixtures of experts; what holds the experts of one is none itself.

    Args:
        nodes: a parent before its children.
    """
    found: dict[Node, Mixture] = {}
    known: dict[str, bool] = {}
    experts: set[Node] = set()
    for node in nodes:
        if node.same_as is not None or node in experts or known.get(node.fingerprint) is False:
            continue
        mixture = find_mixture(node)
        known[node.fingerprint] = mixture is not None
        if mixture is not None:
            found[node] = mixture
            experts.update(mixture.experts)
    return found


def _pools(node: Node) -> Iterator[tuple[int, tuple[Node, ...]]]:
    """What may hold experts, and how many."""
    for child in node.children:
        if child.same_as is None and len(child.children) >= _MIN_EXPERTS and not child.entries:
            counts = Counter(inner.fingerprint for inner in child.children if inner.params.unique)
            if counts and counts.most_common(1)[0][1] >= max(_MIN_EXPERTS, _MAJORITY * len(child.children)):
                yield len(child.children), (child,)
    stacked = [(child, num) for child in node.children if child.same_as is None and (num := _num_stacked(child, node))]
    for num in dict.fromkeys(num for _, num in stacked):
        yield num, tuple(child for child, other in stacked if other == num)
    if own := _num_stacked(node, node):
        yield own, (node,)


def _num_stacked(node: Node, owner: Node) -> int:
    """Experts whose weights are stacked along the first axis of parameters of a module; 0 where there are none."""
    counts = Counter(
        e.shape[0] for e in node.entries if e.is_weight and len(e.shape) >= 3 and e.shape[0] >= _MIN_EXPERTS
    )
    if not counts or hasattr(node.module, "kernel_size"):
        return 0
    num, most = counts.most_common(1)[0]
    named = {value for each in (node, owner) for value in _values(each, _NUM_EXPERTS)}
    return num if most >= 2 or num in named else 0


def _mixture(node: Node, num_experts: int, experts: tuple[Node, ...]) -> Mixture | None:
    routers = _routers(node, num_experts, experts)
    is_own = any(_chooses(e.shape, num_experts) and "bias" not in e.name for e in node.entries if e.is_weight)
    if not routers and not is_own:
        return None
    router = routers[0] if routers else None
    near = [*([router] if router else []), node, *experts]
    top_k = _top_k(near, num_experts)
    is_named = any(_EXPERTS_NAME.search(pool.name) for pool in experts) or (
        num_experts in {value for each in near for value in _values(each, _NUM_EXPERTS)}
    )
    if not top_k and not is_named:
        return None  # a row of layers beside a layer of as many outputs
    top_k = top_k or _configured(near, _TOP_K, num_experts)
    shared = tuple(
        child for child in node.children if child is not router and child not in experts and _is_network(child)
    )
    if experts == (node,):
        stacked = [e for e in node.entries if e.is_weight and len(e.shape) >= 3 and e.shape[0] == num_experts]
        routed = sum(e.num_elements for e in stacked)
    else:
        routed = sum(pool.params.unique for pool in experts)
    num_shared = _configured([node], _NUM_SHARED, num_experts) or len(shared)
    return Mixture(
        num_experts=num_experts, top_k=top_k, num_shared=num_shared if shared else 0, router=router, experts=experts,
        shared=shared, num_routed_params=routed,
    )  # fmt: skip


def _routers(node: Node, num_experts: int, experts: Sequence[Node]) -> list[Node]:
    """Children that give one number for each expert, the likeliest first."""
    found: list[tuple[bool, int, Node]] = []
    for child in node.children:
        if child in experts or child.same_as is not None:
            continue
        inner = list(child.walk())
        if len(inner) <= _MAX_ROUTER_MODULES and any(
            _chooses(e.shape, num_experts) or e.is_lazy for part in inner for e in part.entries if e.is_weight
        ):
            found.append((not _ROUTER_NAME.search(child.name), child.params.unique, child))
    return [child for _, _, child in sorted(found, key=lambda item: item[:2])]


def _chooses(shape: tuple[int, ...], num_experts: int) -> bool:
    return len(shape) == 2 and num_experts in shape and shape != (num_experts, 1)


def _is_network(node: Node) -> bool:
    """Whether it has at least two matrices: a gate of one output is no expert."""
    matrices = [e for part in node.source.walk() for e in part.entries if e.is_weight and len(e.shape) == 2]
    return len(matrices) >= 2 and all(min(e.shape) > 1 for e in matrices[:1])


def _top_k(near: Iterable[Node], num_experts: int) -> int:
    for node in near:
        for part in node.walk() if len(node.children) <= _MAX_ROUTER_MODULES else (node,):
            for value in _values(part, _TOP_K_HERE):
                if value <= num_experts:
                    return value
            break  # a router's own insides say less than the block around it
    for node in near:
        for child in node.children[:_MAX_ROUTER_MODULES]:
            for value in _values(child, _TOP_K):
                if value <= num_experts:
                    return value
    return 0


def _configured(near: Iterable[Node], names: Sequence[str], at_most: int) -> int:
    """The same from a `config` that a module, or one around it, has."""
    for node in near:
        at: Node | None = node
        while at is not None:
            config: Any = at.module.__dict__.get("config")
            for source in (config, getattr(config, "text_config", None)):
                for name in names if source is not None else ():
                    value = number(source.get(name) if isinstance(source, dict) else getattr(source, name, None))
                    if 0 < value <= at_most:
                        return value
            at = at.parent
    return 0


def _values(node: Node, names: Iterable[str]) -> Iterator[int]:
    attributes = node.module.__dict__
    for name in names:
        if value := number(attributes.get(name)):
            yield value


__all__ = ["Mixture", "find_mixture", "find_mixtures"]
