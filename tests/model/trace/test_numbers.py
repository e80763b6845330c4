"""FLOPs and bytes against formulas written out by hand."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.model.trace import language, vision
from trackio_like.model.trace import trace_model


def giga(model, *args, **kwargs):
    return macs(model, *args, **kwargs) * 2 / 1e9


def macs(model, *args, **kwargs):
    return trace_model(model, args, kwargs, names_dims=False).macs


def test_llama_7b():
    attention, mlp = 4 * 4096 * 4096, 3 * 4096 * 11008
    by_hand = 64 * (32 * (attention + mlp) + 32000 * 4096) + 32 * 2 * 64 * 64 * 4096
    assert giga(language.llama(), **language.tokens()) == pytest.approx(2 * by_hand / 1e9, rel=1e-9)
    assert 2 * by_hand / 1e9 == pytest.approx(847.9, abs=0.1)


def test_gpt2():
    by_hand = 64 * (12 * 12 * 768 * 768 + 50257 * 768) + 12 * 2 * 64 * 64 * 768
    assert giga(language.gpt2(), **language.tokens()) == pytest.approx(2 * by_hand / 1e9, rel=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_mixtral_counts_the_experts_that_a_token_meets(dtype):
    attention, expert, gate = 2 * 4096 * 4096 + 2 * 4096 * 1024, 3 * 4096 * 14336, 4096 * 8
    by_hand = 64 * (32 * (attention + 2 * expert + gate) + 32000 * 4096) + 32 * 2 * 64 * 64 * 4096
    model = language.mixtral().to(getattr(torch, dtype))
    assert giga(model, **language.tokens()) == pytest.approx(2 * by_hand / 1e9, rel=1e-9)
    assert 2 * by_hand / 1e9 == pytest.approx(1632, rel=0.01)


def test_a_transformer_with_two_inputs():
    model = nn.Transformer(256, 4, 4, 4, 1024, batch_first=True)
    source, target, width, hidden = 2 * 16, 2 * 12, 256, 1024
    encoder = source * (4 * width * width + 2 * width * hidden) + source * 16 * 2 * width
    own = target * 4 * width * width + target * 12 * 2 * width
    cross = (2 * target + 2 * source) * width * width + target * 16 * 2 * width
    by_hand = 4 * (encoder + own + cross + target * 2 * width * hidden)
    found = giga(model, torch.zeros(2, 16, 256), torch.zeros(2, 12, 256))
    assert found == pytest.approx(2 * by_hand / 1e9, rel=1e-9)
    assert found == pytest.approx(0.416, abs=0.001)


def test_resnets():
    image = torch.zeros(1, 3, 224, 224)
    assert giga(vision.resnet18(), image) == pytest.approx(2 * 1.814, rel=0.01)
    assert giga(vision.resnet50(), image) == pytest.approx(2 * 4.09, rel=0.01)


def test_grouped_and_transposed_convolutions():
    x = torch.zeros(2, 8, 10, 10)
    assert macs(nn.Conv2d(8, 12, 3, padding=1, groups=4), x) == (2 * 12 * 100) * (2 * 9)
    assert macs(nn.ConvTranspose2d(8, 12, 2, 2), x) == (2 * 8 * 100) * (12 * 4)
    assert macs(nn.Conv1d(8, 8, 3, groups=8), torch.zeros(1, 8, 12)) == (8 * 10) * 3


@pytest.mark.parametrize(("kind", "num_gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_recurrent_networks_count_every_step(kind, num_gates):
    model = kind(16, 32, num_layers=2, bidirectional=True, batch_first=True)
    by_hand = 2 * 10 * 2 * num_gates * (32 * (16 + 32) + 32 * (64 + 32))
    trace = trace_model(model, (torch.zeros(2, 10, 16),))
    assert trace.macs == by_hand
    assert [op.kind for op in trace.ops if op.kind not in ("input", "output")] == ["loop"]
    assert trace.outputs[0].shape == (2, 10, 64)


class Products(nn.Module):
    def forward(self, a, b, c):
        return (
            torch.einsum("bij,bjk->bik", a, b)
            + torch.matmul(a, b)
            + torch.baddbmm(c, a, b)
            + torch.stack([torch.addmm(each, left, right) for each, left, right in zip(c, a, b, strict=True)])
        )


def test_products_in_every_form():
    a, b, c = torch.zeros(3, 4, 5), torch.zeros(3, 5, 6), torch.zeros(3, 4, 6)
    assert trace_model(Products(), (a, b, c)).macs == 4 * 3 * 4 * 5 * 6


class Attention(nn.Module):
    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, is_causal=True)


def test_attention_with_fewer_heads_of_keys():
    q, k, v = torch.zeros(2, 8, 10, 16), torch.zeros(2, 2, 10, 16), torch.zeros(2, 2, 10, 24)
    trace = trace_model(Attention(), (q, k, v))
    assert trace.macs == 2 * 8 * 10 * 10 * (16 + 24)
    assert trace.outputs[0].shape == (2, 8, 10, 24)
    assert trace.kv_bytes == {"": 2 * (16 + 24) * 4}


def test_embeddings_and_norms_count_nothing():
    model = nn.Sequential(nn.Embedding(100, 8), nn.LayerNorm(8), nn.GELU())
    assert trace_model(model, (torch.zeros(2, 3, dtype=torch.long),)).flops == 0


def test_numbers_of_a_module_are_of_all_that_ran_in_it():
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2))
    trace = trace_model(model, (torch.zeros(3, 4),))
    assert {path: calls[0].macs for path, calls in trace.calls.items()} == {
        "": 3 * 4 * 8 + 3 * 8 * 2, "0": 96, "0.0": 96, "0.1": 0, "1": 48,
    }  # fmt: skip
    assert trace.calls["0"][0].out_bytes == 3 * 8 * 4
    assert [trace.ops[i].name for i in range(trace.calls["0"][0].first_op, trace.calls["0"][0].end_op)] == [
        "addmm",
        "relu",
    ]


def test_peak_is_what_was_alive_at_once():
    model = nn.Sequential(*[nn.Linear(1000, 1000) for _ in range(6)])
    trace = trace_model(model, (torch.zeros(1, 1000),))
    assert trace.activation_bytes == 6 * 4000
    assert trace.peak_bytes == 2 * 4000
    assert trace.calls["3"][0].peak_bytes == 4000


def test_what_is_kept_stays_alive():
    assert trace_model(vision.UNet(), (torch.zeros(1, 3, 32, 32),)).peak_bytes >= 4 * (8 + 16 // 4 + 32 // 16) * 32 * 32


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_cache_takes_keys_and_values_of_each_head_of_keys(attention):
    llama = language.llama(num_key_value_heads=8, attn_implementation=attention)
    gpt2 = language.gpt2(attn_implementation=attention)
    bert = language.bert(attn_implementation=attention)
    assert sum(trace_model(llama, (), language.tokens()).kv_bytes.values()) == 32 * 2 * 8 * 128 * 4
    assert sum(trace_model(llama.to(torch.bfloat16), (), language.tokens()).kv_bytes.values()) == 32 * 2 * 8 * 128 * 2
    assert sum(trace_model(gpt2, (), language.tokens()).kv_bytes.values()) == 12 * 2 * 768 * 4
    assert trace_model(bert, (), language.tokens()).kv_bytes == {}
