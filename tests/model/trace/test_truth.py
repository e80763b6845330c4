"""Residuals, skips and crossings of networks that everybody knows, against what their papers draw."""

import pytest
import torch
from torch import nn

from tests.model.trace import language, vision
from tests.model.trace.look import check_sound, joins, kinds
from trackio_like.model.trace import trace_model


def traced(model, *args, **kwargs):
    trace = trace_model(model, args, kwargs)
    assert (trace.mode, trace.error) == ("meta", "")
    check_sound(trace)
    return trace


def test_a_plain_network_has_no_second_way():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    trace = traced(model, torch.zeros(3, 4))
    assert kinds(trace) == {}
    assert [op.kind for op in trace.ops] == ["input", "matmul", "act", "matmul", "output"]


def test_resnet_18_has_5_identities_and_3_projections():
    assert kinds(traced(vision.resnet18(), torch.zeros(1, 3, 64, 64))) == {"residual": 5, "projection": 3}


def test_resnet_50_has_12_identities_and_4_projections():
    assert kinds(traced(vision.resnet50(), torch.zeros(1, 3, 64, 64))) == {"residual": 12, "projection": 4}


def test_a_u_net_has_a_skip_at_each_level():
    assert kinds(traced(vision.UNet(), torch.zeros(1, 3, 32, 32))) == {"skip": 4}


@pytest.mark.parametrize(("num_encoders", "num_decoders"), [(6, 6), (4, 4), (1, 2)])
def test_a_transformer_adds_twice_in_encoders_and_three_times_in_decoders(num_encoders, num_decoders):
    model = nn.Transformer(32, 4, num_encoders, num_decoders, 64, batch_first=True)
    trace = traced(model, torch.zeros(2, 16, 32), torch.zeros(2, 12, 32))
    assert kinds(trace) == {"residual": 2 * num_encoders + 3 * num_decoders, "cross": num_decoders}


def test_a_norm_first_transformer_has_the_same_residuals():
    with pytest.warns(UserWarning, match="norm_first was True"):
        model = nn.Transformer(32, 4, 2, 2, 64, batch_first=True, norm_first=True)
    assert joins(traced(model, torch.zeros(2, 16, 32), torch.zeros(2, 12, 32)), "residual") == 10


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize(
    ("make", "num_residuals"),
    [(language.bert, 24), (language.gpt2, 24), (language.llama, 64)],
)
def test_language_models_add_twice_in_each_layer(make, num_residuals, attention):
    assert kinds(traced(make(attn_implementation=attention), **language.tokens())) == {"residual": num_residuals}


def test_a_vision_transformer_adds_twice_in_each_layer():
    assert kinds(traced(language.vit(), torch.zeros(1, 3, 224, 224))) == {"residual": 24}


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_mixtral_adds_twice_and_routes_once_in_each_layer(use_cache, dtype):
    model = language.mixtral(num_hidden_layers=4, dtype=dtype).to(getattr(torch, dtype))
    trace = traced(model, **language.tokens(), use_cache=use_cache)
    assert joins(trace, "residual") == 8
    assert {edge.label for edge in trace.edges if edge.kind == "routing"} == {"top-2/8"}
    assert [op.kind for op in trace.ops].count("router") == [op.kind for op in trace.ops].count("combine") == 4
    assert {op.dtype for op in trace.ops if op.kind == "matmul"} == {dtype}


def test_qwen3_moe_adds_96_times():
    trace = traced(language.qwen3_moe(), **language.tokens())
    assert joins(trace, "residual") == 96
    assert {edge.label for edge in trace.edges if edge.kind == "routing"} == {"top-8/128"}


def test_t5_adds_60_times_and_crosses_12_times():
    trace = traced(language.t5_base(), **language.tokens(), decoder_input_ids=torch.zeros(1, 32, dtype=torch.long))
    assert joins(trace, "residual") == 60
    crossed = {trace.ops[edge.target].module for edge in trace.edges if edge.kind == "cross"}
    assert crossed == {f"decoder.block.{n}.layer.1.EncDecAttention.{p}" for n in range(12) for p in "kv"}


def test_mamba_adds_once_in_each_layer_and_its_scan_is_a_loop():
    trace = traced(language.mamba(), **language.tokens())
    assert joins(trace, "residual") == 24
    assert joins(trace, "loop") == 24
    assert len(trace.ops) < 500
    assert {op.num_runs for op in trace.ops} == {1, 64}


def test_experts_chosen_in_groups_are_one_choice():
    sizes = {"hidden_size": 64, "intermediate_size": 64, "moe_intermediate_size": 32, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16}
    model = language.deepseek_v3(
        **sizes, **heads, n_routed_experts=16, n_group=4, topk_group=2, first_k_dense_replace=1
    )
    trace = traced(model, **language.tokens())
    assert joins(trace, "residual") == 4
    assert {edge.label for edge in trace.edges if edge.kind == "routing"} == {"top-8/16"}
    assert [op.kind for op in trace.ops].count("router") == 1
