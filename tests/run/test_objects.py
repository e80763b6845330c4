"""Values that are a row with a file: the file is there first, whole or not at all, and no failure reaches training."""

from __future__ import annotations

import os
import threading

import pytest

import trackio_like as trackio
from trackio_like.errors import TrackioLikeError, TrackioLikeWarning
from trackio_like.run.media import write_media
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.slots import is_slot


def log(run, step=None, *, key="surface", file=b"data"):
    return run.log_object(key, "loss_landscape", {"a": 1}, file=file, extension="parquet", step=step)


def objects_of(run):
    return trackio.Api().run("p", run.id).objects()


@pytest.fixture
def run(root):
    with trackio.Run("p") as run:
        yield run


def folder_of(run):
    return trackio.Api().run("p", run.id).path


def test_the_row_names_a_file_with_what_was_given(run):
    run.log({"a": 1.0}, step=3)
    assert log(run, file=b"\0bytes") is True
    [found] = objects_of(run)
    assert (found.key, found.type, found.step, found.payload) == ("surface", "loss_landscape", 3, {"a": 1})
    assert (folder_of(run) / found.media).read_bytes() == b"\0bytes"
    assert found.media.startswith("media/3/")
    assert found.media.endswith(".parquet")


def test_without_a_step_it_belongs_to_the_last_one_and_does_not_count_on(run):
    log(run)
    run.log({"a": 1.0})
    run.log({"a": 1.0})
    log(run)
    log(run)
    assert run.step == 2
    log(run, step=100)
    run.log({"a": 1.0})
    assert [found.step for found in objects_of(run)] == [0, 1, 1, 100]
    assert trackio.Api().run("p", run.id).last_step == 2


@pytest.mark.parametrize("step", [-7, 0, 2**62])
def test_a_file_of_any_step_is_taken_by_servers_and_mirrors(run, step):
    log(run, step=step)
    [found] = objects_of(run)
    assert is_slot(f"p/{run.id}/{found.media}")
    assert parse_path(f"p/{run.id}/{found.media}") is not None


def test_a_step_that_is_none_costs_a_warning_and_stores_it_under_the_last_one(run):
    run.log({"a": 1.0}, step=4)
    with pytest.warns(TrackioLikeWarning, match=r"step=1\.5 .* stored under step 4\."):
        log(run, step=1.5)
    assert [found.step for found in objects_of(run)] == [4]


def test_a_key_with_half_a_surrogate_is_stored_with_a_mark(run):
    log(run, key="a\ud800")
    assert [found.key for found in objects_of(run)] == ["a?"]


def test_a_disk_that_refuses_costs_that_value_and_one_warning(run):
    folder = folder_of(run)
    (folder / "media").write_text("in the way")
    with pytest.warns(TrackioLikeWarning, match=r"refuses a file .*'surface' of step 0 is lost\. Training goes on"):
        assert log(run) is False
    assert log(run) is False  # a second warning would be an error
    run.log({"a": 1.0})
    (folder / "media").unlink()
    assert log(run) is True
    assert len(objects_of(run)) == 1
    with pytest.warns(TrackioLikeWarning, match="2 times"):
        run.finish()


def test_strict_raises_what_the_disk_refuses(root, monkeypatch):
    monkeypatch.setenv("TRACKIO_STRICT", "1")
    with trackio.Run("p") as run:
        (folder_of(run) / "media").write_text("in the way")
        with pytest.raises(TrackioLikeError, match="refuses a file"):
            log(run)


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_media(tmp_path, 1, "no bytes", "parquet")
    assert list(tmp_path.rglob("*")) == []
    write_media(tmp_path, 1, b"bytes", "parquet")
    with pytest.raises(TypeError):
        write_media(tmp_path, 1, "no bytes", "parquet")
    assert len(list((tmp_path / "media" / "1").iterdir())) == 1


def test_ranks_that_store_no_metrics_store_none_of_these_and_say_nothing(root, monkeypatch):
    monkeypatch.setenv("TRACKIO_RUN_ID", "job")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with trackio.Run("p") as run:
        assert log(run) is False
    assert not (root / "p" / "job" / "media").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_stores_under_a_writer_of_its_own(run):
    log(run, step=1)
    child = os.fork()
    if child == 0:
        os._exit(0 if log(run, step=2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    found = objects_of(run)
    assert sorted(item.step for item in found) == [1, 2]
    assert len({item.writer for item in found}) == 2


def test_threads_store_all_of_them(run):
    threads = [threading.Thread(target=lambda: [log(run, step=step) for step in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = objects_of(run)
    assert len(found) == len({item.media for item in found}) == 80
    assert all((folder_of(run) / item.media).read_bytes() == b"data" for item in found)
