"""An evaluation stays within its memory budget, and says how much it needs where it cannot."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.landscape import zoo
from trackio_like.landscape import DEFAULT_MEMORY_BUDGET, PARALLEL_PRESETS, Evaluation, LandscapeError, NeedsMemoryError
from trackio_like.landscape.plan import Needs, Way, chosen_chunk, serial_plan, vector_ways

MIB = 1 << 20
ROOT = Path(__file__).parents[2]

sizes = st.integers(1, 1 << 32)
needs_of = st.builds(
    Needs,
    moved_bytes=sizes,
    direction_bytes=sizes,
    forward_fixed_bytes=st.floats(0, 1e9),
    forward_bytes_per_sample=st.floats(0, 1e9),
    largest_weight_bytes=sizes,
    backup_bytes=sizes,
    data_bytes=sizes,
    largest_batch=st.integers(1, 1024),
)


def plan(needs, budget, *, is_cuttable=True, num_samples=512):
    return serial_plan(needs, budget_bytes=budget, is_cuttable=is_cuttable, num_samples=num_samples)


def wanted(error) -> int:
    """The number of bytes that a message asks for."""
    found = re.search(r"memory_budget=(\d+)", str(error))
    assert found is not None
    return int(found[1])


@given(needs=needs_of, budget=sizes, is_cuttable=st.booleans())
def test_a_plan_fits_the_budget_or_says_what_would(needs, budget, is_cuttable):
    try:
        found = plan(needs, budget, is_cuttable=is_cuttable)
    except NeedsMemoryError as error:
        enough = wanted(error)
        assert enough > budget
        found, budget = plan(needs, enough, is_cuttable=is_cuttable), enough
    assert needs.of(found.way, keeps_directions=found.keeps_directions) <= budget
    assert found.way.batch_size is None or is_cuttable
    if found.max_batch is not None:
        way = Way(batch_size=found.max_batch)
        assert needs.of(way, keeps_directions=found.keeps_directions) <= budget


NEEDS = Needs(
    moved_bytes=10, direction_bytes=100, forward_fixed_bytes=0.0, forward_bytes_per_sample=10.0,
    largest_weight_bytes=20, backup_bytes=10, data_bytes=50, largest_batch=64,
)  # fmt: skip


@pytest.mark.parametrize(
    ("budget", "batch_size", "keeps_directions"),
    [
        (10 + 200 + 640, None, True),
        (10 + 200 + 639, 32, True),
        (10 + 200 + 50 + 10, 1, True),
        (10 + 200 + 50 + 9, 8, False),  # 60 of directions made anew, 50 of data and 8 samples are 200
        (10 + 60 + 50 + 10, 1, False),
    ],
)
def test_what_does_not_fit_retreats_in_order(budget, batch_size, keeps_directions):
    found = plan(NEEDS, budget)
    assert (found.way.batch_size, found.keeps_directions) == (batch_size, keeps_directions)


def test_batches_that_may_not_be_cut_stay_as_they_came():
    assert plan(NEEDS, 10 + 60 + 640, is_cuttable=False).way.batch_size is None
    with pytest.raises(NeedsMemoryError, match="smaller batches"):
        plan(NEEDS, 10 + 60 + 639, is_cuttable=False)


@given(needs=needs_of, budget=sizes)
def test_vector_chunks_fit_the_budget(needs, budget):
    ways = vector_ways(needs, Way(batch_size=4), budget_bytes=budget, most=2601)
    assert all(needs.of(way) <= budget for way in ways)
    assert [way.chunk for way in ways] == [4**i for i in range(len(ways))]


@pytest.mark.parametrize("preset", PARALLEL_PRESETS)
def test_a_preset_is_so_many_bytes_of_moved_weights(preset):
    found = chosen_chunk(NEEDS, chunk=None, parallel=preset, num_points=10**9)
    assert found == PARALLEL_PRESETS[preset] // NEEDS.moved_bytes
    assert chosen_chunk(NEEDS, chunk=None, parallel=preset, num_points=7) == 7


def test_a_chunk_is_as_asked_for_up_to_all_points():
    assert chosen_chunk(NEEDS, chunk=5, parallel="max", num_points=9) == 5
    assert chosen_chunk(NEEDS, chunk=50, parallel=None, num_points=9) == 9
    assert chosen_chunk(NEEDS, chunk=None, parallel=None, num_points=9) is None


def test_what_a_model_needs_is_told_and_enough():
    torch.manual_seed(0)
    case = zoo.Case(model=nn.Linear(2000, 500), batches=[(torch.randn(8, 2000), torch.randint(0, 500, (8,)))])

    def evaluate(budget):
        Evaluation(case.model, case.batches, n=2, exact=True, mode="serial", memory_budget=budget).run()

    with pytest.raises(NeedsMemoryError, match="beside the model, and the budget is") as found:
        evaluate(1 * MIB)
    enough = wanted(found.value)
    assert 2000 * 500 * 4 < enough < 40 * MIB
    evaluate(enough)
    with pytest.raises(NeedsMemoryError):
        evaluate(enough // 2)


def test_directions_that_do_not_fit_are_made_anew_at_each_point():
    case = zoo.Case(model=zoo.mlp((300, 300, 300, 300, 300, 4)), batches=[(torch.randn(4, 300), torch.arange(4))])
    found = []
    for budget in (64 * MIB, 3 * MIB):
        evaluation = Evaluation(case.model, case.batches, n=3, exact=True, mode=None, memory_budget=budget)
        evaluation.run()
        found.append(evaluation.result().z_RC)
    assert evaluation.result().meta["mode"] == "serial"
    assert abs(found[0] - found[1]).max() <= 1e-6 * abs(found[0]).max()


def test_vector_mode_without_room_says_so_and_is_serial():
    case = zoo.Case(model=zoo.mlp((300, 300, 300, 300, 300, 4)), batches=[(torch.randn(4, 300), torch.arange(4))])
    evaluation = Evaluation(case.model, case.batches, n=3, exact=True, mode="vector", memory_budget=3 * MIB)
    evaluation.run()
    meta = evaluation.result().meta
    assert meta["mode"] == "serial"
    assert "memory budget" in " ".join(meta["notes"])


def test_a_budget_that_is_none_is_refused():
    for budget in (0, -1, 1.5, "1 GiB", True):
        with pytest.raises(LandscapeError, match="no number of bytes"):
            Evaluation(nn.Linear(2, 2), [torch.zeros(2)], memory_budget=budget)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the high-water mark")
@pytest.mark.parametrize(
    ("side", "options"),
    [
        (16, {}),
        (32, {"memory_budget": 64 * MIB}),
        (16, {"memory_budget": 96 * MIB, "mode": "vector"}),
    ],
)
def test_memory_rises_no_further_than_the_budget(side, options):
    command = [
        sys.executable,
        "-m",
        "tests.landscape.memory_of",
        str(side),
        json.dumps({"time_limit_s": 1.5, **options}),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["measured"] >= 1
    budget = options.get("memory_budget", DEFAULT_MEMORY_BUDGET)
    assert found["rise"] <= 1.2 * budget + 64 * MIB, found
