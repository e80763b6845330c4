"""`log_loss_landscape`: grids and models, the same data at every step, and no failure reaches training."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import subprocess
import sys
import weakref
from collections import UserDict

import numpy as np
import pytest
import torch
from torch import nn

import trackio_like as trackio
from trackio_like._landscape import _frozen
from trackio_like.errors import TrackioLikeError, TrackioLikeWarning
from trackio_like.landscape import LossLandscape


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(root):
    with trackio.init("p") as run:
        yield run


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


class Loader:
    """Batches that are other ones each time, and a count of how often somebody asked."""

    def __init__(self):
        self.num_begun = 0

    def __iter__(self):
        self.num_begun += 1
        generator = torch.Generator().manual_seed(self.num_begun)
        for _ in range(3):
            yield torch.randn(8, 3, generator=generator), torch.randint(0, 2, (8,), generator=generator)


def landscapes(run, name=None):
    return trackio.Api().run("p", run.id).landscapes(name)


def bits(model):
    return {name: tensor.numpy().tobytes() for name, tensor in model.state_dict().items()}


# -- given ------------------------------------------------------------------------------------------------------------


def test_a_grid_is_stored_as_it_is(run):
    trackio.log({"a": 1.0}, step=5)
    trackio.log_loss_landscape(
        [[1.0, None, math.inf], [4, 5, 6]], name="mine", x_range=(0, 2), y_range=(3, 4), meta={"by": "me"}
    )
    [found] = landscapes(run)
    surface = found.load()
    assert (found.name, found.step, found.meta) == ("mine", 5, {"by": "me"})
    assert (surface.x_C.tolist(), surface.y_R.tolist()) == ([0, 1, 2], [3, 4])
    assert surface.is_known_RC.tolist() == [[True, False, True], [True, True, True]]
    assert surface.z_RC[surface.is_known_RC].tolist() == [1, math.inf, 4, 5, 6]


@pytest.mark.parametrize("make", [np.float32, torch.tensor, lambda rows: LossLandscape.from_grid(rows)])
def test_arrays_tensors_and_landscapes_are_grids(run, make):
    run.log_loss_landscape(make([[1.0, 2.0], [3.0, 4.0]]), step=-2)
    [found] = landscapes(run)
    assert found.step == -2
    assert (found.payload["x_range"], found.payload["y_range"]) == ([-1.0, 1.0], [-1.0, 1.0])
    assert found.load().z_RC.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("grid", "options", "reason"),
    [
        ([[1.0]], {}, "has 1 columns; it may have 2 to 250"),
        ([[1, 2], [3]], {}, "not a rectangle of numbers"),
        ([1, 2], {}, "must have two dimensions"),
        ([[1, 2], [3, 4]], {"x_range": (1, 0)}, r"x_range=\(1, 0\) is no range"),
        ([[1, 2], [3, 4]], {"name": ""}, "name='' is not a name"),
        ([[1, 2], [3, 4]], {"name": 3}, "name=3 is not a name"),
        ([[1, 2], [3, 4]], {"meta": [1]}, "meta= is a list; give a dict"),
        ([[1, 2], [3, 4]], {"progress": "yes"}, "progress='yes' is unknown"),
        ("no grid", {}, "not a rectangle of numbers"),
    ],
)
def test_what_is_no_grid_costs_one_warning_that_says_why(run, grid, options, reason):
    with pytest.warns(TrackioLikeWarning, match=f"No loss landscape was stored .*{reason}.* Training goes on") as told:
        trackio.log_loss_landscape(grid, **options)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert landscapes(run) == []


def test_a_loader_beside_a_grid_is_told_of(run):
    with pytest.warns(TrackioLikeWarning, match="the loader was not used"):
        trackio.log_loss_landscape([[1, 2], [3, 4]], Loader())
    assert len(landscapes(run)) == 1


def test_without_a_run_it_says_so():
    with pytest.warns(TrackioLikeWarning, match=r"log_loss_landscape\(\) was called with no run open"):
        trackio.log_loss_landscape([[1, 2], [3, 4]])


# -- evaluated --------------------------------------------------------------------------------------------------------


def test_a_model_is_evaluated_and_left_as_it_was(run, model):
    before = bits(model)
    trackio.log({"a": 1.0}, step=9)
    trackio.log_loss_landscape(model, Loader(), n=5, exact=True, meta={"seed": "mine", "note": "n"})
    assert bits(model) == before
    assert model.training
    [found] = landscapes(run)
    surface = found.load()
    batches = list(Loader())
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(x), y).item() for x, y in batches]
    assert surface.z_RC[2, 2] == pytest.approx(np.mean(losses), rel=1e-6)
    assert (found.step, found.payload["num_measured"]) == (9, 25)
    assert (found.meta["seed"], found.meta["note"]) == ("mine", "n")
    assert found.meta["num_batches"] == 3


def test_every_step_of_a_name_is_evaluated_on_the_batches_of_the_first(run, model):
    loader = Loader()
    for step in range(3):
        trackio.log_loss_landscape(model, loader, n=3, step=step)
    trackio.log_loss_landscape(model, n=3, step=3)
    trackio.log_loss_landscape(model, loader, n=3, name="other")
    assert loader.num_begun == 2
    assert len({found.meta["batches_sha256"] for found in landscapes(run, "loss_landscape")}) == 1
    assert len({found.meta["batches_sha256"] for found in landscapes(run)}) == 2
    assert len({found.payload["min"] for found in landscapes(run, "loss_landscape")}) == 1


def test_another_loader_is_not_used_and_told_of_once(run, model):
    trackio.log_loss_landscape(model, Loader(), n=3)
    other = Loader()
    with pytest.warns(TrackioLikeWarning, match=r"another loader than the first time.*another name="):
        trackio.log_loss_landscape(model, other, n=3, step=1)
    trackio.log_loss_landscape(model, other, n=3, step=2)  # a second warning would be an error
    assert other.num_begun == 0
    assert len({found.meta["batches_sha256"] for found in landscapes(run)}) == 1


def test_each_run_has_batches_of_its_own_and_they_go_with_it(root, model):
    loader = Loader()
    runs = [trackio.Run("p"), trackio.Run("p")]
    for run in runs:
        run.log_loss_landscape(model, loader, n=3)
    assert loader.num_begun == 2
    loader_ref = weakref.ref(loader)
    del loader
    assert loader_ref() is None, "the loader, and its workers, are not kept"
    assert all(run in _frozen for run in runs)
    for run in runs:
        run.finish()
    assert not any(run in _frozen for run in runs)


class Broken(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """Fails after a number of passes."""

    def __init__(self, error, after):
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.error = error
        # An iterator is nothing that is put back between the points, as a number would be.
        self.passes = itertools.count()
        self.after = after

    def forward(self, x):
        if next(self.passes) >= self.after:
            raise self.error
        return self.inner(x)


@pytest.mark.parametrize("after", [0, 1, 4, 20])
@pytest.mark.parametrize("error", [RuntimeError("no luck"), MemoryError("full"), KeyError("k"), AssertionError("odd")])
def test_a_model_that_fails_costs_one_warning_and_is_put_back(run, error, after):
    model = Broken(error, after)
    before = bits(model)
    with pytest.warns(
        TrackioLikeWarning, match=f"(?s)stored.*{error.args[0]}.*was put back.* training goes on"
    ) as told:
        trackio.log_loss_landscape(model, Loader(), n=5, exact=True)
    assert len(told) == 1
    assert bits(model) == before
    trackio.log({"a": 1.0})
    assert landscapes(run) == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mode": "quick"}, "mode='quick' is unknown; choose one of serial, vector"),
        ({"parallel": "huge"}, "'huge'.*low, medium, high, max"),
        ({"directions": "up"}, "choose one of random, hessian, trajectory"),
        ({"n": 1000}, "give 2 to 250"),
        ({"memory_budget": -1}, "no number of bytes"),
        ({"nbatches": 0}, "nbatches"),
    ],
)
def test_an_unknown_value_lists_the_choices(run, model, options, reason):
    with pytest.warns(TrackioLikeWarning, match=reason):
        trackio.log_loss_landscape(model, Loader(), **options)
    assert landscapes(run) == []


def test_a_model_without_data_says_what_it_needs(run, model):
    with pytest.warns(TrackioLikeWarning, match=r"needs data: log_loss_landscape\(model, loader\)"):
        trackio.log_loss_landscape(model)


def test_strict_raises(root, monkeypatch, model):
    monkeypatch.setenv("TRACKIO_STRICT", "1")
    before = bits(model)
    with trackio.init("p"):
        with pytest.raises(TrackioLikeError, match="mode='quick' is unknown"):
            trackio.log_loss_landscape(model, Loader(), mode="quick")
        with pytest.raises(TrackioLikeError, match="must have two dimensions"):
            trackio.log_loss_landscape([1, 2])
    assert bits(model) == before


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through_once_the_model_is_back_and_the_part_is_stored(run, model, kind):
    before = bits(model)

    def interrupt(num_measured, _num_planned):
        if num_measured == 30:
            raise kind

    with pytest.raises(kind):
        trackio.log_loss_landscape(model, Loader(), n=11, exact=True, mode="serial", progress=interrupt)
    assert bits(model) == before
    [found] = landscapes(run)
    assert 30 <= found.payload["num_measured"] < 121
    assert found.meta["is_complete"] is False


def test_a_part_that_cannot_be_stored_does_not_take_the_interrupts_place(run, model):
    class Odd(UserDict):
        def keys(self):
            raise OSError("odd")

    def interrupt(num_measured, _num_planned):
        if num_measured == 30:
            raise KeyboardInterrupt

    options = {"n": 11, "exact": True, "mode": "serial", "progress": interrupt, "meta": Odd(a=1)}
    with (
        pytest.warns(TrackioLikeWarning, match=r"was not stored \(OSError: odd\)"),
        pytest.raises(KeyboardInterrupt),
    ):
        trackio.log_loss_landscape(model, Loader(), **options)


def test_an_interrupt_before_the_first_point_stores_nothing(run):
    model = Broken(KeyboardInterrupt(), 0)
    before = bits(model)
    with pytest.raises(KeyboardInterrupt):
        trackio.log_loss_landscape(model, Loader(), n=5)
    assert bits(model) == before
    assert landscapes(run) == []


def test_progress_is_told_and_one_that_fails_is_not_called_again(run, model):
    told = []
    trackio.log_loss_landscape(model, Loader(), n=5, exact=True, progress=lambda *numbers: told.append(numbers))
    assert told[-1] == (25, 25)
    calls = []

    def broken(*numbers):
        calls.append(numbers)
        raise OSError("no terminal")

    with pytest.warns(TrackioLikeWarning, match="progress= failed .*no terminal.*evaluated without it"):
        trackio.log_loss_landscape(model, Loader(), n=5, exact=True, name="b", progress=broken)
    assert len(calls) == 1
    assert len(landscapes(run)) == 2


def test_the_time_limit_ends_it_and_what_was_measured_is_stored(run, model):
    trackio.log_loss_landscape(model, Loader(), n=250, exact=True, mode="serial", time_limit_s=0.3, progress=False)
    [found] = landscapes(run)
    assert 0 < found.payload["num_measured"] < 250**2
    assert "time limit" in found.meta["stopped"]


def test_without_torch_one_line_says_how_to_install_it_and_training_goes_on(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, json, warnings\n"
        "sys.modules['torch'] = None  # importing it raises, as where it is not installed\n"
        "import trackio_like as trackio\n"
        "class Model:\n"
        "    def parameters(self): return []\n"
        "run = trackio.init('p')\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    for step in range(3): trackio.log_loss_landscape(Model(), [], step=step)\n"
        "trackio.log_loss_landscape([[1, 2], [3, 4]])\n"
        "trackio.log({'a': 1.0})\n"
        "api = trackio.Api().run('p', run.id)\n"
        "grids = [landscape.load().z_RC.tolist() for landscape in api.landscapes()]\n"
        "print(json.dumps([[str(warning.message) for warning in told], grids, api.num_rows]))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, grids, num_rows = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 1
    assert "pip install 'trackio-like[torch]'" in told[0]
    assert (grids, num_rows) == ([[[1, 2], [3, 4]]], 1)


def test_a_rank_that_stores_nothing_evaluates_all_the_same_and_says_nothing(root, model, monkeypatch):
    monkeypatch.setenv("TRACKIO_RUN_ID", "job")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    loader = Loader()
    with trackio.init("p"):
        trackio.log_loss_landscape(model, loader, n=3)
    assert loader.num_begun == 1
    assert not (root / "p" / "job" / "media").exists()


def test_help_shows_the_options_of_the_modules_function():
    function = inspect.signature(trackio.log_loss_landscape).parameters
    method = inspect.signature(trackio.Run.log_loss_landscape).parameters
    assert list(function) == list(method)[1:]
    assert (function["n"].default, function["tolerance"].default) == (51, 0.01)
