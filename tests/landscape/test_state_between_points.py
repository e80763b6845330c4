"""A point's loss does not depend on the points before it: models that remember begin anew at each."""

# mypy: disable-error-code="misc"
from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.landscape import zoo
from trackio_like.landscape import Evaluation
from trackio_like.module_state.keeping import checksum

BATCHES = [(torch.linspace(-1, 1, 30).reshape(5, 6), torch.arange(5) % 4)]


def evaluated(model, **options):
    evaluation = Evaluation(model, BATCHES, **{"n": 3, "exact": True, **options})
    evaluation.run()
    return evaluation.result()


class Remembering(nn.Module):
    """Has an average of what it saw, in one of the places where people keep such things."""

    def __init__(self, place):
        super().__init__()
        torch.manual_seed(2)
        self.layer = nn.Linear(6, 4)
        self.place = place
        self.register_buffer("buffer", torch.zeros(4))
        self.tensor = torch.zeros(4)
        self.past = []
        self.calls = 0

    def forward(self, x):
        h = self.layer(x)
        new = h.detach().mean(0)
        match self.place:
            case "buffer in place":
                self.buffer.mul_(0.5).add_(new)
                return h + self.buffer
            case "another buffer":
                self.buffer = 0.5 * self.buffer + new
                return h + self.buffer
            case "attribute":
                self.tensor = 0.5 * self.tensor + new
                return h + self.tensor
            case "list":
                self.past.append(new)
                return h + sum(self.past)
            case "counter":
                self.calls += 1
                return h * self.calls
            case "module":
                if not hasattr(self, "extra"):
                    self.extra = nn.Linear(4, 4, bias=False)
                    self.extra.weight = nn.Parameter(torch.eye(4) * 2)
                    return h
                return self.extra(h)
            case "parameter":
                if not hasattr(self, "extra"):
                    self.extra = nn.Parameter(torch.ones(4))
                    return h
                return h + self.extra
            case _:
                raise AssertionError


PLACES = ["buffer in place", "another buffer", "attribute", "list", "counter", "module", "parameter"]


@pytest.mark.parametrize("mode", ["serial", "vector", None])
@pytest.mark.parametrize("place", PLACES)
def test_a_model_that_remembers_begins_anew_at_each_point(place, mode):
    model = Remembering(place)
    first = Remembering(place)
    with torch.no_grad():
        expected = float(nn.functional.cross_entropy(first(BATCHES[0][0]), BATCHES[0][1]))
    before = checksum(model)
    found = evaluated(model, mode=mode)
    assert found.z_RC[1, 1] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(found.z_RC, evaluated(Remembering(place), mode="serial", n=3).z_RC, rtol=1e-6)
    assert checksum(model) == before
    assert model.calls == 0
    assert model.past == []
    assert not hasattr(model, "extra")
    assert not model.buffer.any()
    assert not model.tensor.any()


class Centred(nn.Module):
    """A criterion with a state of its own, and dropout."""

    def __init__(self):
        super().__init__()
        self.register_buffer("centre", torch.zeros(4))
        self.dropout = nn.Dropout(0.5)
        self.calls = 0

    def forward(self, output, target):
        self.calls += 1
        self.centre += output.detach().mean(0)
        return nn.functional.cross_entropy(self.dropout(output + self.centre), target)


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_a_criterion_is_lent_like_the_model(mode):
    model, criterion = zoo.mlp(), Centred().train()
    with torch.no_grad():
        output = model(BATCHES[0][0])
        expected = float(nn.functional.cross_entropy(output + output.mean(0), BATCHES[0][1]))
    found = evaluated(model, criterion=criterion, mode=mode)
    assert found.z_RC[1, 1] == pytest.approx(expected, rel=1e-6)
    assert criterion.calls == 0
    assert not criterion.centre.any()
    assert criterion.training
    assert criterion.dropout.training


def test_recalibrated_statistics_are_those_of_the_data_at_each_point():
    case = zoo.make("cnn-bn")
    batches = case.batches[:2]
    with torch.no_grad():
        case.model.train()
        for norm in (case.model.norm1, case.model.norm2):
            norm.reset_running_stats()
            norm.momentum = None
            norm.train()
        for x, _ in batches:
            case.model(x)
        expected = float(np.mean([float(nn.functional.cross_entropy(case.model.eval()(x), y)) for x, y in batches]))
    model = zoo.make("cnn-bn").model
    evaluation = Evaluation(model, batches, n=3, exact=True, bn="recalibrate")
    evaluation.run()
    assert evaluation.result().z_RC[1, 1] == pytest.approx(expected, rel=1e-5)
    assert evaluation.result().meta["bn"] == "recalibrate"


def test_recalibrating_leaves_a_pending_backward_pass_alone():
    model = zoo.make("cnn-bn").model.eval()
    (x, _), *_ = zoo.images(4)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    pending = model(x).sum()
    evaluation = Evaluation(model, zoo.images(4), n=3, exact=True, bn="recalibrate")
    evaluation.run()
    pending.backward()
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), expected, strict=True))
