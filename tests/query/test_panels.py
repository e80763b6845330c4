"""A page that applies the answers holds what is on disk."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.recording import Recorded
from trackio_like.journal.writer import JournalWriter
from trackio_like.query.index import ProjectIndex
from trackio_like.query.panels import Curve, PanelQuery, curves
from trackio_like.query.series import SeriesCache, SeriesId

Points = list[tuple[float, float]]


class Page:
    """One chart of a page."""

    def __init__(self, index: ProjectIndex, **query: Any) -> None:
        self.index = index
        self.query: dict[str, Any] = {"key": "a", "num_buckets": 5000, **query}
        self.since = 0
        self.lanes: dict[tuple[str, int], Points] = {}
        self.modes: list[str] = []

    def poll(self) -> list[Curve]:
        self.index.refresh()
        run_ids = tuple(run.run_id for run in self.index.runs())
        found = curves(self.index, PanelQuery(run_ids=run_ids, since=self.since, **self.query))
        for curve in found:
            points = list(zip(curve.x_K.tolist(), curve.y_K.tolist(), strict=True))
            lane = (curve.run_id, curve.lane)
            self.lanes[lane] = points if curve.mode == "replace" else self.lanes[lane] + points
        self.modes = [curve.mode for curve in found]
        self.since = self.index.cursor
        return found


def drawn(root: Path, **query: Any) -> list[Points]:
    """What a new page draws, lane by lane."""
    page = Page(ProjectIndex(root, "p"), **query)
    page.poll()
    return [points for _, points in sorted(page.lanes.items())]


def test_points_are_sorted_by_step_and_repeated_steps_kept(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step, value in [(249, 1.0), (203, 2.0), (203, 3.0), (300, 4.0)]:
        run.log(writer, step, a=value)
    writer.close()
    assert drawn(tmp_path) == [[(203, 2), (203, 3), (249, 1), (300, 4)]]


def test_a_later_attempt_replaces_from_where_it_begins(tmp_path: Path):
    run = Recorded(tmp_path)
    first, second = run.writer(), run.writer(attempt=2)
    for step in range(6):
        run.log(first, step, a=10.0 + step, old=1.0)
    for step in range(3, 5):
        run.log(second, step, a=20.0 + step)
    assert drawn(tmp_path) == [[(0, 10), (1, 11), (2, 12), (3, 23), (4, 24)]]
    assert len(drawn(tmp_path, key="old")[0]) == 6
    first.close()
    second.close()


def test_writers_of_one_attempt_are_drawn_apart_in_the_order_of_their_ranks(tmp_path: Path):
    run = Recorded(tmp_path)
    one, zero, again = run.writer(rank=1), run.writer(rank=0), run.writer(attempt=2)
    run.log(one, 0, a=1.0)
    run.log(zero, 0, a=0.0)
    assert drawn(tmp_path) == [[(0, 0)], [(0, 1)]]
    run.log(again, 1, a=2.0)
    assert drawn(tmp_path) == [[(0, 0), (1, 2)], [(0, 1)]]
    for writer in (one, zero, again):
        writer.close()


def test_a_metric_as_x_takes_the_same_row_else_the_last_one_before(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    run.log(writer, 1, epoch=5.0)
    run.log(writer, 2, a=2.0)
    run.log(writer, 3, a=3.0, epoch=4.0)
    run.log(writer, 4, a=4.0, epoch=math.nan)
    assert drawn(tmp_path, axis="metric:epoch") == [[(4, 3), (5, 2)]]
    assert drawn(tmp_path, axis="metric:nothing") == [[]]
    writer.close()


def test_time_axes_are_seconds(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    run.log(writer, 0, b=1.0)
    run.log(writer, 1, a=1.0)
    [[(relative, _)]] = drawn(tmp_path, axis="relative")
    [[(wall, _)]] = drawn(tmp_path, axis="time")
    assert 0 <= relative < 5
    assert abs(wall - writer.now_us() / 1e6) < 5
    writer.close()


def test_new_points_are_sent_alone_and_nothing_when_nothing_is_new(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    page = Page(ProjectIndex(tmp_path, "p"))
    page.poll()
    assert page.modes == ["replace"]
    page.poll()
    assert page.modes == []
    run.log(writer, 1, a=2.0)
    [curve] = page.poll()
    assert (curve.mode, curve.x_K.tolist(), curve.num_points) == ("append", [1.0], 2)
    run.log(writer, 2, b=2.0)
    page.poll()
    assert page.modes == []
    run.log(writer, 0, a=3.0)
    page.poll()
    assert page.modes == ["replace"]
    assert list(page.lanes.values()) == [[(0, 1), (0, 3), (1, 2)]]
    writer.close()


def test_a_window_is_fetched_finer_and_left_alone_while_points_come_elsewhere(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(2000):
        run.log(writer, step, a=math.nan if step == 510 else float(step))
    page = Page(ProjectIndex(tmp_path, "p"), num_buckets=100, x0=500, x1=520)
    [curve] = page.poll()
    assert curve.x_K.tolist() == list(range(499, 522))
    assert (curve.num_points, curve.num_non_finite, curve.is_exact) == (21, 1, True)
    run.log(writer, 2000, a=1.0)
    assert page.poll() == []
    run.log(writer, 505, a=-1.0)
    assert page.poll()[0].num_points == 22
    writer.close()


def test_an_unknown_axis_and_no_buckets_are_refused():
    with pytest.raises(ValueError, match="step, relative, time, metric:<key>"):
        PanelQuery(key="a", run_ids=(), num_buckets=1, axis="steps")
    with pytest.raises(ValueError, match="1 to"):
        PanelQuery(key="a", run_ids=(), num_buckets=0)


def test_a_deleted_run_goes_and_comes_back_whole(tmp_path: Path):
    run, dashboard = Recorded(tmp_path), None
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    page = Page(ProjectIndex(tmp_path, "p"))
    page.poll()
    dashboard = run.writer()
    before = page.index.cursor
    dashboard.event("delete", {})
    assert page.poll() == []
    assert page.index.removed(since=before) == [run.run_id]
    assert page.index.runs() == []
    dashboard.event("restore", {})
    page.poll()
    assert page.modes == ["replace"]
    assert page.index.removed(since=before) == []
    writer.close()
    dashboard.close()


def test_keys_that_only_a_deleted_run_has_go_with_it(tmp_path: Path):
    first, second = Recorded(tmp_path), Recorded(tmp_path)
    one, two = first.writer(), second.writer()
    first.log(one, 0, a=1.0, b=1.0)
    second.log(two, 0, c=1.0, b=1.0)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    assert set(index.keys) == {"a", "b", "c"}
    two.event("delete", {})
    index.refresh()
    assert set(index.keys) == {"a", "b"}
    assert index.keys_changed_at == index.cursor
    one.close()
    two.close()
    shutil.rmtree(first.folder.path)
    index.refresh()
    assert index.keys == []
    assert index.removed(since=1) == sorted([first.run_id, second.run_id])


def test_a_run_whose_folder_is_replaced_is_drawn_anew(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(3):
        run.log(writer, step, a=1.0)
    writer.close()
    page = Page(ProjectIndex(tmp_path, "p"))
    page.poll()
    shutil.rmtree(run.folder.path)
    page.poll()
    again = Recorded(tmp_path, run_id=run.run_id)
    writer = again.writer()
    again.log(writer, 7, a=2.0)
    page.poll()
    assert list(page.lanes.values()) == [[(7, 2)]]
    writer.close()


changes = st.tuples(
    st.sampled_from(["log", "log", "log", "back", "seal", "compact", "drop", "poll", "poll", "evict"]),
    st.integers(0, 3),
)
axes = st.sampled_from(["step", "relative", "time", "metric:b"])


@given(steps=st.lists(changes, max_size=50), axis=axes)
def test_a_page_that_follows_draws_what_a_new_one_draws(tmp_path_factory, steps, axis):
    root = tmp_path_factory.mktemp("root")
    run = Recorded(root)
    writers = [run.writer(attempt=1 + n // 2, rank=n % 2, segment_bytes=1000) for n in range(4)]
    cache = SeriesCache(max_bytes=1 << 20)
    page = Page(ProjectIndex(root, "p", cache=cache), axis=axis)

    def change(step: str, number: int, writer: JournalWriter) -> None:
        if step == "log":
            run.log(writer, number, a=float(number), **({"b": number / 2} if number % 3 else {}))
        elif step == "back":
            run.log(writer, max(0, number - 5), a=math.nan)
        elif step == "seal":
            run.seal(writer)
        elif step == "compact":
            run.compact(*writers)
        elif step == "drop":
            run.drop_covered()
        elif step == "evict":
            cache.drop_run(run.run_id)
        else:
            page.poll()

    for number, (step, which) in enumerate(steps):
        change(step, number, writers[which])
    page.poll()
    expected = drawn(root, axis=axis)
    got = [points for _, points in sorted(page.lanes.items())]
    assert [len(lane) for lane in got] == [len(lane) for lane in expected]
    for lane, truth in zip(got, expected, strict=True):
        np.testing.assert_array_equal(np.array(lane), np.array(truth))
    for writer in writers:
        writer.close()


def test_a_series_in_many_pieces_is_as_good_as_one_in_one(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    values = np.random.default_rng(0).normal(size=500).tolist()
    for step, value in enumerate(values):
        run.log(writer, step, a=value)
        if step % 100 == 50:
            run.seal(writer)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    [curve] = curves(index, PanelQuery(key="a", run_ids=(run.run_id,), num_buckets=1000))
    assert curve.y_K.tolist() == values
    writer.close()


def test_a_shard_that_went_after_it_was_listed_is_looked_for_again(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(5):
        run.log(writer, step, a=float(step))
        run.seal(writer)
    writer.close()
    run.drop_journal(writer)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    run.compact(writer)
    run.drop_covered()
    [curve] = curves(index, PanelQuery(key="a", run_ids=(run.run_id,), num_buckets=10))
    assert curve.y_K.tolist() == [0, 1, 2, 3, 4]
    assert len(index.faults) == 0


def test_a_shard_damaged_behind_its_footer_costs_its_own_rows_only(tmp_path: Path, caplog):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(2):
        run.log(writer, step, a=float(step))
        run.seal(writer)
    writer.close()
    run.drop_journal(writer)
    path = run.shard_paths()[0]
    data = bytearray(path.read_bytes())
    data[4:400] = b"\xff" * 396
    path.write_bytes(data)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    [curve] = curves(index, PanelQuery(key="a", run_ids=(run.run_id,), num_buckets=10))
    assert curve.y_K.tolist() == [1.0]
    assert str(path) in caplog.text


def test_a_writer_that_began_earlier_and_arrives_later_moves_all_relative_x(tmp_path: Path):
    elsewhere = Recorded(tmp_path / "elsewhere")
    early, late = elsewhere.writer(rank=1), elsewhere.writer(rank=0)
    elsewhere.log(early, 0, b=1.0)
    for step in range(3):
        elsewhere.log(late, step, a=1.0)
    here = Recorded(tmp_path / "here", run_id=elsewhere.run_id)
    here.folder.journal.mkdir(parents=True)
    page = Page(ProjectIndex(here.root, "p"), axis="relative")
    for writer in (late, early):
        writer.close()
        name = f"{writer.header.writer}.1.journal"
        shutil.copy(elsewhere.folder.journal / name, here.folder.journal / name)
        page.poll()
        assert list(page.lanes.values()) == drawn(here.root, axis="relative")


def test_points_stay_where_they_are_when_their_writer_begins_to_log_the_axis(tmp_path: Path):
    run = Recorded(tmp_path)
    one, other = run.writer(), run.writer()
    run.log(one, 0, epoch=1.0)
    run.log(other, 0, a=1.0)
    page = Page(ProjectIndex(tmp_path, "p"), axis="metric:epoch")
    page.poll()
    run.log(other, 1, epoch=5.0)
    run.log(other, 2, a=2.0)
    page.poll()
    assert list(page.lanes.values()) == drawn(tmp_path, axis="metric:epoch") == [[(1, 1), (5, 2)]]
    one.close()
    other.close()


def test_many_axes_of_one_series_take_no_more_memory_than_a_few(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(1000):
        run.log(writer, step, a=1.0, x=float(step))
    page = Page(ProjectIndex(tmp_path, "p"))
    sizes = []
    for axis in ("step", "time", "relative", "metric:x", *(f"metric:{number}" for number in range(50)), "metric:x"):
        page.query["axis"], page.since = axis, 0
        page.poll()
        series = page.index.cache.get(SeriesId(run_id=run.run_id, kind="metrics", key="a"))
        assert series is not None
        sizes.append(series.num_bytes)
    assert max(sizes) == max(sizes[:4])
    writer.close()
