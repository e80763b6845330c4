"""Parameters against counts by hand."""

import pytest
import torch
from torch import nn

from tests.model import zoo
from trackio_like.model import build_model_graph
from trackio_like.model.hf import load_meta_model


def totals(model):
    return build_model_graph(model).meta.totals


def published(name):
    return totals(load_meta_model(zoo.CONFIGS[name])[0])


def test_an_mlp():
    found = totals(zoo.mlp((10, 32, 32, 4)))
    assert found.unique == found.params == found.trainable == found.active == 10 * 32 + 32 + 32 * 32 + 32 + 32 * 4 + 4
    assert found.bytes == 4 * found.unique


@pytest.mark.parametrize(("net", "expected"), [(zoo.resnet18, 11_689_512), (zoo.resnet50, 25_557_032)])
def test_a_resnet(net, expected):
    with torch.device("meta"):
        model = net()
    assert totals(model).unique == expected


def test_a_unet():
    w = 8
    convs = [
        (3, w),
        *((w * 2**i, w * 2 ** (i + 1)) for i in range(4)),
        *((w * 2 ** (i + 1), w * 2**i) for i in range(4)),
    ]
    by_hand = sum(9 * a * b + b + 9 * b * b + b for a, b in convs)
    by_hand += sum(4 * w * 2 ** (i + 1) * w * 2**i + w * 2**i for i in range(4)) + 2 * w + 2
    assert totals(zoo.UNet(w)).unique == by_hand


def test_a_transformer():
    d, f, n = 64, 128, 3
    attention, mlp, norm = 4 * d * d + 4 * d, 2 * d * f + f + d, 2 * d
    by_hand = n * (attention + mlp + 2 * norm) + n * (2 * attention + mlp + 3 * norm) + 2 * norm
    model = nn.Transformer(d, 4, n, n, f, batch_first=True, device="meta")
    assert totals(model).unique == by_hand


def test_an_lstm():
    model = nn.LSTM(10, 20, num_layers=2, bidirectional=True)
    by_hand = 2 * (4 * 20 * (10 + 20) + 8 * 20) + 2 * (4 * 20 * (40 + 20) + 8 * 20)
    assert totals(model).unique == by_hand


def llama(h=4096, f=11008, n=32, v=32000, kv=4096):
    return 2 * v * h + n * (2 * h * h + 2 * h * kv + 3 * h * f + 2 * h) + h


def test_llama_7b():
    assert published("llama-7b").unique == llama() == 6_738_415_616


def test_gpt2_with_its_tied_head():
    h, v = 768, 50257
    layer = 12 * h * h + 13 * h
    found = published("gpt2")
    assert found.unique == v * h + 1024 * h + 12 * layer + 2 * h == 124_439_808
    assert found.params == found.unique + v * h


def test_bert_with_its_tied_head():
    h, v = 768, 30522
    embeddings = (v + 512 + 2) * h + 2 * h
    assert published("bert").unique == embeddings + 12 * (12 * h * h + 13 * h) + h * h + 3 * h + v


def test_gemma2():
    h, f, n, v, q, kv = 2304, 9216, 26, 256_000, 8 * 256, 4 * 256
    assert published("gemma2").unique == v * h + n * (2 * h * q + 2 * h * kv + 3 * h * f + 4 * h) + h


def test_vit():
    h = 768
    embeddings = 3 * 16 * 16 * h + h + h + 197 * h
    assert published("vit").unique == embeddings + 12 * (12 * h * h + 13 * h) + 2 * h + 1000 * h + 1000 == 86_567_656


def test_clip():
    t, i, p = 512, 768, 512
    text = (49408 + 77) * t + 12 * (12 * t * t + 13 * t) + 2 * t
    image = i + 3 * 32 * 32 * i + 50 * i + 12 * (12 * i * i + 13 * i) + 4 * i
    assert published("clip").unique == text + image + i * p + t * p + 1 == 151_277_313


def test_whisper():
    h = 384
    attention, mlp = 4 * h * h + 3 * h, 2 * h * 1536 + 1536 + h
    encoder = 3 * 80 * h + h + 3 * h * h + h + 1500 * h + 4 * (attention + mlp + 4 * h) + 2 * h
    decoder = (51865 + 448) * h + 4 * (2 * attention + mlp + 6 * h) + 2 * h
    found = published("whisper")
    assert found.unique == encoder + decoder == 37_760_640
    assert found.unique - found.trainable == 1500 * h  # its sinusoids are not trained


def test_t5_base():
    h, f, v = 768, 3072, 32128
    encoder = 12 * (4 * h * h + 2 * h * f + 2 * h) + 32 * 12 + h
    decoder = 12 * (8 * h * h + 2 * h * f + 3 * h) + 32 * 12 + h
    found = published("t5-base")
    assert found.unique == v * h + encoder + decoder == 222_903_552
    assert found.params == found.unique + 3 * v * h


def test_mixtral_8x7b():
    h, f, n, v = 4096, 14336, 32, 32000
    attention, expert = 2 * h * h + 2 * h * 1024, 3 * h * f
    found = published("mixtral-8x7b")
    assert found.unique == 2 * v * h + n * (attention + 8 * expert + 8 * h + 2 * h) + h == 46_702_792_704
    assert found.active == found.unique - n * 6 * expert


def test_qwen2_moe():
    h, n, v, expert, shared = 2048, 24, 151_936, 3 * 2048 * 1408, 3 * 2048 * 5632
    attention = 4 * h * h + 3 * h
    found = published("qwen2-moe")
    assert found.unique == 2 * v * h + n * (attention + 60 * expert + shared + h + 60 * h + 2 * h) + h
    assert found.active == found.unique - n * 56 * expert


def test_deepseek_v3():
    h, v, expert = 7168, 129_280, 3 * 7168 * 2048
    attention = h * 1536 + 1536 + 1536 * 128 * 192 + h * 576 + 512 + 512 * 128 * 256 + 128 * 128 * h
    dense, sparse = 3 * h * 18432, 256 * expert + expert + 256 * h
    found = published("deepseek-v3")
    assert found.unique == 2 * v * h + 61 * (attention + 2 * h) + 3 * dense + 58 * sparse + h == 671_026_404_352
    assert found.active == found.unique - 58 * 248 * expert


def test_mamba():
    h, e, v, n = 768, 1536, 50280, 4
    mixer = h * 2 * e + e * 4 + e + e * (48 + 32) + 48 * e + e + e * 16 + e + e * h
    assert published("mamba").unique == v * h + n * (mixer + h) + h


def test_a_mixture_of_listed_experts():
    found = totals(zoo.MoeNet(width=16, inner=32, num=6, k=2))
    expert = 16 * 32 + 32 + 32 * 16 + 16
    assert found.unique == 8 * 16 + 16 + 6 * 16 + 6 * expert + 16 * 3 + 3
    assert found.active == found.unique - 4 * expert


def test_a_tied_head_counts_once():
    found = totals(zoo.Tied(50, 8))
    assert (found.params, found.unique) == (400 + 72 + 400, 400 + 72)


def test_a_reused_layer_counts_once():
    found = totals(zoo.Reused())
    assert found.params == found.unique == 72 + 18


def test_views_of_one_buffer_count_each_and_overlapping_ones_once():
    flat = torch.zeros(30)
    model = nn.Module()
    model.a = nn.Parameter(flat[:10])
    model.b = nn.Parameter(flat[10:30].view(4, 5))
    assert totals(model).unique == 30
    model.c = nn.Parameter(flat[5:25])
    found = totals(model)
    assert (found.params, found.unique) == (50, 30)


def test_frozen_parts_are_told_apart():
    model = zoo.mlp((4, 4, 4))
    model[0].requires_grad_(requires_grad=False)
    assert totals(model).trainable == 20


def test_lazy_layers_count_nothing_and_do_not_fail():
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyBatchNorm1d(), nn.Linear(8, 2))
    graph = build_model_graph(model)
    assert graph.meta.totals.unique == 18
    assert [tensor.is_lazy for tensor in graph.modules[1].tensors] == [True, True]
    assert "no shape before the model has run" in graph.meta.notes[0]
