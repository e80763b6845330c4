"""What kind of thing each module is.

It follows from the bases of its class and from what it is made of, never from the name of its class alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from torch import nn

from trackio_like.model.facts import number
from trackio_like.model.folded import Folded, Shown
from trackio_like.model.graph import Kind
from trackio_like.model.moe import Mixture
from trackio_like.model.tree import Node

_m = nn.modules
_BASES: Final[tuple[tuple[tuple[type, ...], Kind], ...]] = (
    ((nn.Embedding, nn.EmbeddingBag), "embedding"),
    ((nn.MultiheadAttention,), "attention"),
    ((nn.Linear, nn.Bilinear), "linear"),
    ((_m.conv._ConvNd,), "conv"),  # noqa: SLF001 - the one base of all convolutions
    (
        (
            _m.batchnorm._NormBase,  # noqa: SLF001
            nn.LayerNorm, nn.GroupNorm, nn.LocalResponseNorm, nn.CrossMapLRN2d,
            *([nn.RMSNorm] if hasattr(nn, "RMSNorm") else []),
        ),
        "norm",
    ),
    (
        (
            _m.pooling._MaxPoolNd, _m.pooling._AvgPoolNd, _m.pooling._LPPoolNd,  # noqa: SLF001
            _m.pooling._AdaptiveAvgPoolNd, _m.pooling._AdaptiveMaxPoolNd,  # noqa: SLF001
            nn.FractionalMaxPool2d, nn.FractionalMaxPool3d,
        ),
        "pool",
    ),
    (tuple(kind for name in _m.activation.__all__ if isinstance(kind := getattr(_m.activation, name), type)), "act"),
    ((nn.ModuleList, nn.ModuleDict), "container"),
)  # fmt: skip
_EPS: Final = ("eps", "epsilon", "variance_epsilon", "norm_eps", "layer_norm_eps")
_ACT_CLASS: Final = re.compile(r"(ReLU6?|GELU|SiLU|Swish|Mish|Sigmoid|Tanh|Softmax|GLU|Activation)\d?$", re.IGNORECASE)
_HEADS: Final = ("num_heads", "n_heads", "n_head", "heads", "num_attention_heads", "nhead", "num_head")
_Q: Final = re.compile(
    r"^(w_?q|q|q_?(proj|lin|linear|dense|a_proj|b_proj)|query(_?(proj|layer|projection))?|to_q|lin_q|fc_q)$",
    re.IGNORECASE,
)
_K: Final = re.compile(
    r"^(w_?k|k|k_?(proj|lin|linear|dense)|key(_?(proj|layer|projection))?|to_k|lin_k|fc_k|kv_a_proj\w*|kv_proj|to_kv|w_?kv|kv)$",
    re.IGNORECASE,
)
_FUSED: Final = re.compile(r"(^|_)(qkv|kqv|qkvz|query_key_value|c_attn|q_k_v)($|_|proj)|^wqkv$", re.IGNORECASE)
_PLAIN: Final = frozenset({"act", "norm", "pool", "other"})
"""Kinds that go with anything."""


def kinds_of(folded: Folded, mixtures: Mapping[Node, Mixture]) -> list[Kind]:
    """The kind of everything that is shown, in its order."""
    kinds: list[Kind] = ["other"] * len(folded.shown)
    parts = _parts_of_mixtures(mixtures)
    for at in range(len(folded.shown) - 1, -1, -1):
        shown = folded.shown[at]
        inner = _inner(folded, kinds, at)
        if (at == 0 and inner) or shown.is_group:
            kinds[at] = "container"
        elif shown.node.source in mixtures or shown.node.source in parts:
            kinds[at] = "moe"
        else:
            kinds[at] = _kind(shown.node.source, inner)
    for at in _heads(folded, kinds):
        kinds[at] = "head"
    return kinds


def leaf_kind(node: Node) -> Kind | None:
    """The kind of a module by the bases of its class, or by its own tensors; None where these do not say."""
    module = node.module
    for bases, kind in _BASES:
        if isinstance(module, bases):
            return kind
    if isinstance(module, nn.Sequential):
        return None
    weights = [entry for entry in node.entries if entry.is_weight]
    shapes = [entry.shape for entry in weights]
    has_eps = any(isinstance(module.__dict__.get(name), float) for name in _EPS)
    if not node.children:
        name = type(module).__name__
        if shapes and all(len(shape) == 1 for shape in shapes) and (has_eps or name.endswith("Norm")):
            return "norm"
        if not weights and (has_eps or name.endswith("Norm")) and "norm" in name.lower():
            return "norm"
        if is_linear(node):
            return "linear"
        if not node.entries and (type(module).__module__ == "transformers.activations" or _ACT_CLASS.search(name)):
            return "act"
    return None


def is_linear(node: Node) -> bool:
    """Whether a module is a matrix product with its own weights, of whatever class."""
    module = node.module
    if isinstance(module, nn.Linear):
        return True
    attributes = module.__dict__
    if number(attributes.get("in_features")) and number(attributes.get("out_features")):
        return True  # quantised layers
    matrices = [entry for entry in node.entries if entry.is_weight and len(entry.shape) == 2]
    if len(matrices) != 1 or node.children:
        return False
    return sorted(matrices[0].shape) == sorted((number(attributes.get("nx")), number(attributes.get("nf"))))


def sizes(node: Node) -> tuple[int, int]:
    """Inputs and outputs of a linear module; 0 where they are not known."""
    attributes = node.module.__dict__
    given = number(attributes.get("in_features")), number(attributes.get("out_features"))
    return given if any(given) else (number(attributes.get("nx")), number(attributes.get("nf")))


def _parts_of_mixtures(mixtures: Mapping[Node, Mixture]) -> set[Node]:
    parts: set[Node] = set()
    for mixture in mixtures.values():
        parts.update(mixture.experts)
        if mixture.router is not None:
            parts.add(mixture.router)
    return parts


def _kind(node: Node, inner: Sequence[tuple[Shown, Kind]]) -> Kind:
    known = leaf_kind(node)
    if known is not None:
        return known
    if not inner:
        return "other"
    if _is_attention(node):
        return "attention"
    found = [kind for shown, kind in inner for _ in range(shown.repeat.count if shown.repeat else 1)]
    telling = [kind for kind in found if kind not in _PLAIN]
    if "container" in found or telling.count("block") > 1 or any(shown.is_group for shown, _ in inner):
        return "container"
    if "block" in telling:
        is_layer = not isinstance(node.module, nn.Sequential) and "embedding" not in telling
        stands_here = any(kind == "block" for shown, kind in inner if shown.node.parent is node)
        return "block" if is_layer and stands_here else "container"
    if not telling:
        return "norm" if set(found) == {"norm"} else "container" if isinstance(node.module, nn.Sequential) else "other"
    return _by_parts(node, telling)


def _inner(folded: Folded, kinds: Sequence[Kind], at: int) -> list[tuple[Shown, Kind]]:
    """What is in a module, lists of modules taken apart: they are no step of their own."""
    found: list[tuple[Shown, Kind]] = []
    for child in folded.shown[at].children:
        shown = folded.shown[child]
        if isinstance(shown.node.module, (nn.ModuleList, nn.ModuleDict)) and kinds[child] == "container":
            found.extend((folded.shown[part], kinds[part]) for part in shown.children)
        else:
            found.append((shown, kinds[child]))
    return found


def _by_parts(node: Node, telling: Sequence[Kind]) -> Kind:
    sorts = set(telling)
    num_linear = telling.count("linear") + telling.count("head")
    if sorts <= {"attention", "linear"} and telling.count("attention") == 1 and num_linear <= 1:
        return "attention"  # with its output layer or norm around it
    if "embedding" in sorts and not sorts - {"embedding", "linear", "conv"} and num_linear <= 1:
        return "embedding"
    if sorts == {"conv"} and any(len(entry.shape) == 3 and entry.shape[0] == 1 for entry in node.entries):
        return "embedding"  # patches, with positions or a class token beside them
    if len(telling) == 1:
        return telling[0]
    if sorts == {"linear"}:
        return "mlp"
    if sorts == {"mlp"}:
        return "mlp" if not isinstance(node.module, nn.Sequential) else "container"
    if isinstance(node.module, nn.Sequential) and sorts == {"attention"}:
        return "container"
    return "block"


def _is_attention(node: Node) -> bool:
    """Projections of queries and keys, or of all three at once, and nothing that is more than an attention."""
    linear = [(child.name, child.source) for child in node.children if _is_projection(child.source)]
    if len(linear) < 2:
        return False
    names = [name for name, _ in linear]
    if any(_Q.match(name) for name in names) and any(_K.match(name) or _FUSED.search(name) for name in names):
        return True
    if any(_FUSED.search(name) for name in names):
        return True
    attributes = node.module.__dict__
    if not any(number(attributes.get(name)) for name in _HEADS):
        return False
    outs = [sizes(source) for _, source in linear]
    return any(out == 3 * into and into and (into, into) in outs for into, out in outs)


def _is_projection(node: Node) -> bool:
    return is_linear(node) or (bool(node.children) and is_linear(node.children[0]) and len(node.children) <= 3)


def _heads(folded: Folded, kinds: Sequence[Kind]) -> list[int]:
    """The layers that give a model's answer, with what stands around them alone."""
    shown = folded.shown
    config = shown[0].node.module.__dict__.get("config")
    answers = {number(getattr(config, name, None)) for name in ("vocab_size", "num_labels")} - {0}
    embedded = {
        entry.place
        for at, kind in enumerate(kinds)
        if kind == "embedding"
        for entry in shown[at].node.entries
        if len(entry.shape) == 2
    }
    last = _last_layer(folded, kinds)
    found: list[int] = []
    for at, each in enumerate(shown):
        node = each.node
        if kinds[at] != "linear" or not is_linear(node) or each.repeat is not None:
            continue
        into, out = sizes(node)
        is_tied = any(entry.place in embedded for entry in node.entries)
        is_answer = each.parent == 0 and out in answers and not isinstance(shown[0].node.module, nn.Sequential)
        if is_tied or is_answer or (at == last and into != out):
            found.append(at)
    for at in list(found):
        above = shown[at].parent
        while above > 0 and shown[above].repeat is None and kinds[above] in ("linear", "mlp", "other", "container"):
            if shown[above].children[-1] not in found or kinds[above] == "container":
                break
            found.append(above)
            above = shown[above].parent
    return found


def _last_layer(folded: Folded, kinds: Sequence[Kind]) -> int:
    """The last layer with weights that stands once, at the end of all; -1 where the end is something else."""
    at = 0
    while True:
        inner = [child for child in folded.shown[at].children if folded.shown[child].node.params.unique]
        if not inner or folded.shown[at].repeat is not None:
            break
        at = inner[-1]
    has_others = any(kind in ("linear", "conv", "embedding", "attention") for i, kind in enumerate(kinds) if i != at)
    return at if has_others and kinds[at] == "linear" else -1


__all__ = ["is_linear", "kinds_of", "leaf_kind", "sizes"]
