"""Surfaces are what a naive loop in float64 gives, in every mode and way, for every kind of model."""

# mypy: disable-error-code="misc"
from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from tests.landscape import reference, zoo
from trackio_like.landscape import Evaluation, evaluate_grid, filter_normalized_directions
from trackio_like.landscape.batches import freeze
from trackio_like.landscape.data import EvalData
from trackio_like.landscape.directions import random_direction
from trackio_like.landscape.evaluator import Evaluator
from trackio_like.landscape.plan import Way
from trackio_like.landscape.scoring import Scorer
from trackio_like.landscape.weights import find_weights
from trackio_like.module_state.keeping import kept

WITHIN = 1e-6
"""Relative, in float32."""
POINTS = [(0.0, 0.0), (0.7, -0.3), (-1.0, 1.0), (0.0, 0.5)]


def evaluated(case, **options):
    evaluation = Evaluation(
        case.model, case.batches, nbatches=99, criterion=case.criterion, loss_fn=case.loss_fn,
        **{"n": 5, "exact": True, **options},
    )  # fmt: skip
    evaluation.run()
    return evaluation.result()


@contextmanager
def lent(case, *, seed=1, keeps_directions=True):
    """An evaluator of a case in its random plane, so that ways can be forced."""
    weights = find_weights(case.model)
    scorer = Scorer(case.model, criterion=case.criterion, loss_fn=case.loss_fn)
    with kept(scorer, written=[weight.tensor for weight in weights]) as loan:
        data = EvalData(freeze(case.batches, num_batches=99), scorer, device=torch.device("cpu"))
        axes = (random_direction(weights, seed=seed, axis=0), random_direction(weights, seed=seed, axis=1))
        yield Evaluator(
            scorer, data, weights, axes, centre=loan.backup, keeps_directions=keeps_directions,
            start_anew=loan.start_anew,
        )  # fmt: skip


def at_points(case, points=POINTS, *, seed=1):
    delta, eta = filter_normalized_directions(case.model, seed)
    return [float(reference.surface(case, delta, eta, [x], [y])[0, 0]) for x, y in points]


@pytest.mark.parametrize("mode", ["serial", "vector"])
@pytest.mark.parametrize("kind", zoo.KINDS)
def test_a_surface_is_what_a_naive_loop_in_float64_gives(kind, mode):
    case = zoo.make(kind)
    delta, eta = filter_normalized_directions(case.model, 1)
    found = evaluated(case, seed=1, mode=mode, x_range=(-1, 0.5), y_range=(-0.5, 1))
    expected = reference.surface(case, delta, eta, found.x_C, found.y_R)
    np.testing.assert_allclose(found.z_RC, expected, rtol=WITHIN)
    assert found.meta["mode"] == (mode if case.can_vector else "serial")
    assert found.meta["error_estimate"] == 0
    assert found.is_measured_RC.all()


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_the_model_is_chosen_a_way_that_gives_the_same(kind):
    case = zoo.make(kind)
    delta, eta = filter_normalized_directions(case.model, 1)
    z_RC = evaluate_grid(
        case.model, case.batches, delta, eta, n=3, criterion=case.criterion, loss_fn=case.loss_fn, x_range=(0, 2)
    )
    expected = reference.surface(case, delta, eta, [0, 1, 2], [-1, 0, 1])
    np.testing.assert_allclose(z_RC, expected, rtol=WITHIN)


@pytest.mark.parametrize("mode", ["serial", "vector"])
@pytest.mark.parametrize("kind", ["cnn", "cnn-bn", "tied-transformer", "mlp", "lora"])
def test_a_bfloat16_model_computes_with_weights_that_were_rounded_once(kind, mode):
    case = zoo.as_bf16(zoo.make(kind))
    delta, eta = filter_normalized_directions(case.model, 1)
    found = evaluated(case, seed=1, mode=mode, n=3)
    expected = reference.surface_bf16(case, delta, eta, found.x_C, found.y_R)
    # Batched products may add in another order, and round to another bfloat16 then.
    np.testing.assert_allclose(found.z_RC, expected, rtol=WITHIN if mode == "serial" else 2e-2)
    assert found.meta["dtype"] == "bfloat16"


WAYS = [
    Way(batch_size=1),
    Way(batch_size=3),
    Way(batch_size=1000),
    Way(num_threads=1),
    Way(channels_last=True),
    Way(channels_last=True, batch_size=4),
    Way(first_layer=True),
    Way(first_layer=True, batch_size=4),
    Way(first_layer=True, channels_last=True),
    Way(mode="vector", chunk=1),
    Way(mode="vector", chunk=3),
    Way(mode="vector", chunk=4, batch_size=3, channels_last=True),
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("kind", ["cnn", "cnn-bn", "decoder", "mlp", "tied-transformer"])
def test_every_way_gives_the_same_losses(kind, way):
    case = zoo.make(kind)
    expected = at_points(case)
    with lent(case) as evaluator, evaluator.using(way) as losses:
        parts = [POINTS[i : i + way.chunk] for i in range(0, len(POINTS), way.chunk)]
        found = [loss for part in parts for loss in losses(part)]
    np.testing.assert_allclose(found, expected, rtol=WITHIN)


@pytest.mark.parametrize("kind", ["cnn-bn", "lstm", "three-tuple", "bert"])
def test_directions_made_anew_at_each_point_give_the_same_losses(kind):
    case = zoo.make(kind)
    expected = at_points(case)
    with lent(case, keeps_directions=False) as evaluator, evaluator.using(Way()) as losses:
        np.testing.assert_allclose(losses(POINTS), expected, rtol=WITHIN)


def old_weight_norm():
    with pytest.warns(FutureWarning):
        return nn.utils.weight_norm(nn.Linear(6, 8))


def patched():
    """A layer whose forward somebody replaced on the instance, as offloading tools do."""
    layer = nn.Linear(6, 8)
    layer.forward = lambda x: 2 * nn.functional.linear(x, layer.weight, layer.bias)
    return layer


class Shuffled(nn.Module):
    """Its layer gets the data themselves in the first batch, and something computed afterwards."""

    def __init__(self):
        super().__init__()
        self.before = nn.Linear(6, 6)
        self.layer = nn.Linear(6, 8)

    def forward(self, x):
        return self.layer(x if len(x) == 6 else torch.tanh(self.before(x)))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.head = nn.Linear(6, 8)

    def forward(self, x):
        return self.head(self.layer(torch.tanh(self.layer(x))))


class InView(nn.Module):
    """Takes parts of the data, without copying them."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(3, 8)
        self.right = nn.Linear(3, 8)

    def forward(self, x):
        return self.left(x[:, :3]) * self.right(x[:, 3:])


class OverwritesOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 8)

    def forward(self, x):
        return self.layer(x).mul_(2).relu_()


FIRST_LAYERS = {
    "weight-norm": old_weight_norm,
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 8)),
    "patched": patched,
    "shuffled": Shuffled,
    "twice": Twice,
    "in-view": InView,
    "overwrites-output": OverwritesOutput,
    "frozen": lambda: nn.Linear(6, 8).requires_grad_(False),
    "no-bias": lambda: nn.Linear(6, 8, bias=False),
}


@pytest.mark.parametrize("kind", FIRST_LAYERS)
def test_products_of_the_first_layer_are_kept_only_where_they_hold(kind):
    torch.manual_seed(0)
    model = nn.Sequential(FIRST_LAYERS[kind](), nn.Tanh(), nn.Linear(8, 4))
    batches = [(torch.randn(n, 6), torch.randint(0, 4, (n,))) for n in (6, 5, 6, 5)]
    case = zoo.Case(model=model, batches=batches)
    with lent(case) as evaluator:
        with evaluator.using(Way()) as losses:
            expected = losses(POINTS)
        with evaluator.using(Way(first_layer=True)) as losses:
            np.testing.assert_allclose(losses(POINTS * 2), expected * 2, rtol=WITHIN)
    if kind == "patched":
        assert "forward" in model[0].__dict__


def test_half_precision_keeps_no_products_of_the_first_layer():
    case = zoo.as_bf16(zoo.make("mlp"))
    with lent(case) as evaluator:
        assert evaluator.first_layers(Way()).is_empty
        with torch.autocast("cpu", torch.bfloat16):
            assert evaluator.first_layers(Way()).is_empty


def test_the_first_layer_of_data_is_found():
    for kind in ("cnn", "mlp", "decoder", "lora"):
        case = zoo.make(kind)
        with lent(case) as evaluator:
            assert not evaluator.first_layers(Way()).is_empty, kind
