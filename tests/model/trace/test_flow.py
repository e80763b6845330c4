"""Who made what for whom: through views, in-place writes, and storages that are filled bit by bit."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.model.trace.look import check_sound, joins, kinds, sources
from trackio_like.model.trace import trace_model


class Block(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.linear, self.second, self.call = nn.Linear(4, 4), nn.Linear(4, 4), forward

    def forward(self, *args):
        return self.call(self, *args)


def traced(forward, *args):
    trace = trace_model(Block(forward), args or (torch.zeros(3, 4),))
    assert trace.error == ""
    check_sound(trace)
    return trace


def names(trace):
    return [op.name for op in trace.ops if op.kind not in ("input", "output")]


def test_views_and_copies_are_no_operations():
    trace = traced(lambda m, x: m.linear(x).view(2, 6).transpose(0, 1).contiguous().reshape(-1)[1:].clone())
    assert names(trace) == ["addmm"]


def test_an_addition_in_place_is_a_residual():
    def forward(m, x):
        y = m.linear(x)
        y += x
        return y

    trace = traced(forward)
    assert names(trace) == ["addmm", "add_"]
    assert joins(trace, "residual") == 1
    assert sources(trace, "output") == ["add_"]


def test_what_is_written_into_a_slice_is_found_in_the_whole():
    def forward(m, x):
        out = torch.zeros(3, 8)
        out[:, :4] = m.linear(x)
        out[:, 4:] = m.second(x)
        return out

    trace = traced(forward)
    assert names(trace) == ["addmm", "addmm", "copy_"]
    assert sources(trace, "copy_") == ["addmm", "addmm"]
    assert sources(trace, "output") == ["copy_"]


def test_what_is_written_by_index_is_found():
    def forward(m, x):
        out = torch.zeros_like(x)
        out[torch.tensor([0, 2])] = m.linear(x)[:2]
        return out

    assert sources(traced(forward), "output") == ["index_put_"]


def test_an_identity_that_drops_nothing_is_no_operation():
    assert names(traced(lambda m, x: m.linear(functional.dropout(x, 0.5, m.training)))) == ["addmm"]


def test_gates_bends_and_constants_are_no_residuals():
    def forward(m, x):
        h = m.linear(x)
        gelu = 0.5 * h * (1 + torch.tanh(0.79 * (h + 0.04 * h**3)))
        turned = gelu * torch.ones(4) + torch.cat([-gelu[..., 2:], gelu[..., :2]], -1) * torch.ones(4)
        return m.second(turned) + torch.arange(4.0)

    assert kinds(traced(forward)) == {}


def test_a_sum_of_two_streams_is_no_residual():
    assert kinds(traced(lambda m, x, y: m.linear(x) + m.second(y), torch.zeros(3, 4), torch.zeros(3, 4))) == {}


def test_a_way_around_of_another_shape_is_no_residual():
    assert kinds(traced(lambda m, x: m.linear(x) + x.mean(-1, keepdim=True))) == {}


def test_three_ways_give_one_residual():
    assert kinds(traced(lambda m, x: m.linear(x) + m.second(x) + x)) == {"residual": 1}


def test_a_low_rank_side_way_is_no_projection():
    class LoRA(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 2), nn.Linear(2, 8)

        def forward(self, x):
            return self.base(x) + self.b(self.a(x)) * 2

    assert kinds(trace_model(LoRA(), (torch.zeros(2, 8),))) == {}


def test_steps_of_a_recurrence_are_no_projections():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.i, self.h = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            h = torch.tanh(self.i(x[:, 0]))
            for t in range(1, 4):
                h = torch.tanh(self.i(x[:, t]) + self.h(h))
            return h

    assert "projection" not in kinds(trace_model(Recurrent(), (torch.zeros(2, 4, 4),)))


def test_dense_connections_are_skips_and_states_of_a_loop_are_not():
    dense = traced(lambda m, x: torch.cat([x, m.linear(x)], -1))
    states = traced(lambda m, x: torch.cat([h := m.linear(x), h := m.linear(h), m.linear(h)], -1))
    assert kinds(dense) == {"skip": 1}
    assert "skip" not in kinds(states)


def test_a_second_call_of_a_module_has_its_own_operations():
    trace = traced(lambda m, x: m.linear(torch.relu(m.linear(x))))
    assert [(op.module, op.call) for op in trace.ops if op.name == "addmm"] == [("linear", 0), ("linear", 1)]
    assert len(trace.calls["linear"]) == 2


def test_a_result_that_goes_straight_back_in_is_a_loop():
    assert kinds(traced(lambda m, x: m.linear(m.linear(m.linear(x)))))["loop"] == 2


def test_results_that_nobody_uses_are_left_out():
    trace = traced(lambda m, x: (m.linear(x), torch.relu(x) * 2)[0])
    assert names(trace) == ["addmm"]


def test_every_input_and_output_has_a_name():
    def forward(m, x, more):
        return {"first": m.linear(x), "rest": [more["a"], m.second(more["b"][0])]}

    trace = traced(forward, torch.zeros(1, 4), {"a": torch.zeros(2, 4), "b": [torch.zeros(3, 4)]})
    assert [port.name for port in trace.outputs] == ["first", "rest.0", "rest.1"]
    assert [port.shape for port in trace.inputs] == [(1, 4), (2, 4), (3, 4)]
    assert [trace.ops[port.op].kind for port in (*trace.inputs, *trace.outputs)] == ["input"] * 3 + ["output"] * 3


class Named(nn.Module):
    def forward(self, pixel_values, mask=None, *, scale):
        return pixel_values * scale + mask


def test_inputs_are_named_as_the_model_names_them():
    trace = trace_model(Named(), (torch.zeros(2), torch.zeros(2)), {"scale": torch.zeros(2)})
    assert [port.name for port in trace.inputs] == ["pixel_values", "mask", "scale"]


@pytest.mark.parametrize("batch_first", [True, False])
def test_keys_from_elsewhere_cross(batch_first):
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(16)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=batch_first)

        def forward(self, x, memory):
            query = self.norm(x)
            query = query + self.attention(query, query, query)[0]
            return query + self.attention(query, memory, memory, need_weights=False)[0]

    trace = trace_model(Cross(), (torch.zeros(2, 4, 16), torch.zeros(2, 4, 16)))
    assert kinds(trace)["residual"] == 2
    assert {trace.ops[edge.source].name for edge in trace.edges if edge.kind == "cross"} == {"memory"}
