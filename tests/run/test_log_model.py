"""`log_model`: modules, graphs and documents, and no failure reaches training."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest
import torch
from torch import nn

import trackio_like as trackio
from trackio_like.errors import TrackioLikeError, TrackioLikeWarning
from trackio_like.model import build_model_graph


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(root):
    with trackio.init("p") as run:
        yield run


@pytest.fixture
def model():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def graphs(run, name=None):
    return trackio.Api().run("p", run.id).graphs(name)


class Broken(nn.Module):
    """Cannot be run, in whatever way."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, *inputs):
        raise OSError(f"no disk for {len(inputs)} inputs")


def bits(model):
    return {name: tensor.numpy().tobytes() for name, tensor in model.state_dict().items()}


def test_a_model_is_stored_as_a_graph_that_says_what_flows(run, model):
    trackio.log({"a": 1.0}, step=7)
    trackio.log_model(model, input_shape=(2, 4), trace=True, meta={"commit": "abc"})
    [found] = graphs(run)
    assert (found.name, found.step, found.meta) == ("model", 7, {"commit": "abc"})
    assert (found.payload["params"], found.payload["trace_mode"], found.payload["num_nodes"]) == (58, "meta", 4)
    graph = found.load()
    assert [module.path for module in graph.modules] == ["", "0", "1", "2"]
    assert graph.modules[3].outputs[0].shape == (2, 2)
    assert found.media == f"media/7/{found.media.rsplit('/')[-1]}"


def test_without_a_trace_a_graph_is_static(run, model):
    trackio.log_model(model, "net", step=-3)
    [found] = graphs(run, "net")
    assert (found.step, found.payload["trace_mode"]) == (-3, "static")
    assert graphs(run, "other") == []


def test_examples_may_be_a_dict(run):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 2)

        def forward(self, left, right):
            return self.a(left) + right

    run.log_model(Two(), example_inputs={"left": torch.zeros(1, 3), "right": torch.zeros(1, 2)}, trace=True)
    [found] = graphs(run)
    assert [port.name for port in found.load().inputs] == ["left", "right"]


@pytest.mark.parametrize("make", [lambda graph: graph, lambda graph: json.loads(json.dumps(graph.to_document()))])
def test_a_graph_or_its_document_is_stored_in_place_of_a_model(run, model, make):
    graph = build_model_graph(model, "old name", (2, 4), trace=True)
    run.log_model(make(graph), name="new name")
    [found] = graphs(run)
    assert found.load().meta.name == "new name"
    assert found.load().modules == graph.modules


def test_the_model_is_left_as_it_is(run, model):
    model[1].train(False)
    before = bits(model), [module.training for module in model.modules()], torch.get_rng_state()
    run.log_model(model, input_shape=(2, 4), trace=True)
    assert (bits(model), [module.training for module in model.modules()]) == before[:2]
    assert torch.equal(torch.get_rng_state(), before[2])


@pytest.mark.parametrize(
    ("arguments", "options", "reason"),
    [
        ((3,), {}, "of a torch.nn.Module, not of a int"),
        (({"no": "graph"},), {}, "no model graph of format 2"),
        ((nn.Linear(1, 1), ""), {}, "name='' is not a name"),
        ((nn.Linear(1, 1),), {"meta": [1]}, "meta= is a list"),
        ((nn.Linear(1, 1),), {"input_shape": (1, 1), "example_inputs": torch.zeros(1, 1)}, "not both"),
    ],
)
def test_what_cannot_be_drawn_costs_one_warning(run, arguments, options, reason):
    with pytest.warns(TrackioLikeWarning, match=reason):
        run.log_model(*arguments, **options)
    assert graphs(run) == []
    trackio.log({"a": 1.0})
    assert trackio.Api().run("p", run.id).history("a").num_rows == 1


def test_a_model_that_cannot_be_traced_is_stored_with_what_is_known_of_it(run):
    with pytest.warns(TrackioLikeWarning, match="was stored without a trace: .*Pass input_shape="):
        run.log_model(nn.Identity(), trace=True)
    [found] = graphs(run)
    assert found.payload["trace_mode"] == "static"


def test_a_forward_that_fails_stores_a_partial_graph(run):
    run.log_model(Broken(), input_shape=(1, 4), trace=True)
    [found] = graphs(run)
    assert found.payload["is_partial"] or found.payload["trace_mode"] == "static"
    assert found.payload["params"] == 20


def test_strict_raises(root, monkeypatch):
    monkeypatch.setenv("TRACKIO_STRICT", "1")
    with trackio.init("p") as run, pytest.raises(TrackioLikeError, match=r"torch\.nn\.Module"):
        run.log_model("no model")


def test_the_function_takes_what_the_method_takes():
    method = list(inspect.signature(trackio.Run.log_model).parameters)
    assert list(inspect.signature(trackio.log_model).parameters) == method[1:]


def test_without_torch_one_line_says_what_to_install(root):
    code = """
import sys, warnings
sys.modules["torch"] = None
import trackio_like as t
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    with t.init("p") as run:
        run.log_model(object())
        run.log_model(object())
print([str(item.message) for item in found])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.count("pip install 'trackio-like[torch]'") == 1
