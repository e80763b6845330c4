"""What models are called with."""

import pytest
import torch
from torch import nn

from tests.model import zoo
from trackio_like.model.hf import load_meta_model
from trackio_like.model.inputs import checked_shapes, given_inputs, guessed_inputs, shaped_inputs


def shapes(inputs):
    return {name: tuple(value.shape) for name, value in inputs.kwargs.items()}


def config(name, **changes):
    return load_meta_model({**zoo.CONFIGS[name], **changes})[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama-7b", {"input_ids": (2, 128)}),
        ("vit", {"pixel_values": (2, 3, 224, 224)}),
        ("clip", {"input_ids": (2, 77), "pixel_values": (2, 3, 224, 224)}),
        ("whisper", {"input_features": (2, 80, 3000), "decoder_input_ids": (2, 128)}),
        ("t5-base", {"input_ids": (2, 128), "decoder_input_ids": (2, 128)}),
    ],
)
def test_published_models_say_what_they_take(name, expected):
    inputs = guessed_inputs(config(name))
    assert shapes(inputs) == expected
    for key, value in inputs.kwargs.items():
        assert value.dtype == (torch.int64 if key.endswith("ids") else torch.float32)
        assert value.device.type == "meta"


def test_a_shape_is_that_of_the_main_input():
    assert shapes(shaped_inputs(config("t5-base"), (3, 9))) == {"input_ids": (3, 9), "decoder_input_ids": (3, 9)}
    assert shapes(shaped_inputs(config("vit"), (1, 3, 32, 32))) == {"pixel_values": (1, 3, 32, 32)}


def test_a_shape_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="takes pixel_values of 4 dimensions"):
        shaped_inputs(config("vit"), (2, 128))


@pytest.mark.parametrize(
    ("model", "shape", "dtype"),
    [
        (nn.Sequential(nn.Linear(5, 2)), (2, 5), torch.float32),
        (nn.Sequential(nn.Linear(5, 2).double()), (2, 5), torch.float64),
        (nn.Sequential(nn.Conv1d(4, 2, 3)), (2, 4, 64), torch.float32),
        (nn.Sequential(nn.Conv3d(1, 2, 3)), (2, 1, 32, 32, 32), torch.float32),
        (nn.Sequential(nn.Embedding(9, 2)), (2, 16), torch.int64),
        (nn.LSTM(3, 4), (16, 2, 3), torch.float32),
        (nn.GRU(3, 4, batch_first=True), (2, 16, 3), torch.float32),
    ],
)
def test_the_first_layer_says_what_goes_in(model, shape, dtype):
    (found,) = guessed_inputs(model).args
    assert (tuple(found.shape), found.dtype) == (shape, dtype)


def test_a_transformer_takes_two_sequences():
    source, target = guessed_inputs(nn.Transformer(8, 2, 1, 1, 8, batch_first=True)).args
    assert (tuple(source.shape), tuple(target.shape)) == ((2, 16, 8), (2, 12, 8))


@pytest.mark.parametrize("model", [nn.ReLU(), nn.Sequential(nn.LayerNorm(4)), nn.Bilinear(2, 2, 2), nn.LazyLinear(3)])
def test_nothing_is_chosen_where_nothing_is_known(model):
    assert guessed_inputs(model) is None


def test_making_inputs_draws_from_no_generator_of_others():
    model = zoo.mlp()
    before = torch.get_rng_state()
    (first,), (second,) = (guessed_inputs(model).args for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, second)
    assert first.std() > 0


def test_given_inputs_are_taken_as_they_are():
    x, ids = torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64)
    assert given_inputs(x).args == (x,)
    assert given_inputs((x, ids)).args == (x, ids)
    assert given_inputs({"x": x}).kwargs == {"x": x}
    both = given_inputs(([x], {"ids": ids}))
    assert (both.args, dict(both.kwargs)) == ((x,), {"ids": ids})
    assert given_inputs(([x, ids],)).args == ([x, ids],)


def test_shapes_of_several_inputs():
    assert checked_shapes([(2, 3), [4]]) == [(2, 3), (4,)]
    assert checked_shapes(torch.Size([2, 3])) == [(2, 3)]
    assert [tuple(t.shape) for t in shaped_inputs(zoo.mlp(), [(2, 3), (4,)]).args] == [(2, 3), (4,)]
