"""Loops are rolled up, and nothing else is."""

import pytest
import torch
from torch import nn

from tests.model.trace.look import check_sound, kinds
from trackio_like.model.trace import trace_model


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 8)
        for step in x.unbind(1):
            h = self.cell(step, h)
        return self.out(h)


@pytest.mark.parametrize("length", [40, 700])
def test_a_loop_over_a_cell_is_one_turn_whatever_its_length(length):
    trace = trace_model(Cells(), (torch.zeros(2, length, 4),), max_ops=20_000)
    assert trace.error == ""
    check_sound(trace)
    inside = [op for op in trace.ops if op.module == "cell"]
    assert len(inside) < 20
    assert {op.num_runs for op in inside} == {length}
    assert kinds(trace)["loop"] >= 1
    assert trace.macs == 2 * length * 24 * (4 + 8) + 2 * 8 * 2
    assert len(trace.calls["cell"]) == length


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(8))

    def forward(self, x):
        state, found = torch.zeros(x.shape[0], 8), []
        for step in x.unbind(1):
            state = state * self.a + step
            found.append(torch.tanh(state))
        return torch.stack(found, 1)


def test_a_scan_of_plain_operations_is_one_turn():
    trace = trace_model(Scan(), (torch.zeros(2, 3000, 8),), max_ops=1000)
    assert trace.error == ""
    check_sound(trace)
    assert [op.name for op in trace.ops] == ["x", "mul", "add", "tanh", "stack", "output"]
    assert [op.num_runs for op in trace.ops] == [1, 3000, 3000, 3000, 1, 1]
    assert kinds(trace) == {"loop": 1}


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(torch.zeros(8, 8) for _ in range(40))

    def forward(self, x):
        for weight in self.weights:
            x = x + torch.relu(x @ weight)
        return x


def test_layers_with_weights_of_their_own_are_no_loop():
    trace = trace_model(Functional(), (torch.zeros(2, 8),))
    assert {op.num_runs for op in trace.ops} == {1}
    assert kinds(trace) == {"residual": 40}


def test_layers_that_are_modules_are_no_loop():
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(40))

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x

    trace = trace_model(Stack(), (torch.zeros(2, 8),))
    assert {op.num_runs for op in trace.ops} == {1}
    assert kinds(trace) == {"residual": 40}


def test_a_block_that_is_called_a_few_times_is_seen_each_time():
    block = nn.Linear(8, 8)
    trace = trace_model(nn.Sequential(*[block] * 4), (torch.zeros(2, 8),))
    assert [(op.module, op.call) for op in trace.ops if op.kind == "matmul"] == [("0", n) for n in range(4)]
    assert kinds(trace) == {"loop": 3}
