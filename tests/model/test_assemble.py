"""`build_model_graph`: what it gives, what it refuses, and that the model stays as it was."""

import json
import subprocess
import sys

import pytest
import torch
from torch import nn

import trackio_like.model
from tests.model import zoo
from trackio_like.model import ModelGraph, build_model_graph
from trackio_like.module_state.keeping import checksum


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


MODELS = {
    "mlp": (zoo.mlp, (3, 10)),
    "resnet18": (zoo.resnet18, (1, 3, 32, 32)),
    "unet": (zoo.UNet, (1, 3, 32, 32)),
    "moe": (zoo.MoeNet, (4, 8)),
    "fused": (zoo.FusedMoe, (4, 16)),
    "reused": (zoo.Reused, (4, 8)),
    "tied": (zoo.Tied, (4, 8)),
    "dynamic": (zoo.Dynamic, (4, 8)),
    "fails": (zoo.Fails, (4, 8)),
    "lstm": (lambda: nn.LSTM(8, 8, 2), (5, 4, 8)),
    "lazy": (lambda: nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3)), (5, 4)),
    "wrong input": (zoo.mlp, (3, 11)),
}


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_gives_a_graph_and_stays_as_it_was(name, trace):
    make, shape = MODELS[name]
    model = make().train()
    before = checksum(model), torch.get_rng_state(), [dict(part.__dict__) for part in model.modules()]
    graph = build_model_graph(model, name, shape, trace)
    assert checksum(model) == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    for part, attributes in zip(model.modules(), before[2], strict=True):
        assert part.__dict__.keys() == attributes.keys()
    assert graph.meta.name == name
    assert ModelGraph.from_document(json.loads(json.dumps(graph.to_document()))) == graph
    assert graph.summary_text().count("\n") > len(graph.modules)


def test_the_next_step_of_training_is_the_same():
    def step(is_watched):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
        if is_watched:
            build_model_graph(model, input_shape=(4, 8), trace=True)
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        return loss, [parameter.grad for parameter in model.parameters()], list(model.buffers())

    (loss, grads, buffers), (other_loss, other_grads, other_buffers) = step(is_watched=False), step(is_watched=True)
    assert torch.equal(loss, other_loss)
    assert all(torch.equal(a, b) for a, b in zip(grads, other_grads, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(buffers, other_buffers, strict=True))


def test_a_failure_keeps_the_part_that_ran():
    graph = build_model_graph(zoo.Fails(), input_shape=(4, 8), trace=True)
    assert (graph.meta.is_partial, graph.meta.failed_at) == (True, "second")
    assert [module.path for module in graph.modules if module.is_failed] == ["second"]
    assert "addmm" in [op.name for op in graph.ops]
    assert any("The trace ended in second" in note for note in graph.meta.notes)


def test_without_inputs_it_says_what_to_pass():
    graph = build_model_graph(zoo.Stack([nn.Bilinear(2, 2, 2)]).blocks, trace=True)
    assert graph.meta.trace_mode == "static"
    assert "Pass input_shape or example_inputs" in graph.meta.notes[-1]


def test_inputs_are_chosen_where_the_model_says_what_it_takes():
    graph = build_model_graph(zoo.resnet18(), trace=True)
    assert graph.inputs[0].shape == (2, 3, 64, 64)
    assert "chosen by the first layer" in graph.meta.notes[0]


def test_sizes_have_names():
    graph = build_model_graph(zoo.mlp((10, 32, 4)), input_shape=(3, 10), trace=True)
    assert graph.meta.dims == {"B": 3}
    layer = graph.modules[1]
    assert layer.inputs[0].dims == ("B", "in_features")
    assert layer.outputs[0].dims == ("B", "out_features")


def test_more_inputs_by_name():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Embedding(7, 4)

        def forward(self, x, *, ids):
            return self.a(x) + self.b(ids)

    inputs = ((torch.zeros(2, 4),), {"ids": torch.zeros(2, dtype=torch.int64)})
    graph = build_model_graph(Two(), trace=True, example_inputs=inputs)
    assert [port.name for port in graph.inputs] == ["x", "ids"]
    assert not graph.meta.is_partial


def test_wrappers_are_taken_off():
    model = zoo.mlp()
    assert build_model_graph(nn.DataParallel(model)).modules == build_model_graph(model).modules
    assert build_model_graph(torch.compile(model, backend="eager")).modules == build_model_graph(model).modules


def test_parametrised_layers_show_as_what_they_are():
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), nn.ReLU())
    graph = build_model_graph(model, input_shape=(2, 4), trace=True)
    layer = graph.modules[1]
    assert (layer.class_name, layer.kind) == ("Linear", "linear")
    assert layer.attrs["parametrizations"] == "weight: _WeightNorm"
    assert {tensor.name for tensor in layer.tensors} == {
        "bias", "parametrizations.weight.original0", "parametrizations.weight.original1",
    }  # fmt: skip
    assert (layer.params.unique, graph.meta.num_modules, len(graph.modules)) == (3 + 3 + 12, 3, 3)
    assert graph.meta.totals.flops == 2 * 2 * 4 * 3


@pytest.mark.parametrize("shape", [(), (0, 3), "32", (2, "x"), 5, (2.0, 3)])
def test_what_is_no_shape_is_refused(shape):
    with pytest.raises(ValueError, match="is no shape"):
        build_model_graph(zoo.mlp(), input_shape=shape)


def test_other_bad_arguments_are_refused():
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        build_model_graph("a model")
    with pytest.raises(ValueError, match="not both"):
        build_model_graph(zoo.mlp(), input_shape=(1, 10), example_inputs=torch.zeros(1, 10))
    with pytest.raises(ValueError, match="without a tensor"):
        build_model_graph(zoo.mlp(), example_inputs=[1, 2])
    with pytest.raises(ValueError, match="more than 0 seconds"):
        build_model_graph(zoo.mlp(), time_limit_s=0)


def test_a_model_that_prints_nothing_useful_still_has_a_graph():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def extra_repr(self):
            raise RuntimeError("not now")

    assert build_model_graph(Odd()).modules[0].attrs == {}


def test_a_model_within_itself_still_has_a_graph():
    model = zoo.mlp()
    model[1].inner = model
    graph = build_model_graph(model)
    assert graph.meta.totals.unique == 352 + 1056 + 132


def test_a_configuration_that_says_nonsense_is_no_reason_to_fail():
    model = zoo.mlp()

    class Config:
        model_type = "own"

        @property
        def text_config(self):
            raise RuntimeError("not here")

    model.config, model.main_input_name = Config(), "input_ids"
    graph = build_model_graph(model, trace=True)
    assert graph.meta.notes[-1] == "It was not traced: its inputs could not be made: RuntimeError: not here"


def test_a_forward_that_breaks_anything_still_gives_a_graph():
    class Breaks(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, _x):
            raise SystemExit(3)

    graph = build_model_graph(Breaks(), input_shape=(1, 2), trace=True)
    assert len(graph.modules) == 2
    assert "SystemExit" in " ".join([*graph.meta.notes, *(rung.error for rung in graph.meta.rungs)])


def test_without_torch_it_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import trackio_like.model\n"
        "assert 'build_model_graph' in dir(trackio_like.model)\n"
        "try:\n    trackio_like.model.build_model_graph\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "To build a model graph, install torch: pip install 'trackio-like[torch]'.\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        trackio_like.model.nothing  # noqa: B018


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_torchscript_is_read_traced_and_still_works():
    model = torch.jit.script(zoo.mlp((4, 4, 2)))
    x = torch.randn(3, 4)
    before, expected = checksum(model), model(x)
    graph = build_model_graph(model, input_shape=(2, 4), trace=True)
    assert checksum(model) == before
    assert torch.equal(model(x), expected)
    assert [module.class_name for module in graph.modules] == ["Sequential", "Linear", "ReLU", "Linear"]
    assert [op.name for op in graph.ops] == ["input", "addmm", "relu", "addmm", "output"]
    assert graph.meta.totals.flops == 2 * 2 * (16 + 8)


def test_a_model_that_cannot_be_read_is_one_module_with_the_reason():
    class Closed(nn.Linear):
        def __getattr__(self, name):
            raise RuntimeError(f"no {name}")

        @property
        def __dict__(self):
            raise RuntimeError("closed")

    graph = build_model_graph(Closed.__new__(Closed), trace=True, input_shape=(2, 2))
    assert [module.class_name for module in graph.modules] == ["Closed"]
    assert "could not be read: RuntimeError" in graph.meta.notes[0]
