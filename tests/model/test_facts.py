"""What modules tell about themselves: attributes, tensors, sizes."""

import pytest
import torch
from torch import nn

from tests.model import zoo
from trackio_like.model import build_model_graph
from trackio_like.model.dims import named_module
from trackio_like.model.facts import attributes, identity, parsed
from trackio_like.model.graph import Module, TensorIO


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.Linear(3, 4, bias=False), {"in_features": "3", "out_features": "4", "bias": "False"}),
        (nn.Embedding(5, 6), {"num_embeddings": "5", "embedding_dim": "6"}),
        (nn.LayerNorm((3, 4)), {"normalized_shape": "(3, 4)", "eps": "1e-05", "elementwise_affine": "True"}),
        (nn.Conv2d(3, 8, 3, 2), {"in_channels": "3", "out_channels": "8", "kernel_size": "(3, 3)", "stride": "(2, 2)"}),
        (nn.GRU(3, 4, num_layers=2), {"input_size": "3", "hidden_size": "4", "num_layers": "2"}),
    ],
)
def test_what_a_module_prints_is_named(module, expected):
    found = attributes(module)
    assert {name: found.get(name) for name in expected} == expected


def test_attention_of_torch_says_what_it_prints_nowhere():
    found = attributes(nn.MultiheadAttention(8, 2))
    assert (found["embed_dim"], found["num_heads"]) == ("8", "2")


def test_odd_texts_are_read_as_far_as_they_go():
    assert parsed(nn.Linear, "a=(1, 2), b=[x, y=3],,  3\nc = 4") == {
        "a": "(1, 2)",
        "b": "[x, y=3]",
        "in_features": "3",
        "c": "4",
    }


def test_numbers_identify_nothing_and_other_attributes_do():
    def text(**options):
        module = zoo.Residual(**options)
        return identity(module, "")

    assert text(layer_idx=1)[0] == text(layer_idx=2)[0]
    assert text(layer_idx=1)[1] == {"layer_idx": 1}
    assert text(window=1)[0] != text(window=2)[0]


def test_names_with_numbers_and_rates_that_grow_identify_nothing():
    def text(name, rate):
        module = nn.Module()
        module.layer_name, module.drop_prob = name, rate
        return identity(module, f"p={rate}")[0]

    assert text("layers.3.attn", 0.1) == text("layers.14.attn", 0.25)
    assert text("layers.3.attn", 0.1) != text("layers.3.mlp", 0.1)


def test_functions_tell_modules_apart():
    def fingerprint(act):
        layer = nn.TransformerEncoderLayer(8, 2, 8, activation=act)
        return build_model_graph(layer).meta.fingerprint

    assert fingerprint("relu") != fingerprint("gelu")


def test_a_fingerprint_is_the_same_in_every_process():
    assert build_model_graph(nn.Linear(3, 4)).meta.fingerprint == build_model_graph(nn.Linear(3, 4)).meta.fingerprint
    assert build_model_graph(nn.Linear(3, 4)).meta.fingerprint == "3d226e010427f424"


def test_dtypes_and_bits():
    model = nn.Sequential(nn.Linear(4, 8).to(torch.bfloat16), nn.LayerNorm(8))
    graph = build_model_graph(model)
    assert graph.modules[0].dtypes == {"bfloat16": 40, "float32": 16}
    assert (graph.modules[0].bits, graph.modules[0].params.bytes) == (16, 80 + 64)


class Packed(nn.Module):
    """Weights of four bits, eight in an int32, as packages for quantised models keep them."""

    def __init__(self):
        super().__init__()
        self.in_features, self.out_features, self.bits = 64, 16, 4
        self.register_buffer("qweight", torch.zeros(8, 16, dtype=torch.int32))
        self.register_buffer("scales", torch.zeros(1, 16, dtype=torch.float16))


def test_packed_weights_count_as_the_numbers_that_they_hold():
    graph = build_model_graph(nn.Sequential(Packed(), nn.ReLU()))
    layer = graph.modules[1]
    assert (layer.params.unique, layer.params.bytes, layer.params.trainable) == (64 * 16, 512, 0)
    assert (layer.bits, layer.kind, layer.num_buffers) == (4, "linear", 16)


class FourBits(nn.Parameter):
    """As bitsandbytes has them: bytes, and the shape that they stand for."""

    class State:
        shape = torch.Size([16, 64])

    quant_state = State()


def test_weights_that_know_their_shape_count_by_it():
    layer = nn.Linear(64, 16, bias=False)
    layer.weight = FourBits(torch.zeros(512, 1, dtype=torch.uint8), requires_grad=False)
    graph = build_model_graph(nn.Sequential(layer))
    assert (graph.meta.totals.unique, graph.meta.totals.bytes, graph.modules[1].bits) == (1024, 512, 4)
    assert graph.modules[1].tensors[0].shape == (16, 64)


def test_eight_bit_floats():
    layer = nn.Linear(4, 4, bias=False)
    layer.weight = nn.Parameter(torch.zeros(4, 4).to(torch.float8_e4m3fn), requires_grad=False)
    graph = build_model_graph(layer)
    assert (graph.modules[0].bits, graph.meta.totals.unique, graph.meta.totals.bytes) == (8, 16, 16)


def test_buffers_are_listed_but_are_no_parameters():
    graph = build_model_graph(nn.BatchNorm1d(4))
    buffers = [tensor.name for tensor in graph.modules[0].tensors if tensor.is_buffer]
    assert buffers == ["running_mean", "running_var", "num_batches_tracked"]
    assert (graph.modules[0].num_buffers, graph.meta.totals.unique) == (9, 8)


def test_a_tied_tensor_names_the_first():
    graph = build_model_graph(zoo.Tied())
    assert [tensor.tied_to for module in graph.modules for tensor in module.tensors] == ["", "", "", "embed.weight"]


def test_sizes_are_named_by_the_layer_then_by_the_configuration():
    module = Module(
        path="fc", name="fc", class_name="Linear", kind="linear", parent=0,
        attrs={"in_features": "8", "out_features": "8", "bias": "True"},
        inputs=(TensorIO(shape=(2, 7, 8), dtype="float32", dims=("B", "", "")),),
        outputs=(TensorIO(shape=(2, 7, 8), dtype="float32"),),
    )  # fmt: skip
    found = named_module(module, {7: "num_labels", 8: "hidden_size"})
    assert found.inputs[0].dims == ("B", "num_labels", "in_features")
    assert found.outputs[0].dims == ("", "num_labels", "out_features")
