"""What is known of an operator: its kind, whether it writes to what it gets, whether it only copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from trackio_like.model.graph import OpKind
from trackio_like.model.trace.flops import MACS, Macs

_COPIES: Final = frozenset(
    {
        "clone", "_to_copy", "contiguous", "_unsafe_view", "lift_fresh", "lift_fresh_copy", "detach", "alias", "to",
        "view_copy", "expand_copy", "permute_copy", "slice_copy", "_conj_physical", "_reshape_copy", "native_dropout",
        "to_mkldnn", "to_dense", "_pin_memory", "wait_tensor", "copy",
    }
)  # fmt: skip
"""What gives the same numbers in another place, order or dtype: who made them goes on to be who made them."""

_BLANKS: Final = frozenset(
    {
        "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_empty",
        "new_zeros", "new_ones", "new_full", "new_empty_strided",
    }
)  # fmt: skip
"""What takes no more than a size and a dtype from what it gets."""

_KINDS: Final[dict[OpKind, str]] = {
    "conv": "convolution _convolution mkldnn_convolution cudnn_convolution convolution_overrideable _conv_depthwise2d",
    "attention": (
        "scaled_dot_product_attention _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu "
        "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention _flash_attention_forward "
        "_scaled_dot_product_fused_attention_overrideable _scaled_dot_product_attention_math "
        "_efficient_attention_forward _native_multi_head_attention _transformer_encoder_layer_fwd flex_attention"
    ),
    "loop": "lstm gru rnn_tanh rnn_relu mkldnn_rnn_layer _cudnn_rnn scan while_loop associative_scan",
    "add": "add add_ sub sub_ rsub",
    "cat": "cat stack hstack vstack concat",
    "mul": "mul mul_ div div_ addcmul addcmul_ addcdiv",
    "norm": (
        "native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit cudnn_batch_norm rms_norm "
        "_native_batch_norm_legit_no_training _batch_norm_with_update _batch_norm_no_update _fused_rms_norm rsqrt "
        "var_mean linalg_vector_norm norm instance_norm"
    ),
    "act": (
        "relu relu_ gelu silu silu_ sigmoid sigmoid_ tanh tanh_ softmax _softmax _safe_softmax _log_softmax softplus "
        "leaky_relu leaky_relu_ elu elu_ celu hardtanh hardtanh_ hardswish hardswish_ hardsigmoid mish mish_ erf "
        "relu6 _prelu_kernel glu threshold log_sigmoid_forward rrelu_with_noise selu selu_ clamp_min"
    ),
    "embed": "embedding embedding_bag _embedding_bag _embedding_bag_forward_only",
}
_KIND_OF: Final[dict[str, OpKind]] = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_RECURRENT: Final = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload of an operator."""

    name: str
    """Without namespace and overload."""
    kind: OpKind
    macs: Macs | None
    is_copy: bool
    is_blank: bool
    is_view: bool
    """Whether what it gives lies where what it gets lies."""
    written: tuple[int, ...]
    """Positions of the arguments that it writes to."""
    written_names: tuple[str, ...]
    """Those that are given by name only, such as `out`."""
    has_device: bool
    """Whether it takes a device, so that it can be told to stay on the meta device."""


_KNOWN: dict[Any, Operator] = {}


def operator(func: Any) -> Operator:
    """What is known of an overload; found out once."""
    found = _KNOWN.get(func)
    if found is None:
        found = _KNOWN[func] = _learn(func)
    return found


def _learn(func: Any) -> Operator:
    schema = getattr(func, "_schema", None)
    name = str(getattr(func, "__name__", func)) if schema is None else schema.name.split("::")[-1]
    name = name.split(".")[0]
    arguments = () if schema is None else schema.arguments
    writes = [(p, a) for p, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write]
    aliases = () if schema is None else [each.alias_info for each in schema.returns]
    return Operator(
        name=name,
        kind=kind_of(name),
        macs=MACS.get(name),
        is_copy=name in _COPIES,
        is_blank=name in _BLANKS,
        is_view=any(alias is not None and not alias.is_write for alias in aliases),
        written=tuple(p for p, a in writes if not a.kwarg_only),
        written_names=tuple(a.name for _, a in writes if a.kwarg_only),
        has_device=any(a.name == "device" for a in arguments),
    )


def kind_of(name: str) -> OpKind:
    """The kind of an operator by its name."""
    found = _KIND_OF.get(name)
    if found is not None:
        return found
    return "matmul" if name in MACS and name not in _RECURRENT else "other"


__all__ = ["Operator", "kind_of", "operator"]
