"""What may be asked of an evaluation, and what an interrupted one leaves."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.landscape import reference, zoo
from tests.module_state import fingerprint
from trackio_like.landscape import Evaluation, LandscapeError, evaluate_grid, filter_normalized_directions
from trackio_like.landscape.axes import axis

BATCHES = [(torch.linspace(-1, 1, 30).reshape(5, 6), torch.arange(5) % 4)]


def evaluated(**options):
    evaluation = Evaluation(zoo.make("mlp").model, BATCHES, **{"n": 3, "exact": True, **options})
    evaluation.run()
    return evaluation.result()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "fast"}, "mode='fast' is unknown; choose one of serial, vector"),
        ({"params": "some"}, "params='some' is unknown; choose one of trainable, all"),
        ({"bn": "train"}, "bn='train' is unknown; choose one of eval, recalibrate"),
        ({"precision": "fp8"}, "precision='fp8' is unknown; choose one of bf16"),
        ({"directions": "pca"}, "directions='pca' is unknown; choose one of random, hessian, trajectory"),
        ({"parallel": "huge"}, "parallel='huge' is unknown; choose one of low, medium, high, max"),
        ({"chunk": 0}, "chunk=0 is no number of points"),
        ({"chunk": "4"}, "chunk='4' is no number of points"),
        ({"directions": [1, 2, 3]}, "a pair of directions of your own"),
        ({"directions": 3}, "a pair of directions of your own"),
        ({"directions": "trajectory"}, "needs checkpoints="),
        ({"model_b": {}, "directions": "hessian"}, "leave directions= out"),
        ({"n": 1}, "give 2 to 250"),
        ({"n": 251}, "give 2 to 250"),
        ({"n": 5.0}, "give 2 to 250"),
        ({"n": True}, "give 2 to 250"),
        ({"n": None}, "give 2 to 250"),
        ({"x_range": (1, -1)}, "x_range=(1, -1) is no range"),
        ({"y_range": (0, float("nan"))}, "is no range"),
        ({"y_range": (0, float("inf"))}, "is no range"),
        ({"x_range": 3}, "x_range=3 is no range"),
        ({"x_range": (1, 2, 3)}, "is no range"),
        ({"tolerance": 0}, "tolerance=0 is no share"),
        ({"tolerance": 1}, "tolerance=1 is no share"),
        ({"tolerance": float("nan")}, "is no share"),
        ({"seed": -1}, "seed=-1 is no seed"),
        ({"seed": "a"}, "seed='a' is no seed"),
        ({"workers": -1}, "workers=-1 is no number"),
        ({"time_limit_s": 0}, "time_limit_s=0 is no time"),
        ({"time_limit_s": float("nan")}, "is no time"),
    ],
    ids=str,
)
def test_a_value_that_is_none_of_the_choices_says_what_they_are(options, says):
    with pytest.raises(LandscapeError) as found:
        evaluated(**options)
    assert says in str(found.value)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="smoothness"):
        evaluated(smoothness=1)


def test_numbers_of_numpy_are_numbers():
    found = evaluated(n=np.int64(4), seed=np.int64(3), nbatches=np.int64(1), x_range=np.array([-1.0, 1.0]))
    assert found.z_RC.shape == (4, 4)
    json.dumps(dict(found.meta))


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_losses_are_of_the_points_that_the_axes_say(mode):
    case = zoo.make("cnn")
    delta, eta = filter_normalized_directions(case.model, 7)
    evaluation = Evaluation(
        case.model, case.batches, n=4, exact=True, seed=7, mode=mode, x_range=(0.25, 2), y_range=(-3, -0.5)
    )
    evaluation.run()
    found = evaluation.result()
    np.testing.assert_allclose(found.x_C, [0.25, 0.25 + 1.75 / 3, 0.25 + 3.5 / 3, 2])
    np.testing.assert_allclose(found.y_R, [-3, -3 + 2.5 / 3, -3 + 5 / 3, -0.5])
    for row, col in ((0, 0), (0, 3), (3, 0), (2, 1)):
        point = reference.surface(case, delta, eta, [found.x_C[col]], [found.y_R[row]])
        assert found.z_RC[row, col] == pytest.approx(point[0, 0], rel=1e-6)
    centre = reference.surface(case, delta, eta, [0], [0])[0, 0]
    assert found.meta["loss_at_center"] == pytest.approx(centre, rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 6, 8, 11])
def test_0_is_a_point_of_the_grid_and_its_loss_the_models(n):
    found = evaluated(n=n, x_range=(-0.3, 1), y_range=(-1, 0.4))
    if n > 2:
        (row,), (col,) = np.flatnonzero(found.y_R == 0), np.flatnonzero(found.x_C == 0)
        assert found.z_RC[row, col] == found.meta["loss_at_center"]
    with torch.no_grad():
        loss = float(nn.functional.cross_entropy(zoo.make("mlp").model(BATCHES[0][0]), BATCHES[0][1]))
    assert found.meta["loss_at_center"] == pytest.approx(loss, rel=1e-6)


@given(
    num=st.integers(2, 250),
    low=st.floats(-10, 10),
    width=st.floats(0.01, 20),
    knots=st.sampled_from([(0.0,), (0.0, 1.0)]),
)
def test_an_axis_rises_from_end_to_end_through_its_knots(num, low, width, knots):
    coordinates = axis(num, (low, low + width), knots=knots)
    assert len(coordinates) == num
    assert coordinates[0] == low
    assert coordinates[-1] == low + width
    assert (np.diff(coordinates) > 0).all()
    inner = [knot for knot in knots if low < knot < low + width]
    assert set(inner[: num - 2]) <= set(coordinates.tolist())


def test_a_line_is_one_row_at_0():
    found = evaluated(line=True, n=7, mode="serial")
    assert found.z_RC.shape == (1, 7)
    assert found.y_R.tolist() == [0]
    np.testing.assert_array_equal(found.z_RC[0], evaluated(n=7, mode="serial").z_RC[3])


def test_one_direction_of_ones_own_is_drawn_along_x():
    model = zoo.make("mlp").model
    delta, _ = filter_normalized_directions(model)
    evaluation = Evaluation(model, BATCHES, n=3, exact=True, directions=[delta], line=True)
    evaluation.run()
    assert evaluation.result().z_RC.std() > 0


def test_directions_by_name_are_those_in_order():
    model = zoo.make("tied-transformer").model
    batches = zoo.make("tied-transformer").batches
    delta, eta = filter_normalized_directions(model)
    names = [name for name, _ in model.named_parameters()]
    by_name = [dict(zip(names, tensors, strict=True)) for tensors in (delta, eta)]
    by_name[0]["head.weight"] = by_name[0].pop("embedding.weight")  # the tied weight by its other name
    np.testing.assert_array_equal(
        evaluate_grid(model, batches, delta, eta, n=3, mode="serial"),
        evaluate_grid(model, batches, *by_name, n=3, mode="serial"),
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tensors: tensors[:-1], "has 5 tensors and the model 6 parameters"),
        (lambda tensors: [torch.zeros(3, 3), *tensors[1:]], r"the shape \(3, 3\); the parameter has \(12, 6\)"),
        (lambda tensors: {"0.scale": tensors[0]}, r"no parameter '0\.scale'"),
    ],
)
def test_directions_that_do_not_fit_say_why(change, says):
    model = zoo.make("mlp").model
    delta, eta = filter_normalized_directions(model)
    with pytest.raises(LandscapeError, match=says):
        evaluate_grid(model, BATCHES, change(delta), eta, n=3)


def test_all_parameters_may_be_moved_by_ones_own_directions():
    model = zoo.make("lora").model
    batches = zoo.make("lora").batches
    delta = [torch.randn(p.shape) * 0.1 for p in model.parameters()]
    eta = [torch.randn(p.shape, dtype=torch.float64) * 0.1 for p in model.parameters()]
    case = zoo.Case(model=model, batches=batches)
    for mode in ("serial", "vector"):
        found = evaluate_grid(model, batches, delta, eta, n=3, mode=mode)
        np.testing.assert_allclose(found, reference.surface(case, delta, eta, [-1, 0, 1], [-1, 0, 1]), rtol=1e-6)


def test_a_grid_takes_all_batches_unless_told_otherwise():
    case = zoo.make("mlp")
    delta, eta = filter_normalized_directions(case.model)
    every, two = (evaluate_grid(case.model, case.batches, delta, eta, n=3, nbatches=num) for num in (None, 2))
    np.testing.assert_allclose(every[1, 1], reference.surface(case, delta, eta, [0], [0])[0, 0], rtol=1e-6)
    case = zoo.Case(model=case.model, batches=case.batches[:2])
    np.testing.assert_allclose(two[1, 1], reference.surface(case, delta, eta, [0], [0])[0, 0], rtol=1e-6)
    with pytest.raises(LandscapeError, match="no number of batches"):
        evaluate_grid(case.model, case.batches, delta, eta, n=3, nbatches=0)


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_a_time_limit_keeps_what_was_measured(mode):
    found = evaluated(n=250, exact=True, time_limit_s=0.01, mode=mode)
    assert 0 < found.is_measured_RC.sum() < 250 * 250
    assert found.meta["is_complete"] is False
    assert found.meta["stopped"] == "the time limit of 0.01 s was reached"
    assert np.isfinite(found.z_RC[found.is_measured_RC]).all()


def test_the_loss_at_the_centre_is_measured_however_short_the_time():
    found = evaluated(n=5, time_limit_s=1e-9)
    assert found.is_measured_RC.sum() >= 1
    assert found.z_RC[2, 2] == found.meta["loss_at_center"]
    model = zoo.make("mlp").model
    assert np.isfinite(
        evaluate_grid(model, BATCHES, *filter_normalized_directions(model), n=3, time_limit_s=1e-9)[1, 1]
    )


class Interrupted:
    """A criterion that is interrupted at the k-th call."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, output, target):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return nn.functional.cross_entropy(output, target)


@pytest.mark.parametrize("at", [1, 5, 12, 40, 100])
def test_an_interrupted_evaluation_leaves_what_was_measured(at):
    model = zoo.make("mlp").model
    before = fingerprint.of_module(model)
    evaluation = Evaluation(model, BATCHES, n=11, exact=True, mode="serial", criterion=Interrupted(at))
    with pytest.raises(KeyboardInterrupt):
        evaluation.run()
    assert fingerprint.changes(before, fingerprint.of_module(model)) == []
    found = evaluation.result()
    if found is None:
        assert at < 12, "trials and the memory count take a few calls"
        return
    assert found.meta["is_complete"] is False
    whole = evaluated(n=11, mode="serial", criterion=nn.CrossEntropyLoss())
    np.testing.assert_allclose(found.z_RC[found.is_measured_RC], whole.z_RC[found.is_measured_RC], rtol=1e-6)
    assert np.isnan(found.z_RC[~found.is_known_RC]).all()


def test_an_evaluation_may_be_run_again_after_an_interruption():
    model = zoo.make("mlp").model
    evaluation = Evaluation(model, BATCHES, n=5, exact=True, mode="serial", criterion=Interrupted(20))
    with pytest.raises(KeyboardInterrupt):
        evaluation.run()
    evaluation.run()
    found = evaluation.result()
    assert found.meta["is_complete"] is True
    assert found.is_measured_RC.all()


def test_progress_is_told_up_to_what_was_planned():
    told = []
    evaluated(n=5, on_progress=lambda measured, planned: told.append((measured, planned)))
    assert [measured for measured, _ in told] == list(range(told[0][0], 26))
    assert told[-1] == (25, 25)


def test_how_it_was_done_is_said():
    meta = evaluated(mode="serial").meta
    assert meta["mode"] == "serial"
    assert meta["device"] == "cpu"
    assert meta["dtype"] == "float32"
    assert meta["num_batches"] == 1
    assert meta["num_samples"] == 5
    assert len(meta["batches_sha256"]) == 64
    assert meta["num_moved"] == 6 * 12 + 12 * 12 + 12 * 4
    assert meta["dead_share"] == 0
    assert meta["torch"] == torch.__version__
    assert meta["is_complete"] is True
    assert meta["error_estimate"] == 0
    assert math.isfinite(meta["serial_ms_per_point"])


def test_nothing_to_say_before_it_was_run():
    assert Evaluation(zoo.mlp(), BATCHES).result() is None


def test_bf16_on_request_is_near():
    plain, rounded = evaluated(), evaluated(precision="bf16")
    assert rounded.meta["precision"] == "bf16"
    np.testing.assert_allclose(rounded.z_RC, plain.z_RC, rtol=3e-2)
    assert not np.array_equal(rounded.z_RC, plain.z_RC)


def test_another_seed_is_another_plane_with_the_same_centre():
    first, second, again = (evaluated(seed=seed, mode="serial") for seed in (1, 2, 1))
    np.testing.assert_array_equal(first.z_RC, again.z_RC)
    assert first.z_RC[1, 1] == second.z_RC[1, 1]
    assert first.z_RC[0, 0] != second.z_RC[0, 0]


def test_a_model_of_norm_layers_and_biases_says_what_to_do():
    model = nn.Sequential(nn.LayerNorm(6), nn.Flatten())
    with pytest.raises(LandscapeError, match="params='all', or directions of your own"):
        Evaluation(model, BATCHES).run()
