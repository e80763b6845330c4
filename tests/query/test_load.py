"""Few files and many files are read by different means and give the same points."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.store.recording import Recorded
from trackio_like.query.load import load_few, load_many, load_points
from trackio_like.store.faults import Faults
from trackio_like.store.follow import RunFollower
from trackio_like.store.shard_files import ShardRead


@pytest.fixture
def reads(tmp_path: Path) -> list[ShardRead]:
    run = Recorded(tmp_path)
    writer = run.writer()
    for part in range(3):
        for step in (5, 3, 3, 9):
            run.log(writer, step + part, a=step * 1.5, **({"b": math.nan, "ü": -0.0} if step == 3 else {}))
        run.seal(writer)
    run.drop_journal(writer)
    writer.close()
    return RunFollower(run.folder.path, faults=Faults()).advance().reads


@pytest.mark.parametrize("keys", [["a"], ["b"], ["ü", "a"], ["b", "a", "no such key", "ü"], ["zzz"]])
@pytest.mark.parametrize("after", [0, 2, 4])
def test_both_ways_give_the_same_points(reads, keys, after):
    reads = [ShardRead(shard=read.shard, after=read.shard.name.first + after - 1) for read in reads]
    few, many = load_few(reads, keys), load_many(reads, keys)
    assert few.keys() == many.keys()
    for found, columns in few.items():
        for name in ("seq_N", "step_N", "time_N", "value_N"):
            np.testing.assert_array_equal(getattr(columns, name), getattr(many[found], name))
        assert (np.diff(columns.seq_N) > 0).all()


def test_points_come_back_in_the_order_of_the_calls(reads):
    assert load_points(reads[:1], ["a"])[0, "a"].step_N.tolist() == [5, 3, 3, 9]


def test_nothing_is_read_where_nothing_is_asked(reads):
    assert load_points(reads, []) == {}
    assert load_points([], ["a"]) == {}
