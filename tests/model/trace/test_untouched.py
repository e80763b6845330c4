"""A model that was traced is what it was, bit for bit, and goes on training as if nothing had been."""

import copy
import functools
import random

import numpy as np
import pytest
import torch
from torch import nn

from trackio_like.model.trace import trace_model
from trackio_like.module_state.keeping import checksum
from trackio_like.module_state.random_state import seed_all

TABLE: dict[int, torch.Tensor] = {}


class Holder:
    def __init__(self):
        self.last = None
        self.all = []


@functools.lru_cache
def positions(length, width):
    return torch.arange(length * width, dtype=torch.float32).reshape(length, width) / 100


class Messy(nn.Module):
    """Keeps everything that it meets, everywhere."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)
        self.register_buffer("count", torch.zeros(()))
        self.cache, self.seen, self.by_name, self.holder, self.calls = None, [], {}, Holder(), 0
        self.fixed = torch.ones(6)
        self.hidden = [torch.full((6,), 2.0)]

    def forward(self, x):
        self.calls += 1
        self.count += 1
        self.fixed.add_(1)
        y = self.linear(x + positions(*x.shape)) * self.fixed + self.hidden[0]
        self.cache = y
        self.seen.append(y)
        self.by_name["y"] = y
        self.holder.last, self.holder.extra = y, y
        self.holder.all.append(y)
        TABLE[len(x)] = y
        self.register_buffer("late", y)
        y = y + torch.rand_like(y) + random.random() + float(np.random.rand())  # noqa: NPY002  # what users' code draws from
        return self.drop(self.norm(y))


def built(seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(Messy(), nn.ReLU(), Messy())
    model[2].eval()
    return model


def step(model, x):
    loss = model(x).square().mean()
    model.zero_grad()
    loss.backward()
    return loss.detach(), [parameter.grad.clone() for parameter in model.parameters()]


@pytest.fixture(autouse=True)
def empty_caches():
    TABLE.clear()
    positions.cache_clear()
    yield
    TABLE.clear()
    positions.cache_clear()


@pytest.mark.parametrize("allow_forward", [False, True])
def test_nothing_of_a_model_that_keeps_everything_is_changed(allow_forward):
    model, x = built(), torch.randn(4, 6)
    before, state = checksum(model), {key: value.clone() for key, value in model.state_dict().items()}
    attributes = [{**part.__dict__, "seen": list(getattr(part, "seen", []))} for part in model.modules()]
    trace = trace_model(model, (x,), allow_forward=allow_forward)
    assert trace.mode == "meta"
    assert checksum(model) == before
    assert all(torch.equal(state[key], value) for key, value in model.state_dict().items())
    for part, kept in zip(model.modules(), attributes, strict=True):
        assert list(part.__dict__) == [key for key in kept if key in part.__dict__]
    messy = model[0]
    assert (messy.cache, messy.seen, messy.by_name, messy.calls) == (None, [], {}, 0)
    assert (messy.holder.last, messy.holder.all, hasattr(messy.holder, "extra")) == (None, [], False)
    assert messy.fixed.tolist() == [1] * 6
    assert not hasattr(messy, "late")
    assert TABLE == {}
    assert not positions(4, 6).is_meta


def test_the_next_step_gives_the_same_loss_and_gradients():
    x = torch.randn(4, 6)
    plain, looked_at = built(), built()
    seed_all(1)
    expected = step(plain, x)
    seed_all(1)
    trace_model(looked_at, (x,))
    found = step(looked_at, x)
    assert torch.equal(found[0], expected[0])
    assert all(torch.equal(a, b) for a, b in zip(found[1], expected[1], strict=True))
    assert all(type(parameter.grad) is torch.Tensor for parameter in looked_at.parameters())


def test_a_graph_that_waits_for_its_backward_stays_good():
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)), torch.randn(3, 4)
    other = copy.deepcopy(model)
    loss = model(x).sum()
    trace_model(model, (x,))
    loss.backward()
    other(x).sum().backward()
    assert torch.equal(model[0].weight.grad, other[0].weight.grad)


class Numpy(nn.Module):
    def __init__(self, writes):
        super().__init__()
        self.linear, self.writes = nn.Linear(4, 4), writes
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        y = self.norm(self.linear(x))
        if self.writes:
            self.linear.weight.mul_(2)
        return y * float(y.detach().cpu().numpy().sum())


@pytest.mark.parametrize("writes", [False, True])
def test_a_real_pass_leaves_nothing_behind(writes):
    model, x = Numpy(writes), torch.randn(3, 4)
    before, random_state = checksum(model), torch.get_rng_state()
    trace = trace_model(model, (x,), allow_forward=True)
    assert trace.mode == "hooks"
    assert checksum(model) == before
    assert torch.equal(torch.get_rng_state(), random_state)
    assert "forward" not in model.linear.__dict__


def test_users_hooks_do_not_run_and_stay():
    model, calls = nn.Linear(4, 4), []
    handle = model.register_forward_hook(lambda *_: calls.append(1))
    trace_model(model, (torch.zeros(1, 4),))
    assert calls == []
    model(torch.zeros(1, 4))
    assert calls == [1]
    handle.remove()


def test_tied_parameters_stay_tied():
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 10, bias=False))
    model[1].weight = model[0].weight
    trace_model(model, (torch.zeros(1, 2, dtype=torch.long),))
    assert model[1].weight is model[0].weight


def test_lazy_modules_stay_lazy_and_their_shapes_are_found():
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(2))
    trace = trace_model(model, (torch.zeros(3, 5),))
    assert (trace.mode, trace.macs) == ("meta", 3 * (5 * 8 + 8 * 2))
    assert [type(part).__name__ for part in model] == ["LazyLinear", "ReLU", "LazyLinear"]
    assert model(torch.zeros(3, 4)).shape == (3, 2)
    assert [type(part).__name__ for part in model] == ["Linear", "ReLU", "Linear"]


class Interrupted(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        self.linear(x)
        raise KeyboardInterrupt


def test_an_interruption_comes_through_and_the_model_is_whole():
    model = Interrupted()
    before = checksum(model)
    with pytest.raises(KeyboardInterrupt):
        trace_model(model, (torch.zeros(1, 4),))
    assert checksum(model) == before
    assert not model.linear.weight.is_meta
    assert "forward" not in model.linear.__dict__
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_compiled_module_is_seen_inside():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model[0].compile(backend="eager")
    trace = trace_model(model, (torch.zeros(1, 4),))
    assert list(trace.calls) == ["", "0", "1"]
    assert model[0]._compiled_call_impl is not None
