"""Routers, experts, and answers that depend on data."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.model.trace.look import check_sound
from trackio_like.model.trace import trace_model


def expert(width):
    return nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))


class Mixture(nn.Module):
    def __init__(self, run, num_experts=4, top_k=2):
        super().__init__()
        self.gate, self.top_k, self.run = nn.Linear(8, num_experts), top_k, run
        self.experts = nn.ModuleList(expert(8) for _ in range(num_experts))

    def forward(self, x):
        weights, chosen = torch.topk(functional.softmax(self.gate(x), -1), self.top_k)
        return self.run(self, x, weights / weights.sum(-1, keepdim=True), chosen)


def by_index(m, x, weights, chosen):
    out = torch.zeros_like(x)
    for index, each in enumerate(m.experts):
        token, slot = torch.where(chosen == index)
        out.index_add_(0, token, each(x[token]) * weights[token, slot].unsqueeze(-1))
    return out


def by_mask(m, x, weights, chosen):
    out = torch.zeros_like(x)
    for index, each in enumerate(m.experts):
        mask = (chosen == index).any(-1)
        if mask.any():
            out[mask] += each(x[mask]) * (weights * (chosen == index)).sum(-1)[mask].unsqueeze(-1)
    return out


def by_count(m, x, weights, chosen):
    counts = torch.bincount(chosen.flatten(), minlength=len(m.experts)).tolist()
    ordered, start, found = x[chosen.flatten().argsort() // m.top_k], 0, []
    for each, count in zip(m.experts, counts, strict=True):
        if count:
            found.append(each(ordered[start : start + count]))
        start += count
    out = torch.cat(found)
    return x + (out[:1] * weights.flatten()[: len(out), None][:1]).sum(0)


def all_of_them(m, x, weights, chosen):
    every = torch.stack([each(x) for each in m.experts], 1)
    mixed = torch.zeros_like(every[..., 0]).scatter(1, chosen, weights)
    return (every * mixed.unsqueeze(-1)).sum(1)


@pytest.mark.parametrize("run", [by_index, by_mask, by_count, all_of_them])
def test_every_expert_runs_and_the_choice_goes_to_them(run):
    trace = trace_model(Mixture(run), (torch.randn(6, 8),))
    assert (trace.mode, trace.error) == ("meta", "")
    check_sound(trace)
    assert [f"experts.{index}.2" in trace.calls for index in range(4)] == [True] * 4
    assert [op.name for op in trace.ops if op.kind == "router"] == ["topk"]
    routed = [edge for edge in trace.edges if edge.kind == "routing"]
    assert {edge.label for edge in routed} == {"top-2/4"}
    assert (trace.num_assumed > 0) == (run is not all_of_them)


def test_a_choice_among_what_no_product_scored_is_no_routing():
    class Pick(nn.Module):
        def forward(self, x):
            return x.gather(0, x.topk(2, 0).indices)

    trace = trace_model(Pick(), (torch.randn(6, 8),))
    assert [edge.kind for edge in trace.edges if edge.kind != "tensor"] == []


class Asks(nn.Module):
    def __init__(self, ask):
        super().__init__()
        self.linear, self.other, self.ask = nn.Linear(4, 4), nn.Linear(4, 4), ask

    def forward(self, x):
        return self.ask(self, self.linear(x))


ANSWERS = {
    "item": lambda _, h: h * h.sum().item(),
    "bool": lambda m, h: m.other(h) if h.sum() > 0 else h,
    "int": lambda _, h: h[: int(h.abs().sum()) + 1],
    "tolist": lambda _, h: h * h.sum(0).tolist()[0],
    "nonzero": lambda _, h: h[h.sum(-1).nonzero()[:, 0]],
    "mask": lambda m, h: m.other(h[h.sum(-1) > 0]),
    "masked_select": lambda _, h: h.masked_select(h > 0),
    "unique": lambda _, h: h.unique().sum(),
    "unique_counts": lambda _, h: sum(
        t.float().sum() for t in h.round().unique(return_inverse=True, return_counts=True)
    ),
    "equal": lambda m, h: h if torch.equal(h, h) else m.other(h),
    "repeat": lambda _, h: h.repeat_interleave(torch.ones(3, dtype=torch.long) * h.sum().long(), 0),
}


@pytest.mark.parametrize("ask", ANSWERS)
def test_what_depends_on_data_is_assumed_and_counted(ask):
    trace = trace_model(Asks(ANSWERS[ask]), (torch.randn(3, 4),))
    assert (trace.mode, trace.error) == ("meta", "")
    assert trace.num_assumed >= 1
    assert trace.ops[1].module == "linear"


def test_what_a_mask_chooses_is_at_most_everything():
    trace = trace_model(Asks(ANSWERS["mask"]), (torch.randn(3, 4),))
    assert trace.outputs[0].shape == (3, 4)


def test_constants_are_known_and_not_assumed():
    def ask(m, h):
        steps = torch.linspace(0, 1, 3).tolist()
        size = int(torch.tensor([2, 3]).prod())
        return h * steps[2] + h[:, :1].expand(3, 4) * size + torch.arange(5).sum().item()

    trace = trace_model(Asks(ask), (torch.randn(3, 4),))
    assert (trace.num_assumed, trace.error) == (0, "")


def test_a_real_pass_assumes_nothing():
    def ask(m, h):
        return m.other(h) if float(h.detach().numpy().sum()) ** 2 >= 0 else h

    trace = trace_model(Asks(ask), (torch.randn(3, 4),), allow_forward=True)
    assert (trace.mode, trace.num_assumed) == ("hooks", 0)
    assert "other" in trace.calls
