"""`Api` answers from a root that is being written, sealed or not."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.recording import Recorded, Row
from trackio_like.errors import ProjectNotFoundError, RunNotFoundError
from trackio_like.query.api import Api
from trackio_like.query.resume import find_runs
from trackio_like.run.host import host_identity


def identities(table: Any) -> list[Row]:
    return list(zip(*(table.column(name).to_pylist() for name in ("writer", "seq", "key")), strict=True))


def test_what_was_logged_is_there_before_anything_is_sealed(tmp_path: Path):
    run = Recorded(tmp_path, project="my project")
    writer = run.writer()
    writer.event("init", {"name": "first", "group": "g", "tags": ["t"], "config": {"lr": 0.1, "big": 2**63 - 1}})
    run.log(writer, 0, loss=1.0, acc=0.5)
    run.log(writer, 1, loss=0.5)
    api = Api(tmp_path)
    assert api.projects() == ["my project"]
    [found] = api.runs("my project")
    assert (found.id, found.name, found.project, found.group, found.tags) == (
        run.run_id,
        "first",
        "my project",
        "g",
        ("t",),
    )
    assert (found.state, found.config, found.finished_at) == ("running", {"lr": 0.1, "big": 2**63 - 1}, None)
    assert (found.summary, found.num_rows, found.last_step) == ({"loss": 0.5, "acc": 0.5}, 3, 1)
    writer.event("finish", {"state": "finished"})
    again = Api(tmp_path).run("my project", "first")
    assert again.state == "finished"
    assert again.finished_at is not None
    assert again.created_at is not None
    assert again.created_at <= again.finished_at
    assert again.created_at.utcoffset() == timedelta(0)
    assert [event.type for event in again.events()] == ["init", "finish"]
    writer.close()


def test_history_has_every_row_once_in_call_order_with_exact_values(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    values = [1, 2**53 + 1, -(2**63), 2**63 - 1, True, math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1]
    for number, value in enumerate(values):
        writer.metrics(100 - number, ("v",), [value])
    seal_at = writer.seq
    run.seal(writer)
    for number, value in enumerate(values):
        writer.metrics(number, ("v",), [value])
    table = Api(tmp_path).run("p", run.run_id).history()
    assert table.column_names == ["writer", "seq", "attempt", "step", "time", "key", "value", "value_int"]
    assert table["seq"].to_pylist() == list(range(1, 2 * seal_at + 1))
    assert table["step"].to_pylist()[:3] == [100, 99, 98]
    half = len(values)
    for start in (0, half):
        got = table["value"].to_numpy()[start : start + half]
        np.testing.assert_array_equal(got, np.array([float(v) for v in values]))
        assert np.signbit(got[8])
        exact = [None, 2**53 + 1, -(2**63), 2**63 - 1, *[None] * 7]
        assert [None if e is None or abs(e) <= 2**53 else e for e in exact] == exact
        got_int = table["value_int"].to_pylist()[start : start + half]
        assert [g if e is not None else None for g, e in zip(got_int, exact, strict=True)] == exact
    writer.close()


def test_history_of_some_keys_holds_only_these(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    odd = "a' OR 1=1 --\"\n%"
    run.log(writer, 0, **{odd: 1.0, "b": 2.0, "c": 3.0})
    run.seal(writer)
    run.log(writer, 1, **{odd: 4.0, "b": 5.0, "c": 6.0})
    found = Api(tmp_path).run("p", run.run_id)
    assert found.history(odd)["value"].to_pylist() == [1, 4]
    assert found.history(["c", "b"])["value"].to_pylist() == [2, 3, 5, 6]
    assert len(found.history([])) == 0
    assert len(found.history("no such key")) == 0
    writer.close()


@given(steps=st.lists(st.sampled_from(["log", "log", "other", "seal", "compact", "drop"]), max_size=40))
def test_history_and_summary_do_not_depend_on_where_rows_lie(tmp_path_factory, steps):
    run = Recorded(tmp_path_factory.mktemp("root"))
    writers = [run.writer(segment_bytes=600), run.writer(attempt=2, segment_bytes=600)]
    writers[0].event("init", {"name": "n"})
    last: dict[str, float] = {}
    newest = 0
    for number, step in enumerate(steps):
        if step in {"log", "other"}:
            writer = writers[step == "other"]
            run.log(writer, number, a=float(number))
            if step == "other" or not newest:
                last["a"], newest = float(number), max(newest, int(step == "other"))
        elif step == "seal":
            run.seal(writers[number % 2])
        elif step == "compact":
            run.compact(*writers)
        else:
            run.drop_covered()
    found = Api(run.root).run("p", run.run_id)
    rows = identities(found.history())
    assert sorted(rows) == sorted(run.rows)
    assert [row for row in rows if row[0] == writers[0].header.writer] == [
        row for row in run.rows if row[0] == writers[0].header.writer
    ]
    assert found.num_rows == len(run.rows)
    assert found.summary == last
    for writer in writers:
        writer.close()


@pytest.mark.slow
def test_a_root_that_is_sealed_and_compacted_all_the_time_reads_without_a_gap(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer(segment_bytes=4000)
    run.log(writer, 0, a=0.0)
    api, is_over = Api(tmp_path), threading.Event()

    def tidy() -> None:
        while not is_over.is_set():
            run.seal(writer)
            run.compact(writer)
            run.drop_covered(grace_s=0.2)

    tidier = threading.Thread(target=tidy)
    tidier.start()
    found = api.run("p", run.run_id)
    try:
        for round_ in range(60):
            for step in range(50):
                run.log(writer, round_ * 50 + step + 1, a=1.0)
            assert identities(found.history()) == run.rows
            steps, _ = found.series("a")
            assert steps.tolist()[:1] == [0.0]
            assert (np.diff(steps) == 1).all()
    finally:
        is_over.set()
        tidier.join()
    assert Api(tmp_path).run("p", run.run_id).num_rows == len(run.rows)
    writer.close()


def test_a_name_means_the_newest_run_of_it_and_an_id_comes_first(tmp_path: Path):
    runs = [Recorded(tmp_path) for _ in range(2)]
    for run in runs:
        writer = run.writer()
        writer.event("init", {"name": "debug"})
        writer.close()
    api = Api(tmp_path)
    assert api.run("p", "debug").id == runs[1].run_id
    assert api.run("p", runs[0].run_id).id == runs[0].run_id


def test_unknown_names_get_the_similar_ones(tmp_path: Path):
    run = Recorded(tmp_path, project="mnist")
    writer = run.writer()
    writer.event("init", {"name": "baseline"})
    writer.close()
    api = Api(tmp_path)
    with pytest.raises(RunNotFoundError, match="'baseline'"):
        api.run("mnist", "basline")
    with pytest.raises(ProjectNotFoundError, match="'mnist'"):
        api.runs("minst")
    with pytest.raises(ProjectNotFoundError, match="none yet"):
        Api(tmp_path / "nowhere").runs("p")


def test_series_keep_the_extremes_in_few_points(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(5000):
        run.log(writer, step, a=100.0 if step == 3210 else math.sin(step))
    found = Api(tmp_path).run("p", run.run_id)
    steps, values = found.series("a", max_points=100)
    assert len(steps) <= 152
    assert (3210.0, 100.0) in zip(steps.tolist(), values.tolist(), strict=True)
    assert len(found.series("a")[0]) == 5000
    assert len(found.series("nothing")[0]) == 0
    with pytest.raises(ValueError, match="at least 2"):
        found.series("a", max_points=1)
    writer.close()


def test_system_rows_and_texts_are_kinds_of_their_own(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for _ in range(2):
        writer.system(("cpu",), [50.0])
        writer.mixed(3, ("a",), [1.0], [("note", "text", "hällo", None), ("img", "image", {"w": 1}, "media/3/x.png")])
        run.seal(writer)
    writer.mixed(4, (), [], [("note", "text", "new", None)])
    found = Api(tmp_path).run("p", run.run_id)
    assert found.system()["value"].to_pylist() == [50, 50]
    assert found.system()["step"].to_pylist() == [None, None]
    assert [text.payload for text in found.texts("note")] == ["hällo", "hällo", "new"]
    assert [item.media for item in found.objects("img")] == ["media/3/x.png"] * 2
    assert found.num_rows == 2
    writer.close()


def test_a_process_of_this_host_that_is_gone_makes_its_run_crashed(tmp_path: Path):
    run = Recorded(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    writer = run.writer(pid=process.pid)
    writer.event("init", {"name": "n"})
    run.log(writer, 0, a=1.0)
    elsewhere = Recorded(tmp_path)
    other = elsewhere.writer(pid=process.pid, host="another machine")
    other.event("init", {"name": "far"})
    api = Api(tmp_path)
    assert api.run("p", "n").state == "crashed"
    assert api.run("p", "far").state == "running"
    writer.close()
    other.close()


def test_a_later_process_of_the_same_number_is_another(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    writer.close()
    [path] = run.folder.journal.glob("*.journal")
    started = psutil.Process().create_time()
    from dataclasses import replace

    from trackio_like.journal.writer import JournalWriter

    path.unlink()
    earlier = JournalWriter(run.folder.journal, replace(writer.header, process_started=started - 1000, segment=1))
    assert (earlier.header.pid, earlier.header.host) == (os.getpid(), host_identity())
    earlier.event("init", {"name": "n"})
    assert Api(tmp_path).run("p", "n").state == "crashed"
    earlier.close()


def test_resume_finds_runs_newest_first_and_where_they_stopped(tmp_path: Path):
    runs = [Recorded(tmp_path) for _ in range(2)]
    for number, run in enumerate(runs):
        writer = run.writer()
        writer.event("init", {"name": "n", "config": {"n": number}, "group": "g", "tags": ["t"]})
        for step in range(3):
            run.log(writer, step * 10, a=1.0)
        writer.event("finish", {"state": "failed"})
        writer.close()
    again = runs[0].writer(attempt=2)
    again.event("init", {"name": "n", "resumed": True, "config": {"m": 1}})
    runs[0].log(again, 15, a=1.0)
    runs[0].seal(again)
    points = find_runs(tmp_path, "p", name="n")
    assert [point.run_id for point in points] == [runs[1].run_id, runs[0].run_id]
    [point] = find_runs(tmp_path, "p", run_id=runs[0].run_id)
    assert (point.last_step, point.num_attempts, point.state) == (15, 2, "running")
    assert (point.config, point.group, point.tags, point.name) == ({"n": 0, "m": 1}, "g", ("t",), "n")
    assert find_runs(tmp_path, "p", name="other") == []
    assert find_runs(tmp_path / "nowhere", "p") == []
    again.close()


def test_several_threads_may_ask_one_api(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(100):
        run.log(writer, step, a=float(step))
    api = Api(tmp_path)
    results: list[int] = []

    def ask() -> None:
        found = api.run("p", run.run_id)
        results.append(len(found.history()) + len(found.series("a")[0]) + found.num_rows)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [300] * 8
    writer.close()


def test_every_call_is_there_as_soon_as_it_returned(tmp_path: Path):
    api = Api(tmp_path)
    for number in range(3):
        run = Recorded(tmp_path)
        writer = run.writer()
        writer.event("init", {"name": f"n{number}"})
        assert len(api.runs("p")) == number + 1
        found = api.run("p", f"n{number}")
        for step in range(5):
            run.log(writer, step, a=float(step))
            assert (found.num_rows, found.summary, found.last_step) == (step + 1, {"a": step}, step)
            assert len(found.series("a").x) == found.history().num_rows == step + 1
        writer.event("finish", {"state": "finished"})
        assert found.state == "finished"
        writer.close()


@pytest.mark.parametrize("keys", [[], ["none"], "none", ["\ud800"], ["", "a\x00"]])
def test_keys_that_do_not_exist_have_no_rows(tmp_path: Path, keys: Any):
    run = Recorded(tmp_path)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    [found] = Api(tmp_path).runs("p")
    assert found.history(keys).num_rows == found.system(keys).num_rows == 0
    assert all(len(found.series(key).x) == 0 for key in keys)
    writer.close()
