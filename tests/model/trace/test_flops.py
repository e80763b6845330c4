"""The registry of formulas, for kernels that no CPU has: by the shapes that they take."""

import pytest
import torch

from trackio_like.model.trace.flops import MACS
from trackio_like.model.trace.operators import kind_of, operator


def meta(*shape):
    return torch.empty(shape, device="meta")


B, H, Q, K, D = 2, 4, 6, 10, 8
PRODUCTS = B * H * Q * K * 2 * D


@pytest.mark.parametrize(
    "name",
    [
        "scaled_dot_product_attention", "_scaled_dot_product_flash_attention", "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_attention_math", "flex_attention",
    ],
)  # fmt: skip
def test_attention_with_heads_first(name):
    assert MACS[name]((meta(B, H, Q, D), meta(B, H, K, D), meta(B, H, K, D)), None) == PRODUCTS
    assert kind_of(name) == "attention"


@pytest.mark.parametrize("name", ["_flash_attention_forward", "_efficient_attention_forward"])
def test_attention_with_heads_last(name):
    assert MACS[name]((meta(B, Q, H, D), meta(B, K, H, D), meta(B, K, H, D)), None) == PRODUCTS


@pytest.mark.parametrize(
    ("name", "args", "out", "expected"),
    [
        ("mm", (meta(3, 4), meta(4, 5)), None, 60),
        ("bmm", (meta(2, 3, 4), meta(2, 4, 5)), None, 120),
        ("addmm", (meta(5), meta(3, 4), meta(4, 5)), None, 60),
        ("baddbmm", (meta(2, 3, 5), meta(2, 3, 4), meta(2, 4, 5)), None, 120),
        ("mv", (meta(3, 4), meta(4)), None, 12),
        ("addmv", (meta(3), meta(3, 4), meta(4)), None, 12),
        ("dot", (meta(7), meta(7)), None, 7),
        ("linear", (meta(2, 3, 4), meta(5, 4)), None, 120),
        ("_scaled_mm", (meta(3, 4), meta(4, 5)), None, 60),
        ("_grouped_mm", (meta(6, 4), meta(3, 4, 5)), meta(6, 5), 120),
        ("_grouped_mm", (meta(3, 6, 4), meta(3, 4, 5)), meta(3, 6, 5), 360),
        ("_grouped_mm", (meta(6, 4), meta(4, 5)), meta(3, 6, 5), 120),
        ("grouped_mm_fallback", (meta(6, 4), meta(3, 4, 5)), meta(6, 5), 120),
        ("_cdist_forward", (meta(2, 3, 4), meta(2, 5, 4)), None, 120),
        ("convolution", (meta(1, 4, 8, 8), meta(6, 2, 3, 3)), meta(1, 6, 6, 6), 6 * 36 * 18),
    ],
)
def test_products(name, args, out, expected):
    assert MACS[name](args, out) == expected


def test_native_multi_head_attention_has_its_projections():
    found = MACS["_native_multi_head_attention"]((meta(B, Q, 32), meta(B, Q, 32), meta(B, Q, 32), 32, 4), None)
    assert found == B * Q * 4 * 32 * 32 + B * Q * Q * 2 * 32


def test_a_fused_encoder_layer_has_its_mlp():
    args = (meta(B, Q, 32), 32, 4, *[None] * 11, meta(64, 32))
    expected = B * Q * 4 * 32 * 32 + B * Q * Q * 2 * 32 + B * Q * 2 * 32 * 64
    assert MACS["_transformer_encoder_layer_fwd"](args, None) == expected


def test_every_formula_belongs_to_an_operation_of_a_kind():
    assert {kind_of(name) for name in MACS} == {"matmul", "conv", "attention", "loop"}


def test_what_an_operator_writes_is_read_off_its_schema():
    assert operator(torch.ops.aten.add_.Tensor).written == (0,)
    assert operator(torch.ops.aten.add.out).written_names == ("out",)
    assert operator(torch.ops.aten.add.Tensor).written == ()
    assert operator(torch.ops.aten.view.default).is_view
    assert not operator(torch.ops.aten.mm.default).is_view
