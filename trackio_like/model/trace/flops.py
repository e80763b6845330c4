"""How many floating point operations a call of an operator takes, by its shapes.

Counted are products: matrix products, convolutions, attention, recurrent cells. Everything else (norms, activations,
sums, the element-wise part of a scan) is linear in its bytes, and counts nothing, as in the papers' figures. A pair of
multiplication and addition is two operations, and one MAC. A causal mask halves nothing: what is counted is what dense
kernels compute.

B batch, H heads, Q and K queries and keys, D and E their sizes and the values', M, N, R rows, columns, reduced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

Macs = Callable[[Sequence[Any], Any], int]
"""The MACs of one call, from its arguments and its result."""


def _mm(args: Sequence[Any], _out: Any) -> int:
    return int(args[0].numel() * args[1].shape[-1])


def _addmm(args: Sequence[Any], _out: Any) -> int:
    return int(args[1].numel() * args[2].shape[-1])


def _mv(args: Sequence[Any], _out: Any) -> int:
    return int(args[0].numel())


def _addmv(args: Sequence[Any], _out: Any) -> int:
    return int(args[1].numel())


def _linear(args: Sequence[Any], _out: Any) -> int:
    return int(args[0].numel() * args[1].shape[0])


def _grouped_mm(args: Sequence[Any], out: Any) -> int:
    left, right = args[0], args[1]
    if left.dim() == 3 or right.dim() == 3:  # rows of groups, each with a matrix of its own; or one product a group
        return int(out.numel() * left.shape[-1])
    return int(left.shape[0] * left.shape[1] * right.shape[1])  # 2-D x 2-D: the groups split what is summed over


def _convolution(args: Sequence[Any], out: Any) -> int:
    data, weight = args[0], args[1]
    is_transposed = len(args) > 6 and bool(args[6])
    # A weight is [out, in / groups, ...], of a transposed convolution [in, out / groups, ...].
    per_place = math.prod(weight.shape[1:])
    return int((data.numel() if is_transposed else out.numel()) * per_place)


def attention_macs(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]) -> int:
    """MACs of softmax(Q K^T) V: of both products.

    Args:
        query_shape: [..., H, Q, D].
        key_shape: [..., H or fewer, K, D].
        value_shape: [..., H or fewer, K, E].
    """
    rows = math.prod(query_shape[:-1])
    return rows * key_shape[-2] * (query_shape[-1] + value_shape[-1])


def _sdpa(args: Sequence[Any], _out: Any) -> int:
    return attention_macs(args[0].shape, args[1].shape, args[2].shape)


def _flash(args: Sequence[Any], _out: Any) -> int:
    """The kernels whose layout is [B, Q, H, D]."""
    query, key, value = (tensor.shape for tensor in args[:3])
    if len(query) != 4:  # [all tokens, H, D]: sequences of unequal lengths, at most as long as the whole
        return int(math.prod(query[:-1]) * key[0] * (query[-1] + value[-1]))
    return int(math.prod(query[:-1]) * key[1] * (query[-1] + value[-1]))


def native_attention_macs(query_shape: Sequence[int], key_shape: Sequence[int], width: int) -> int:
    """MACs of multi-head attention with its projections, [B, Q, width] and [B, K, width]."""
    rows_q, rows_k = math.prod(query_shape[:-1]), math.prod(key_shape[:-1])
    projections = width * width * (2 * rows_q + 2 * rows_k)
    return projections + rows_q * key_shape[-2] * 2 * width


def _native_attention(args: Sequence[Any], _out: Any) -> int:
    return native_attention_macs(args[0].shape, args[1].shape, int(args[3]))


def _encoder_layer(args: Sequence[Any], _out: Any) -> int:
    source, width, hidden = args[0].shape, int(args[1]), int(args[14].shape[0])
    return native_attention_macs(source, source, width) + int(math.prod(source[:-1])) * 2 * width * hidden


def recurrent_macs(num_rows: int, weights: Sequence[Any]) -> int:
    """MACs of a recurrent network: every row (batch x time) meets each weight matrix once."""
    return num_rows * sum(int(weight.numel()) for weight in weights if weight.dim() == 2)


def _recurrent(args: Sequence[Any], _out: Any) -> int:
    data, weights = args[0], next((a for a in args[2:] if isinstance(a, (list, tuple)) and a), ())
    return recurrent_macs(math.prod(data.shape[:-1]), weights)


def _trilinear(args: Sequence[Any], out: Any) -> int:
    return int(out.numel() * math.prod(args[1].shape[-2:])) if args[1].dim() >= 2 else 0


def _pairwise(args: Sequence[Any], _out: Any) -> int:
    return int(args[0].numel() * args[1].shape[-2])


MACS: Final[dict[str, Macs]] = {
    "mm": _mm, "bmm": _mm, "matmul": _mm, "_int_mm": _mm, "_scaled_mm": _mm, "addmm": _addmm, "addmm_": _addmm,
    "_addmm_activation": _addmm, "baddbmm": _addmm, "baddbmm_": _addmm, "addbmm": _addmm, "sspaddmm": _addmm,
    "mv": _mv, "dot": _mv, "vdot": _mv, "addmv": _addmv, "linear": _linear, "mkldnn_linear": _linear,
    "_weight_int8pack_mm": _linear, "_weight_norm_linear": _linear,
    "_grouped_mm": _grouped_mm, "_scaled_grouped_mm": _grouped_mm, "grouped_mm": _grouped_mm,
    "grouped_mm_fallback": _grouped_mm,
    "convolution": _convolution, "_convolution": _convolution, "convolution_overrideable": _convolution,
    "mkldnn_convolution": _convolution, "cudnn_convolution": _convolution, "_conv_depthwise2d": _convolution,
    "scaled_dot_product_attention": _sdpa, "_scaled_dot_product_flash_attention": _sdpa,
    "_scaled_dot_product_flash_attention_for_cpu": _sdpa, "_scaled_dot_product_efficient_attention": _sdpa,
    "_scaled_dot_product_cudnn_attention": _sdpa, "_scaled_dot_product_fused_attention_overrideable": _sdpa,
    "_scaled_dot_product_attention_math": _sdpa, "_scaled_dot_product_attention_math_for_mps": _sdpa,
    "_flash_attention_forward": _flash, "_efficient_attention_forward": _flash, "flex_attention": _sdpa,
    "_native_multi_head_attention": _native_attention, "_transformer_encoder_layer_fwd": _encoder_layer,
    "lstm": _recurrent, "gru": _recurrent, "rnn_tanh": _recurrent, "rnn_relu": _recurrent,
    "_trilinear": _trilinear, "_euclidean_dist": _pairwise, "_cdist_forward": _pairwise,
}  # fmt: skip
"""By the name of the operator, without namespace and overload. Embeddings, and all that is not here, count 0."""

__all__ = ["MACS", "Macs", "attention_macs", "native_attention_macs", "recurrent_macs"]
