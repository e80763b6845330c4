"""Projects and runs are found by their folders' names."""

from __future__ import annotations

import os
from pathlib import Path

from tests.store.recording import Recorded
from trackio_like.store.catalog import list_projects, list_runs, project_folders
from trackio_like.store.watch import WatchedFolder


def test_projects_are_those_with_a_run(tmp_path: Path):
    for project in ("b", "a/b", "Ü ber"):
        Recorded(tmp_path, project=project).writer().close()
    (tmp_path / "empty").mkdir()
    (tmp_path / "strange" / "folder").mkdir(parents=True)
    (tmp_path / ".hidden" / "x" / "journal").mkdir(parents=True)
    (tmp_path / "a file").write_text("x")
    assert list(list_projects(tmp_path)) == ["a/b", "b", "Ü ber"]


def test_folders_that_decode_to_one_name_are_one_project(tmp_path: Path):
    (tmp_path / "Abc" / "r1" / "journal").mkdir(parents=True)
    (tmp_path / "%41bc" / "r2" / "metrics").mkdir(parents=True)
    folders = project_folders(tmp_path, "Abc")
    assert len(folders) == 2
    assert sorted(list_runs("Abc", folders)) == ["r1", "r2"]


def test_a_folder_that_no_name_encodes_to_is_passed_over(tmp_path: Path):
    (tmp_path / "%FF%FE" / "r" / "journal").mkdir(parents=True)
    assert list_projects(tmp_path) == {}


def test_a_missing_root_has_no_projects(tmp_path: Path):
    assert list_projects(tmp_path / "nowhere") == {}


def test_a_watched_folder_sees_files_come_and_go(tmp_path: Path):
    folder = WatchedFolder(tmp_path / "f")
    assert not folder.refresh()
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "x").write_text("")
    assert folder.refresh()
    assert folder.names == {"x"}
    assert not folder.refresh()
    (tmp_path / "f" / "y").write_text("")
    assert folder.refresh()
    (tmp_path / "f" / "y").unlink()
    assert folder.refresh()


def test_a_change_within_the_clock_tick_of_a_listing_is_seen(tmp_path: Path):
    folder = WatchedFolder(tmp_path)
    (tmp_path / "x").write_text("")
    folder.refresh()
    time_ns = os.stat(tmp_path).st_mtime_ns
    (tmp_path / "y").write_text("")
    os.utime(tmp_path, ns=(time_ns, time_ns))
    assert folder.refresh()
    assert folder.names == {"x", "y"}
