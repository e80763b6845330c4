"""Sizes get names from a second pass, and only where they are sure."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.model.trace import language, vision
from trackio_like.model.trace import trace_model
from trackio_like.model.trace.sizes import Shape, name_of, plan

NAMES = {"B": (2, 3), "T": (64, 61), "T2": (20, 15)}


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (2, 3, "B"), (64, 61, "T"), (20, 15, "T2"), (128, 183, "B*T"), (40, 45, "B*T2"), (65, 62, "T+1"),
        (63, 60, "T-1"), (16, 24, "8*B"), (32, 31, "T/2"), (512, 488, "8*T"), (512, 732, "4*B*T"), (7, 7, ""),
        (7, 12, ""),
    ],
)  # fmt: skip
def test_a_size_is_named_by_what_it_was_twice(first, second, name):
    assert name_of(first, second, NAMES) == name


@given(st.integers(1, 10**6))
def test_a_size_that_stays_has_no_name(size):
    assert name_of(size, size, NAMES) == ""


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 5000), st.integers(1, 5000))
def test_a_name_says_what_both_sizes_are(batch, factor, first, second):
    names = {"B": (batch, batch + 1), "T": (first, first + 3)}
    assert name_of(batch * factor, (batch + 1) * factor, names) in ("B", f"{factor}*B", "T") or first == batch * factor
    name = name_of(first, second, names)
    assert name == "" or first != second


@given(
    st.lists(
        st.builds(Shape, sizes=st.lists(st.integers(1, 99), max_size=5).map(tuple), is_float=st.booleans()), max_size=4
    ),
    st.booleans(),
    st.sampled_from(["all", "indices", "none"]),
)
def test_a_plan_changes_what_it_names_and_nothing_else(inputs, is_batch_first, sequences):
    planned = plan(inputs, is_batch_first=is_batch_first, sequences=sequences)
    if planned is None:
        return
    for shape, sizes, dims in zip(inputs, planned.shapes, planned.dims, strict=True):
        for before, after, name in zip(shape.sizes, sizes, dims, strict=True):
            assert (before, after) == (planned.names[name] if name else (before, before))
            assert after > 0


def dims_of(trace, path):
    return [tensor.dims for tensor in trace.calls[path][0].outputs]


def test_batch_and_sequence_of_a_language_model():
    trace = trace_model(language.llama(num_hidden_layers=3, vocab_size=100), (), language.tokens(2, 32))
    assert trace.dims == {"B": 2, "T": 32}
    assert trace.inputs[0].dims == ("B", "T")
    assert trace.outputs[0].dims == ("B", "T", "")
    for layer in range(3):
        assert dims_of(trace, f"model.layers.{layer}.mlp.act_fn") == [("B", "T", "")]


def test_a_batch_and_a_sequence_of_one_length_are_told_apart():
    trace = trace_model(nn.Embedding(10, 4), (torch.zeros(6, 6, dtype=torch.long),))
    assert trace.outputs[0].dims == ("B", "T", "")


def test_two_sequences_have_two_names():
    model = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)
    trace = trace_model(model, (torch.zeros(2, 16, 32), torch.zeros(2, 12, 32)))
    assert trace.dims == {"B": 2, "T": 16, "T2": 12}
    assert dims_of(trace, "encoder") == [("B", "T", "")]
    assert dims_of(trace, "decoder") == [("B", "T2", "")]


def test_where_the_sequence_stands_first_it_is_named_first():
    trace = trace_model(nn.LSTM(4, 8), (torch.zeros(5, 2, 4),))
    assert trace.outputs[0].dims == ("T", "B", "")


def test_images_have_a_batch_only():
    trace = trace_model(vision.UNet(), (torch.zeros(1, 3, 32, 32),))
    assert trace.dims == {"B": 1}
    assert dims_of(trace, "pool") == [("B", "", "", "")]


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.places = nn.Linear(4, 4), nn.Parameter(torch.zeros(7, 4))

    def forward(self, x):
        return self.linear(x + self.places)


def test_a_length_that_the_model_holds_on_to_has_no_name():
    trace = trace_model(Fixed(), (torch.zeros(3, 7, 4),))
    assert (trace.error, trace.dims) == ("", {"B": 3})
    assert trace.outputs[0].dims == ("B", "", "")


class Single(nn.Module):
    def forward(self, x):
        assert len(x) == 1
        return torch.relu(x)


def test_a_model_that_takes_no_other_sizes_keeps_its_trace():
    trace = trace_model(Single(), (torch.zeros(1, 4),))
    assert (trace.error, trace.dims, trace.outputs[0].dims) == ("", {}, ())


def test_names_can_be_left_out():
    assert trace_model(nn.ReLU(), (torch.zeros(2, 4),), names_dims=False).dims == {}


def test_equal_layers_run_once_in_the_second_pass():
    runs = []

    class Layer(nn.Module):
        def __init__(self, index):
            super().__init__()
            self.index, self.linear = index, nn.Linear(4, 4)

        def forward(self, x):
            runs.append(self.index)
            return self.linear(x)

    trace = trace_model(nn.Sequential(*[Layer(index) for index in range(5)]), (torch.zeros(2, 4),))
    assert runs == [0, 1, 2, 3, 4, 0]
    assert dims_of(trace, "4.linear") == [("B", "")]
