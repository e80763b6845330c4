"""Models in wrappers, scripted, compiled, quantised, packed, and in the middle of something."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, rnn

from trackio_like.model.trace import trace_model
from trackio_like.module_state.keeping import checksum


def small():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


@pytest.mark.parametrize(
    ("wrap", "prefix"),
    [(nn.DataParallel, "module"), (lambda model: torch.compile(model, backend="eager"), "_orig_mod")],
)
def test_a_wrapper_is_looked_through_and_paths_are_as_it_has_them(wrap, prefix):
    trace = trace_model(wrap(small()), (torch.zeros(2, 4),))
    assert (trace.mode, trace.error) == ("meta", "")
    assert list(trace.calls) == ["", prefix, f"{prefix}.0", f"{prefix}.1"]
    assert [op.module for op in trace.ops if op.kind == "matmul"] == [f"{prefix}.0"]


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_scripted_model_is_traced_and_keeps_its_weights():
    model = torch.jit.script(small())
    before = [(id(tensor), tensor.clone()) for tensor in model.parameters()]
    trace = trace_model(model, (torch.zeros(2, 4),))
    assert (trace.mode, trace.error, trace.notes) == ("meta", "", ())
    assert [op.name for op in trace.ops] == ["input", "addmm", "relu", "output"]
    assert all(torch.equal(bits, tensor) for (_, bits), tensor in zip(before, model.parameters(), strict=True))
    assert model(torch.zeros(2, 4)).shape == (2, 4)


def test_sequences_of_unequal_lengths():
    packed = rnn.pack_padded_sequence(torch.randn(3, 5, 4), [5, 3, 2], batch_first=True)
    trace = trace_model(nn.LSTM(4, 8, batch_first=True), (packed,))
    assert (trace.mode, trace.error, trace.num_assumed, trace.notes) == ("meta", "", 0, ())
    assert trace.macs == 10 * 4 * 8 * (4 + 8)
    assert trace.inputs[0].shape == (10, 4)


@pytest.mark.parametrize("reparametrise", [parametrizations.weight_norm, parametrizations.spectral_norm])
def test_parametrised_weights_are_no_data(reparametrise):
    model = reparametrise(nn.Linear(4, 4))
    before = checksum(model)
    trace = trace_model(model, (torch.zeros(2, 4),))
    assert (trace.mode, trace.error) == ("meta", "")
    assert [edge.kind for edge in trace.edges] == ["tensor"] * len(trace.edges)
    assert [op.is_data for op in trace.ops if op.module.startswith("parametrizations")] != []
    assert not any(op.is_data for op in trace.ops if op.module.startswith("parametrizations"))
    assert checksum(model) == before


class Force(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 1)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(self.linear(torch.tanh(x)).sum(), x)[0]


def test_a_model_that_differentiates_in_its_forward():
    trace = trace_model(Force(), (torch.zeros(2, 3),))
    assert (trace.error, trace.outputs[0].shape) == ("", (2, 3))
    assert "tanh_backward" in {op.name for op in trace.ops}


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))


def test_a_branch_of_the_compiler_is_one_operation():
    trace = trace_model(Branches(), (torch.zeros(2, 3),))
    assert (trace.mode, trace.error, trace.outputs[0].shape) == ("fake", "", (2, 3))


@pytest.mark.parametrize(
    "around", [torch.inference_mode, torch.enable_grad, lambda: torch.autocast("cpu", torch.bfloat16)]
)
def test_it_works_inside_what_a_training_is_in(around):
    with around():
        trace = trace_model(small(), (torch.zeros(2, 4),))
    assert (trace.mode, trace.error) == ("meta", "")


def test_the_fused_encoder_is_seen_layer_by_layer_and_stays_fused():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2).eval()
    trace = trace_model(model, (torch.zeros(2, 4, 16),))
    assert torch.backends.mha.get_fastpath_enabled()
    assert "layers.1.linear2" in trace.calls
    assert trace.macs == 2 * (8 * (4 * 16 * 16 + 2 * 16 * 32) + 8 * 4 * 2 * 16)


def test_a_trace_on_another_thread_does_not_see_this_one():
    from threading import Thread

    found, model = [], small()
    thread = Thread(target=lambda: found.append(trace_model(small(), (torch.zeros(2, 4),))))
    thread.start()
    for _ in range(20):
        model(torch.zeros(2, 4))
    thread.join()
    assert [op.name for op in found[0].ops] == ["input", "addmm", "relu", "output"]
