"""Traced graphs of published models, made from their configurations alone."""

import gzip
import json
import math
from collections import Counter

import pytest
import torch

from tests.model import zoo
from trackio_like.model import ModelGraph, build_model_graph
from trackio_like.model.hf import load_meta_model


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def published(name, **changes):
    return load_meta_model({**zoo.CONFIGS[name], **changes})[0]


JOINS = {
    # residual additions of what is shown once, cross-attentions
    "bert": (2, 0),
    "gpt2": (2, 0),
    "llama-7b": (2, 0),
    "gemma2": (4, 0),
    "vit": (2, 0),
    "clip": (4, 0),
    "whisper": (5, 2),
    "t5-base": (10, 4),
    "mixtral-8x7b": (2, 0),
    "qwen2-moe": (2, 0),
    "deepseek-v3": (4, 0),
    "mamba": (1, 0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", JOINS)
def test_a_published_model(name):
    model = published(name)
    graph = build_model_graph(model, name, trace=True)
    assert graph.meta.trace_mode == "meta"
    assert not graph.meta.is_partial
    kinds = Counter(edge.kind for edge in graph.edges)
    assert (kinds["residual"], kinds["cross"]) == JOINS[name]
    outgoing, incoming = Counter(e.source for e in graph.edges), Counter(e.target for e in graph.edges)
    assert all(edge.source < edge.target for edge in graph.edges if edge.kind != "loop")
    assert all(incoming[at] for at, op in enumerate(graph.ops) if op.kind == "output")
    assert all(outgoing[at] for at, op in enumerate(graph.ops) if op.kind in ("combine", "router", "matmul"))
    document = json.dumps(graph.to_document())
    assert ModelGraph.from_document(json.loads(document)) == graph
    assert len(gzip.compress(document.encode())) < 8000


def test_llama_is_small_and_exact():
    graph = build_model_graph(published("llama-7b"), "llama", input_shape=(1, 64), trace=True)
    h, f, n, v, t = 4096, 11008, 32, 32000, 64
    macs = n * t * (4 * h * h + 3 * h * f + 2 * h * t) + t * v * h
    assert math.isclose(graph.meta.totals.flops, 2 * macs, rel_tol=0.01)
    assert graph.meta.totals.kv_bytes_per_token == n * 2 * h * 4
    assert len(gzip.compress(json.dumps(graph.to_document(), separators=(",", ":")).encode())) <= 4096
    assert (graph.meta.num_modules, len(graph.modules)) == (423, 20)
    assert graph.inputs[0].dims == ("B", "T")
    assert graph.outputs[0].dims == ("B", "T", "vocab_size")


def test_a_router_leads_to_its_experts():
    graph = build_model_graph(published("mixtral-8x7b"), trace=True)
    assert {edge.label for edge in graph.edges if edge.kind == "routing"} == {"top-2/8"}
    assert Counter(op.kind for op in graph.ops)["combine"] == 1
    flops = graph.meta.totals.flops
    h, f, n, v, t = 4096, 14336, 32, 32000, 256
    macs = n * t * (2 * h * h + 2 * h * 1024 + 2 * 3 * h * f + 8 * h + 2 * h * 128) + t * v * h
    assert math.isclose(flops, 2 * macs, rel_tol=0.01)


def test_sliding_and_full_attention_stay_apart():
    graph = build_model_graph(published("gemma2"), trace=True)
    layers = [module for module in graph.modules if module.class_name == "Gemma2DecoderLayer"]
    group = next(module for module in graph.modules if module.is_group)
    assert (len(layers), group.count, group.repeat.period) == (2, 13, 2)
    windows = {
        module.path: module.attrs.get("sliding_window") for module in graph.modules if "self_attn" in module.path
    }
    assert (windows["model.layers.0.self_attn"], windows["model.layers.1.self_attn"]) == ("4096", "None")


@pytest.mark.parametrize("use_cache", [False, True])
@pytest.mark.parametrize("name", ["gpt2", "llama-7b", "mixtral-8x7b", "t5-base"])
def test_with_and_without_a_cache_in_half_precision(name, use_cache):
    model = published(name, use_cache=use_cache).to(torch.bfloat16)
    graph = build_model_graph(model, trace=True)
    assert (graph.meta.trace_mode, graph.meta.is_partial) == ("meta", False)
    assert graph.modules[0].dtypes.keys() == {"bfloat16"}
    assert graph.modules[0].bits == 16
