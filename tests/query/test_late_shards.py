"""A copy of a run may get its shards in any order; what is shown ends up the same."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.recording import Recorded
from trackio_like.query.index import ProjectIndex
from trackio_like.query.lanes import draw
from trackio_like.query.series import SeriesId
from trackio_like.shards.compact import merge_shards
from trackio_like.store.shard_files import parse_shard_names

NUM_CALLS = 6


def drawn(index, run_id):
    id_ = SeriesId(run_id=run_id, kind="metrics", key="a")
    series = index.series([id_]).get(id_)
    lanes = () if series is None else draw(series, axis="step", origin_us=0, x_series=None)
    return sorted(float(x) for lane in lanes for x in lane.x)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A run whose writer left one shard a call, and merged ones beside them."""
    run = Recorded(tmp_path_factory.mktemp("source"))
    writer = run.writer()
    writer.event("init", {"name": "r", "config": {}, "attempt": 1})
    for step in range(NUM_CALLS):
        run.log(writer, step, a=float(step))
        run.seal(writer)
    writer.event("finish", {"state": "finished"})
    writer.close()
    run.drop_journal(writer)
    folder = run.folder.shards("metrics")
    single = sorted(parse_shard_names(os.listdir(folder)))
    merge_shards(folder, "metrics", single[:3])
    merge_shards(folder, "metrics", single[1:5])
    merge_shards(folder, "metrics", single)
    return run


@given(data=st.data())
def test_a_run_whose_shards_come_in_any_order_is_drawn_whole(source, tmp_path_factory, data):
    root = tmp_path_factory.mktemp("mirror")
    paths = [*source.shard_paths("metrics"), *source.shard_paths("events")]
    order = data.draw(st.permutations(paths))
    looked = data.draw(st.sets(st.integers(0, len(paths))))
    index = ProjectIndex(root, "p", look_interval_s=0.0)
    for number, path in enumerate(order):
        target = root / path.relative_to(source.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        if number in looked:
            index.refresh()
            drawn(index, source.run_id)
    for _ in range(3):
        index.refresh()
    assert drawn(index, source.run_id) == [float(step) for step in range(NUM_CALLS)]
    assert index.runs()[0].summaries["metrics"].of("a").count == NUM_CALLS
