"""People change runs: while they are live, from another process, and so that it can be undone until it is purged."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.store.recording import Recorded
from trackio_like import Api
from trackio_like.errors import ProjectNotFoundError, RunNotFoundError
from trackio_like.format.tombstones import PURGED_FOLDER, bury, tombstone_of, tombstones
from trackio_like.query.changes import ABANDONED_US, delete_project, why_kept
from trackio_like.query.index import ProjectIndex
from trackio_like.store.changes import Change, FolderChanges, remove_leftovers, run_folder


@pytest.fixture
def run(tmp_path):
    return Recorded(tmp_path, project="a/ü")


@pytest.fixture
def writer(run):
    writer = run.writer()
    writer.event("init", {"name": "first", "group": "g", "tags": ["t"]})
    run.log(writer, 0, loss=1.0)
    yield writer
    writer.close()


@pytest.fixture
def finished(run, writer):
    writer.event("finish", {"state": "finished"})
    writer.close()
    run.drop_journal(writer)
    return Api(run.root).run(run.project, run.run_id)


def test_a_live_run_is_renamed_tagged_and_grouped(run, writer):
    api = Api(run.root)
    found = api.run(run.project, run.run_id)
    found.rename("second")
    found.set_tags(["x", "y", "x"])
    found.set_group(None)
    run.log(writer, 1, loss=0.5)
    assert (found.name, found.tags, found.group, found.state) == ("second", ("x", "y"), None, "running")
    assert found.summary == {"loss": 0.5}
    assert api.run(run.project, "second").id == run.run_id
    assert [attempt.number for attempt in found.attempts] == [1]


def test_another_process_may_change_it(run, writer):
    code = "import sys; from trackio_like import Api; Api(sys.argv[1]).run(sys.argv[2], sys.argv[3]).rename('theirs')"
    subprocess.run([sys.executable, "-c", code, run.root, run.project, run.run_id], check=True, timeout=60)
    assert Api(run.root).run(run.project, run.run_id).name == "theirs"


def test_the_last_change_counts_where_a_host_is_ahead_of_time(run, writer, monkeypatch):
    found = Api(run.root).run(run.project, run.run_id)
    folder = run_folder(run.root, run.project, run.run_id, found.path)
    FolderChanges().change(folder, Change(type="rename", payload={"name": "from the future"}), time_us=2**52)
    found.rename("now")
    found.delete()
    found.restore()
    assert found.name == "now"


def test_a_deleted_run_is_in_the_bin_and_comes_back(finished, run):
    api = Api(run.root)
    api.run(run.project, run.run_id).delete()
    assert api.runs(run.project) == []
    (binned,) = api.deleted(run.project)
    assert (binned.id, binned.name, binned.num_rows, binned.is_running) == (run.run_id, "first", 1, False)
    assert api.restore(run.project, run.run_id).num_rows == 1
    assert api.deleted(run.project) == []


def test_deleting_twice_and_restoring_what_is_there_changes_nothing(finished, run):
    api = Api(run.root)
    finished.restore()
    finished.delete()
    api.change(run.project, run.run_id, Change(type="delete"))
    assert [each.id for each in api.deleted(run.project)] == [run.run_id]


def test_only_deleted_runs_that_are_over_are_purged(run, writer):
    api = Api(run.root)
    assert "not deleted" in api.purge(run.project, [run.run_id]).kept[run.run_id]
    api.run(run.project, run.run_id).delete()
    assert "still running" in api.purge(run.project).kept[run.run_id]
    assert run.folder.path.is_dir()
    writer.event("finish", {"state": "finished"})
    assert api.purge(run.project).purged == (run.run_id,)
    assert not run.folder.path.exists()
    assert not run.folder.path.parent.exists()


def test_a_run_whose_host_is_gone_can_be_purged_after_a_day(run, writer):
    index = ProjectIndex(run.root, run.project)
    Api(run.root).run(run.project, run.run_id).delete()
    index.refresh()
    (deleted,) = index.deleted_runs()
    assert why_kept(deleted, now_us=deleted.last_us + ABANDONED_US - 1) is not None
    assert why_kept(deleted, now_us=deleted.last_us + ABANDONED_US) is None


def test_a_purge_is_remembered_by_its_writers(finished, run, writer):
    shard = run.shard_paths()[0].name
    finished.delete()
    Api(run.root).purge(run.project)
    (stone,) = tombstones(run.root)
    assert (stone.project, stone.run_id) == (run.project, run.run_id)
    assert stone.buries(f"metrics/{shard}")
    assert not stone.buries("metrics/other-1-00ff-1-1.parquet")
    assert not stone.buries("media/0/x.png")
    later = bury(run.root, run.project, run.run_id, ["other-1-00ff"])
    assert later.writers == stone.writers | {"other-1-00ff"}
    assert Api(run.root).projects() == []


def test_a_damaged_tombstone_forbids_nothing(tmp_path):
    bury(tmp_path, "p", "r", ["w"])
    (tmp_path / PURGED_FOLDER / "p" / "r").write_text("{")
    found = tombstone_of(tmp_path, "p", "r")
    assert found is not None
    assert found.writers == frozenset()


def test_a_purge_follows_no_link(finished, run, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    os.rename(run.folder.path, elsewhere)
    os.symlink(elsewhere, run.folder.path)
    finished.delete()
    Api(run.root).purge(run.project)
    assert not os.path.lexists(run.folder.path)
    assert (elsewhere / "metrics").is_dir()


def test_what_an_interrupted_purge_left_is_removed(tmp_path):
    (tmp_path / PURGED_FOLDER / ".half" / "metrics").mkdir(parents=True)
    bury(tmp_path, "p", "r", ["w"])
    remove_leftovers(tmp_path)
    assert [path.name for path in (tmp_path / PURGED_FOLDER).iterdir()] == ["p"]


def test_a_project_is_deleted_and_purged(finished, run):
    other = Recorded(run.root, project=run.project)
    live = other.writer()
    other.log(live, 0, a=1.0)
    assert delete_project(run.project, root=run.root) == 2
    assert Api(run.root).runs(run.project) == []
    assert delete_project(run.project, root=run.root, purge=True) == 1
    assert [each.id for each in Api(run.root).deleted(run.project)] == [other.run_id]
    live.close()
    with pytest.raises(ProjectNotFoundError):
        delete_project("no such", root=run.root)


def test_an_unknown_run_changes_nothing(finished, run):
    api = Api(run.root)
    with pytest.raises(RunNotFoundError, match="nothing"):
        api.change(run.project, "nothing", Change(type="delete"))
    with pytest.raises(RunNotFoundError):
        api.purge(run.project, [run.run_id, "nothing"])


@pytest.mark.parametrize(
    ("type_", "payload", "message"),
    [
        ("explode", {}, "choose one of rename, tags, group, delete, restore"),
        ("rename", {}, "1 to 500"),
        ("rename", {"name": " "}, "1 to 500"),
        ("rename", {"name": "x" * 501}, "1 to 500"),
        ("tags", {"tags": "x"}, "list of texts"),
        ("tags", {"tags": [1]}, "list of texts"),
        ("tags", {"tags": [""]}, "At most 100"),
        ("tags", {"tags": ["x"] * 101}, "At most 100"),
        ("group", {"group": ""}, "or be None"),
        ("group", {"group": 1}, "or be None"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(type_, payload, message):
    with pytest.raises(ValueError, match=message):
        Change.parse(type_, payload)


def test_a_change_takes_only_what_belongs_to_it():
    assert Change.parse("rename", {"name": "a\ud800", "more": 1}).payload == {"name": "a?"}
    assert Change.parse("delete", {"more": 1}).payload == {}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that this user may not write")
def test_a_disk_that_refuses_is_told_and_nothing_changed(finished, run):
    events = run.folder.shards("events")
    os.chmod(events, 0o500)
    with pytest.raises(PermissionError):
        finished.rename("x")
    os.chmod(events, 0o700)
    assert finished.name == "first"
