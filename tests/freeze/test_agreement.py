"""A frozen page draws what the live server would send: the same points, bit for bit."""

from __future__ import annotations

import csv
import io
import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from space_app.api.service import PollQuery, Service, to_csv
from space_app.api.wire import plain
from space_app.freeze import build
from tests.freeze.static_server import static_server
from tests.store.recording import Recorded
from trackio_like.maths.decimate import bucket_edges, decimate
from trackio_like.query.panels import PanelQuery

AXES = ("step", "relative", "time", "metric:epoch")
COUNTS = ("lane", "lanes", "num_points", "num_non_finite", "is_exact", "num_shown", "key", "run")


@pytest.fixture
def hard(root):
    """Runs with everything that charts get wrong: resumes, ranks, steps that go back, odd values."""
    noise = np.random.default_rng(0)
    run = Recorded(root, run_id="resumed")
    first, second = run.writer(), run.writer(attempt=2)
    for step in range(9000):
        values = {"loss": float(noise.normal()), "tokens": 2**53 + 1 + step}
        if step % 100 == 0:
            values["epoch"] = step // 100
        if step == 4321:
            values["loss"] = math.nan
        if step in (17, 8888):
            values["loss"] = math.inf if step == 17 else -math.inf
        run.log(first, step, **values)
    for step in range(7000, 7600):
        run.log(second, step, loss=-0.0 if step == 7000 else float(noise.normal()), epoch=step / 10)
    ranks = Recorded(root, run_id="ranks")
    writers = [ranks.writer(rank=rank) for rank in (1, 0)]
    for step in range(3000):
        for rank, writer in enumerate(writers):
            ranks.log(writer, step - step % 7, loss=float(noise.normal()) + rank)
    back = Recorded(root, run_id="back")
    alone = back.writer()
    for step in (5, 3, 3, 10, 2, 2**60, -4):
        back.log(alone, step, loss=float(step), epoch=math.nan if step == 3 else 1.5)
    for one in (first, second, *writers, alone):
        one.close()
    return root


def ask_live(service, **panel):
    axis, buckets = panel.pop("x"), panel.pop("buckets")
    query = PanelQuery(run_ids=tuple(panel.pop("runs")), axis=axis, num_buckets=buckets, **panel)
    packed = service.poll(PollQuery(project="p", epoch="", cursor=0, wants_runs=True, panels=(("c", query),)))
    size = struct.unpack("<I", packed[:4])[0]
    header = json.loads(packed[4 : 4 + size])
    arrays = [np.frombuffer(packed, "<f8", a["length"], 4 + size + a["offset"]) for a in header["arrays"]]
    for line in header["series"]:
        line["x"], line["y"] = arrays[line["x"]], arrays[line["y"]]
    return header


def assert_same(frozen, live):
    def by_lane(lines):
        return sorted(lines, key=lambda line: (line["run"], line["lane"]))

    frozen, live = by_lane(frozen), by_lane(live)
    assert [{name: line[name] for name in COUNTS} for line in frozen] == [
        {name: line[name] for name in COUNTS} for line in live
    ]
    for one, other in zip(frozen, live, strict=True):
        for axis in ("x", "y"):
            found = np.array([float(item) for item in one[axis]])
            # As bits, so that -0.0 is not 0.0; there is one NaN only.
            assert found.tobytes() == np.where(np.isnan(other[axis]), np.nan, other[axis]).tobytes()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_chart_has_the_points_that_the_live_server_sends(hard, tmp_path, asking):
    folder = tmp_path / "frozen"
    folder.mkdir()
    build(hard, ["p"], folder)
    service = Service(hard)
    runs = ["resumed", "ranks", "back"]
    windows = [(None, None), (100, 2500), (None, 7200.5), (6999, 7001), (1e9, None), (-10, 3)]
    [data] = (folder / "data").iterdir()
    with static_server(folder, sends_parts=True) as server, asking(f"{server.url}data/{data.name}/") as ask:
        for key in ("loss", "epoch", "tokens", "nothing"):
            for axis in AXES:
                for buckets in (50, 75, 150, 225, 300, 375, 450, 1, 20_000):
                    for x0, x1 in windows if buckets in (75, 450) else windows[:1]:
                        panel = {"key": key, "x": axis, "runs": runs, "buckets": buckets, "x0": x0, "x1": x1}
                        live = ask_live(service, **panel)
                        frozen = ask("poll", project="p", epoch="", panels=[{"id": "c", "since": 0, **panel}])["header"]
                        assert_same(frozen["series"], live["series"])
                        assert [frozen[n] for n in ("runs", "keys", "definitions")] == [
                            live[n] for n in ("runs", "keys", "definitions")
                        ]


def test_rows_csv_and_runs_are_those_of_the_live_server(hard, tmp_path, asking):
    folder = tmp_path / "frozen"
    folder.mkdir()
    build(hard, ["p"], folder)
    service = Service(hard)
    [data] = (folder / "data").iterdir()
    with static_server(folder, sends_parts=False) as server, asking(f"{server.url}data/{data.name}/") as ask:
        for run, key, x0, x1, limit in [
            ("resumed", "tokens", 10, 20, 1000),
            ("resumed", "loss", None, None, 10_000),
            ("ranks", "loss", None, 50.5, 7),
            ("back", "epoch", -4, 2**61, 1000),
        ]:
            num, rows = service.rows("p", run, key, x0=x0, x1=x1, limit=limit)
            found = ask("rows", project="p", run=run, key=key, x0=x0, x1=x1, limit=limit)
            assert found["num_rows"] == num
            # As text: JavaScript has one kind of number.
            assert [list(map(_number, row)) for row in found["rows"]] == [
                list(map(_number, row)) for row in plain(list(rows))
            ]
            _, rows = service.rows("p", run, key, x0=x0, x1=x1, limit=1_000_000)
            text = ask("csv", project="p", run=run, key=key, x0=x0, x1=x1)
            assert text == "".join(to_csv(rows))
            assert len(list(csv.reader(io.StringIO(text)))) == num + 1
        for run in ("resumed", "ranks", "back"):
            assert _as_doubles(ask("run", project="p", run=run)) == _as_doubles(service.run("p", run))
        assert "no metric" in ask("rows", project="p", run="back", key="nothing")["error"]
        assert "no run" in ask("run", project="p", run="nobody")["error"]
        assert ask("poll", project="other", epoch="", panels=[]) is None


@pytest.mark.parametrize("sends_parts", [True, False])
def test_one_run_of_a_large_file_is_read_in_parts_where_the_server_can(root, tmp_path, asking, sends_parts):
    noise = np.random.default_rng(0)
    for number in range(4):
        run = Recorded(root, run_id=f"run-{number}")
        writer = run.writer()
        for step, value in enumerate(noise.normal(size=50_000).tolist()):
            run.log(writer, step, loss=value)
        writer.close()
    folder = tmp_path / "frozen"
    folder.mkdir()
    build(root, ["p"], folder)
    [data] = (folder / "data").iterdir()
    size = (data / "p" / "metrics-0001.parquet").stat().st_size
    panel = {"key": "loss", "x": "step", "runs": ["run-2"], "buckets": 450, "x0": 100, "x1": 40_000}
    with (
        static_server(folder, sends_parts=sends_parts) as server,
        asking(f"{server.url}data/{data.name}/") as ask,
    ):
        frozen = ask("poll", project="p", epoch="", panels=[{"id": "c", "since": 0, **panel}])["header"]
        assert_same(frozen["series"], ask_live(Service(root), **panel)["series"])
        asked = [part for path, part in server.asked if path.endswith("/metrics-0001.parquet")]
    if sends_parts:
        ends = [tuple(map(int, part.removeprefix("bytes=").split("-"))) for part in asked]
        assert sum(last - first + 1 for first, last in ends) < size / 2
    else:
        # What was asked for in parts came whole, and was kept.
        assert len(asked) == 1


def _as_doubles(document):
    """JSON as JavaScript holds it."""
    return json.loads(json.dumps(document), parse_int=float)


def _number(item):
    return float(item) if isinstance(item, int | float) else item


floats = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=20)
@given(data=st.data())
def test_buckets_and_kept_points_are_the_same_as_in_python(data, asking):
    with asking() as ask:
        for _ in range(25):
            first, last = sorted([data.draw(floats), data.draw(floats)])
            buckets = data.draw(st.integers(1, 400))
            edges = bucket_edges(first, last, num_buckets=buckets).tolist()
            assert list(map(float, ask("edges", first=first, last=last, buckets=buckets))) == edges
            x = sorted(data.draw(st.lists(floats, min_size=1, max_size=60)))
            y = data.draw(st.lists(st.floats(), min_size=len(x), max_size=len(x)))
            few = data.draw(st.integers(1, 12))
            kept = decimate(np.array(x), np.array(y), num_buckets=few).tolist()
            assert ask("decimate", x=x, y=[str(item) for item in y], buckets=few) == kept
