"""Where a root lies, and what else lies there, changes no answer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from space_app.api.service import Service
from tests.store.recording import Recorded
from trackio_like.journal.frames import frame
from trackio_like.query.api import Api
from trackio_like.query.history import read_history
from trackio_like.query.index import ProjectIndex
from trackio_like.query.objects import read_objects
from trackio_like.query.series import SeriesId
from trackio_like.store.faults import Faults

_FORKED = """
import os, sys
from trackio_like.query.api import Api

run = Api(sys.argv[1]).runs("p")[0]
assert run.history().num_rows == 3
child = os.fork()
if child == 0:
    os._exit(0 if (run.history().num_rows, len(run.series("a").x)) == (3, 3) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def sealed_run(root: Path, *, key: str = "a") -> Recorded:
    root.mkdir(exist_ok=True)
    run = Recorded(root)
    writer = run.writer()
    for step in range(3):
        run.log(writer, step, **{key: float(step)})
    run.drop_journal(writer)
    writer.close()
    return run


@pytest.mark.parametrize(("name", "fits"), [("exp*", "exp1"), ("e[12]", "e1"), ("q?", "qz"), ("key=b", "key=c")])
def test_a_root_whose_name_reads_as_a_pattern_is_read_alone(tmp_path: Path, name: str, fits: str):
    sealed_run(tmp_path / name)
    shutil.copytree(tmp_path / name, tmp_path / fits)
    [run] = Api(tmp_path / name).runs("p")
    assert run.history()["key"].to_pylist() == ["a"] * 3
    assert run.history("a").num_rows == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork.")
def test_a_forked_child_asks_on(tmp_path: Path):
    sealed_run(tmp_path / "root")
    subprocess.run([sys.executable, "-c", _FORKED, str(tmp_path / "root")], check=True, timeout=30)


@pytest.mark.parametrize(
    "name", ["loop", "p/loop", "p/{run}/journal/box-1-aa.1.journal", "p/{run}/metrics/box-1-aa-1-9.parquet"]
)
def test_a_link_to_itself_hides_nothing(tmp_path: Path, name: str):
    run = sealed_run(tmp_path)
    link = tmp_path / name.format(run=run.run_id)
    link.symlink_to(link)
    assert Api(tmp_path).projects() == ["p"]
    assert [found.num_rows for found in Api(tmp_path).runs("p")] == [3]
    assert [line["num_runs"] for line in Service(tmp_path).meta()["projects"]] == [1]


@pytest.mark.parametrize("payload", [b"\xc1", b"\x90", b"\x93\x02\xcf" + b"\xff" * 8 + b"\x00"])
def test_a_journal_with_a_frame_of_a_stranger_costs_no_other_run(tmp_path: Path, payload: bytes):
    sealed_run(tmp_path)
    other = Recorded(tmp_path)
    writer = other.writer()
    other.log(writer, 0, a=1.0)
    writer.close()
    with next(other.folder.journal.glob("*.journal")).open("ab") as file:
        file.write(frame(payload))
    assert max(found.num_rows for found in Api(tmp_path).runs("p")) == 3


def test_a_journal_that_is_no_folder_or_is_gone_costs_no_other_run(tmp_path: Path):
    sealed_run(tmp_path)
    (tmp_path / "p" / "other").mkdir()
    (tmp_path / "p" / "other" / "journal").write_bytes(b"")
    gone = Recorded(tmp_path)
    gone.folder.journal.mkdir(parents=True)
    (gone.folder.journal / "box-1-aa.1.journal").symlink_to(tmp_path / "nowhere")
    [project] = Service(tmp_path).meta()["projects"]
    assert (project["num_runs"], project["num_running"]) == (3, 1)


def test_a_run_that_goes_while_its_series_is_read_is_left_out(tmp_path: Path):
    gone, stays = sealed_run(tmp_path), sealed_run(tmp_path)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    shutil.rmtree(gone.folder.path)
    ids = [SeriesId(run_id=run.run_id, kind="metrics", key="a") for run in (gone, stays)]
    assert list(index.series(ids)) == [ids[1]]


def test_text_that_is_none_in_a_damaged_shard_costs_no_other_series(tmp_path: Path):
    damaged, other = (sealed_run(tmp_path, key="abcdefgh") for _ in range(2))
    [path] = damaged.shard_paths()
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"\xc6" * 8, 1))  # the first is the dictionary's
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    ids = [SeriesId(run_id=run.run_id, kind="metrics", key="abcdefgh") for run in (damaged, other)]
    found = index.series(ids)
    assert [sum(map(len, found[id_].points.values())) for id_ in ids] == [0, 3]
    assert Api(tmp_path).run("p", damaged.run_id).history().num_rows == 0
    assert Api(tmp_path).run("p", other.run_id).history().num_rows == 3


def test_a_shard_that_is_repaired_is_read_without_a_restart(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(3):
        run.log(writer, step, a=float(step))
        run.seal(writer)
    run.drop_journal(writer)
    writer.close()
    path = run.shard_paths()[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    index = ProjectIndex(tmp_path, "p", look_interval_s=0)
    id_ = SeriesId(run_id=run.run_id, kind="metrics", key="a")
    index.refresh()
    assert len(index.series([id_])[id_].points[writer.header.writer]) == 2
    cursor = index.cursor
    path.write_bytes(whole)
    index.refresh()
    assert index.series([id_])[id_].points[writer.header.writer].step.tolist() == [0, 1, 2]
    assert [found.run_id for found in index.runs(since=cursor)] == [run.run_id]
    assert index.removed(since=cursor) == []
    assert (index.keys, len(index.faults)) == (["a"], 0)


def test_a_file_that_stays_unreadable_is_tried_and_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    run = sealed_run(tmp_path)
    folder = run.folder.path / "metrics"
    (folder / "box-1-aa-1-9.parquet").write_bytes(b"no shard")
    (folder / "box-1-ab-1-9.parquet").symlink_to(folder / "box-1-ab-1-9.parquet")
    (folder / "box-1-ac-1-9.parquet").symlink_to(tmp_path / "nowhere")
    index = ProjectIndex(tmp_path, "p", look_interval_s=0)
    changes = [index.refresh() for _ in range(4)]
    assert changes == [True, False, False, False]
    assert len(caplog.records) == len(index.faults) == 3
    assert index.run(run.run_id) is not None


def test_a_damaged_record_is_named_and_counted_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(5):
        run.log(writer, step, a=float(step))
    writer.close()
    [journal] = run.folder.journal.glob("*.journal")
    data = bytearray(journal.read_bytes())
    data[-60] ^= 255
    journal.write_bytes(data)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    for _ in range(3):
        assert read_history(run.folder.path, "metrics", faults=index.faults).num_rows == 4
        read_objects(run.folder.path, faults=index.faults)
    assert (index.faults.num_damaged_records, len(caplog.records)) == (1, 1)


def test_rows_are_told_without_looking_at_the_shards_of_other_kinds(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    writer.event("init", {"name": "n"})
    run.log(writer, 0, a=1.0)
    run.drop_journal(writer)
    writer.close()
    [metrics], [events] = run.shard_paths(), run.shard_paths("events")
    faults = Faults()
    metrics.write_bytes(b"")
    assert read_objects(run.folder.path, faults=faults) == []
    assert len(faults) == 0
    events.write_bytes(b"")
    assert read_history(run.folder.path, "metrics", faults=faults).num_rows == 0
    assert metrics in faults
    assert events not in faults


def test_a_run_of_which_a_file_went_before_it_was_read_is_read_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    run = sealed_run(tmp_path)
    index = ProjectIndex(tmp_path, "p")
    index.refresh()
    index.faults.add(run.folder.path / "metrics" / "box-1-aa-1-9.parquet", FileNotFoundError())
    assert index.refresh()
    assert [found.summaries["metrics"].num_rows for found in index.runs(since=1)] == [3]
    assert not index.refresh()
    assert (len(index.faults), caplog.records) == (0, [])
