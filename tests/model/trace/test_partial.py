"""Models that fail, refuse, take too long or are too many: what is seen is kept, and said."""

import pytest
import torch
from torch import nn

from trackio_like.model.trace import trace_model


class Fails(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.first, self.inner = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), Raises(error))

    def forward(self, x):
        return self.inner(self.first(x))


class Raises(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        y = torch.relu(x)
        raise self.error
        return y


@pytest.mark.parametrize("error", [RuntimeError("no"), SystemExit(3), RecursionError("deep"), MemoryError()])
@pytest.mark.parametrize("allow_forward", [False, True])
def test_a_failure_in_the_middle_keeps_what_was_before(error, allow_forward):
    trace = trace_model(Fails(error), (torch.zeros(2, 4),), allow_forward=allow_forward)
    assert trace.is_partial
    assert trace.failed_at == "inner.1"
    assert type(error).__name__ in trace.error
    assert [op.module for op in trace.ops if op.kind == "matmul"] == ["first", "inner.0"]
    assert [rung.mode for rung in trace.rungs] == ["meta", "fake", "hooks"][: 2 + allow_forward]
    assert all(type(error).__name__ in rung.error for rung in trace.rungs)
    assert [path for path, calls in trace.calls.items() if not calls[0].is_finished] == ["", "inner", "inner.1"]


def test_an_input_that_does_not_fit_is_told():
    trace = trace_model(nn.Sequential(nn.Linear(4, 4), nn.Linear(5, 4)), (torch.zeros(2, 4),))
    assert trace.failed_at == "1"
    assert [op.name for op in trace.ops] == ["input", "addmm"]


def test_failures_are_told_in_the_trace_and_not_on_the_terminal(capfd, caplog):
    trace_model(nn.Linear(4, 4), (torch.zeros(2, 5),))
    captured = capfd.readouterr()
    assert (captured.out, captured.err, caplog.records) == ("", "", [])


class Catches(nn.Module):
    def __init__(self):
        super().__init__()
        self.bad, self.good = nn.Linear(5, 4), nn.Linear(4, 4)

    def forward(self, x):
        try:
            return self.bad(x)
        except RuntimeError:
            return self.good(x)


def test_a_failure_that_the_model_catches_is_none():
    trace = trace_model(Catches(), (torch.zeros(2, 4),))
    assert (trace.mode, trace.error, trace.failed_at) == ("meta", "", "")
    assert [(op.module, op.name) for op in trace.ops if op.kind == "matmul"] == [("good", "addmm")]


class Endless(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(50))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def test_too_many_operations_end_the_trace():
    trace = trace_model(Endless(), (torch.zeros(2, 4),), max_ops=20)
    assert trace.is_partial
    assert "more than 20 operations" in trace.error
    assert len(trace.ops) == 20
    assert [rung.mode for rung in trace.rungs] == ["meta"]


class Slow(nn.Module):
    def forward(self, x):
        while True:
            x = torch.cat([x, x[:1]])


def test_time_ends_a_model_that_does_not():
    trace = trace_model(Slow(), (torch.zeros(2, 4),), time_limit_s=0.1, max_ops=10**6)
    assert trace.is_partial
    assert "time" in trace.error


class NeedsNumbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x) * float(x.numpy().sum())


def test_a_model_that_needs_numbers_runs_for_real_only_where_it_may():
    model, x = NeedsNumbers(), torch.ones(2, 4)
    refused, allowed = trace_model(model, (x,)), trace_model(model, (x,), allow_forward=True)
    assert (refused.mode, refused.is_partial, refused.failed_at) == ("meta", True, "")
    assert (allowed.mode, allowed.is_partial, allowed.error) == ("hooks", False, "")
    assert [bool(rung.error) for rung in allowed.rungs] == [True, True, False]


class NeedsDevice(nn.Module):
    def forward(self, x):
        if x.device.type == "meta":
            raise ValueError("no kernels for this device")
        return torch.relu(x)


def test_a_model_that_asks_for_its_device_runs_with_fake_tensors():
    trace = trace_model(NeedsDevice(), (torch.ones(2, 4),))
    assert trace.mode == "fake"
    assert trace.rungs[0].error == "ValueError: no kernels for this device"
    assert [op.name for op in trace.ops] == ["x", "relu", "output"]


@pytest.mark.parametrize(
    ("model", "args", "options", "message"),
    [
        ("text", (), {}, "is a str"),
        (nn.ReLU(), torch.zeros(1), {}, r"write \(x,\)"),
        (nn.ReLU(), (torch.zeros(1),), {"time_limit_s": 0}, "greater than 0"),
        (nn.ReLU(), (torch.zeros(1),), {"max_ops": 0}, "greater than 0"),
    ],
)
def test_wrong_arguments_are_told(model, args, options, message):
    with pytest.raises(ValueError, match=message):
        trace_model(model, args, **options)


def test_a_model_without_anything_gives_a_trace():
    trace = trace_model(nn.Identity(), (torch.zeros(2),))
    assert [(edge.source, edge.target) for edge in trace.edges] == [(0, 1)]
