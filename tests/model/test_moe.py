"""Mixtures of experts, told by their shapes."""

import torch
from torch import nn

from tests.model import zoo
from trackio_like.model import build_model_graph
from trackio_like.model.graph import Moe
from trackio_like.model.hf import load_meta_model


def mixtures(model):
    return {module.path: module.moe for module in build_model_graph(model).modules if module.moe is not None}


def test_listed_experts_with_k_on_the_block():
    expert = 16 * 32 + 32 + 32 * 16 + 16
    assert mixtures(zoo.MoeNet(num=6, k=2)) == {
        "moe": Moe(num_experts=6, top_k=2, router="moe.gate", experts="moe.experts", active_params=96 + 2 * expert)
    }


def test_stacked_experts_without_a_count():
    found = mixtures(nn.Sequential(zoo.FusedMoe(num=4)))["0"]
    assert (found.num_experts, found.top_k, found.num_shared) == (4, 2, 1)
    assert (found.router, found.experts) == ("0.router", "0.experts")
    assert found.active_params == 64 + 2 * (2 * 16 * 32) + 16 * 32 + 32 + 32 * 16 + 16


def test_published_ones():
    found = mixtures(load_meta_model(zoo.DEEPSEEK_V3)[0])
    assert list(found) == ["model.layers.3.mlp"]
    moe = found["model.layers.3.mlp"]
    assert (moe.num_experts, moe.top_k, moe.num_shared) == (256, 8, 1)
    assert (moe.router, moe.experts) == ("model.layers.3.mlp.gate", "model.layers.3.mlp.experts")
    moe = mixtures(load_meta_model(zoo.MIXTRAL)[0])["model.layers.0.mlp"]
    assert (moe.num_experts, moe.top_k, moe.num_shared) == (8, 2, 0)


def test_k_is_found_in_the_configuration():
    model = zoo.MoeNet(num=4)
    del model.moe.k
    model.config = {"num_experts_per_tok": 3}
    assert mixtures(model)["moe"].top_k == 3


def test_without_k_all_parameters_are_active():
    model = zoo.MoeNet(num=4)
    del model.moe.k
    graph = build_model_graph(model)
    assert graph.modules[2].moe.top_k == 0
    assert graph.meta.totals.active == graph.meta.totals.unique


def test_an_odd_expert_stays_beside_the_others():
    model = zoo.MoeNet(num=6)
    model.moe.experts[2] = zoo.Expert(16, 64)
    names = [module.name for module in build_model_graph(model).modules if module.path.startswith("moe.experts.")]
    assert [name for name in names if name[0].isdecimal()] == ["0..1,3..5", "2"]


def test_layers_beside_a_layer_of_as_many_outputs_are_no_mixture():
    model = nn.Module()
    model.layers = nn.ModuleList([zoo.Residual() for _ in range(10)])
    model.head = nn.Linear(8, 10)
    assert mixtures(model) == {}


def test_convolutions_are_no_stacked_experts():
    model = nn.Module()
    model.conv = nn.Conv1d(4, 4, 3)
    model.conv.num_experts = 4
    model.gate = nn.Linear(8, 4)
    model.top_k = 2
    assert mixtures(model) == {}


def test_heads_of_stacked_projections_are_no_experts():
    model = nn.Module()
    model.q, model.k = (nn.Parameter(torch.zeros(4, 8, 2)) for _ in range(2))
    model.out = nn.Linear(8, 8)
    assert mixtures(model) == {}


def test_a_static_graph_leads_from_the_router_through_the_experts():
    graph = build_model_graph(nn.Sequential(zoo.FusedMoe(num=4)))
    ways = [
        (graph.modules[graph.ops[e.source].module].path, graph.ops[e.target].kind, e.kind, e.label) for e in graph.edges
    ]
    assert ways == [
        ("0.router", "other", "routing", "top-2/4"),
        ("0.experts", "combine", "tensor", ""),
        ("0.shared_expert", "combine", "tensor", ""),
    ]
