"""Objects in memory: every row once, whatever becomes of the files, and nothing is read while nothing is new."""

from __future__ import annotations

import os
import random

import pytest

from tests.store.recording import Recorded
from trackio_like.query.index import ProjectIndex
from trackio_like.query.object_index import ObjectIndex, ObjectIndexes
from trackio_like.store.faults import Faults

TYPE = "loss_landscape"


class Reader:
    """A dashboard's side: one index of the project, and the objects of its runs."""

    def __init__(self, root):
        self.index = ProjectIndex(root, "p", look_interval_s=0)
        self.objects = ObjectIndexes()

    def look(self, *, since=None, refreshes=True):
        if refreshes:
            self.index.refresh()
        return self.objects.list(self.index.runs(), types=[TYPE], since=since, faults=self.index.faults)

    def steps(self, **options):
        return [item.step for _, item in self.look(**options).objects]


@pytest.fixture
def run(root):
    return Recorded(root)


@pytest.fixture
def writer(run):
    writer = run.writer()
    writer.event("init", {"name": "n"})
    yield writer
    writer.close()


@pytest.fixture
def reader(run):
    return Reader(run.root)


def log(writer, *steps, type_=TYPE):
    for step in steps:
        writer.mixed(step, (), [], [("surface", type_, {"step": step}, f"media/{step}/a.parquet")])


def test_a_row_is_listed_once_through_sealing_and_compaction(reader, run, writer):
    log(writer, 1)
    assert reader.steps() == [1]
    run.seal(writer)
    log(writer, 2)
    assert reader.steps() == [1, 2]
    run.seal(writer)
    run.compact(writer)
    assert reader.steps() == [1, 2]
    log(writer, 3)
    run.seal(writer)
    run.compact(writer)
    run.drop_covered()
    assert reader.steps() == [1, 2, 3]
    assert Reader(run.root).steps() == [1, 2, 3]


def test_the_version_moves_with_the_rows_and_with_nothing_else(reader, run, writer):
    log(writer, 1)
    version = reader.look().version
    run.log(writer, 5, a=1.0)
    log(writer, 6, type_="text")
    run.seal(writer)
    run.compact(writer)
    run.drop_covered()
    assert reader.look(since=version).objects is None
    log(writer, 7)
    assert reader.look(since=version).version != version


def test_no_file_is_read_while_nothing_is_new(reader, run, writer, tmp_path):
    log(writer, 1, 2)
    run.seal(writer)
    assert reader.steps() == [1, 2]
    os.rename(run.folder.path, tmp_path / "elsewhere")
    assert reader.steps(refreshes=False) == [1, 2]


def test_a_run_without_objects_costs_no_look_at_its_files(reader, run, writer, tmp_path):
    run.log(writer, 1, a=1.0)
    reader.index.refresh()
    os.rename(run.folder.path, tmp_path / "elsewhere")
    assert reader.steps(refreshes=False) == []


def test_rows_that_come_late_find_their_place(run, reader):
    far = run.writer(host="far", pid=1)
    far.event("init", {})
    log(far, 1, 2)
    run.seal(far)
    [early] = run.shard_paths("objects")
    hidden = early.with_name("." + early.name)
    os.rename(early, hidden)
    log(far, 3)
    run.drop_journal(far)
    assert reader.steps() == [3]
    os.rename(hidden, early)
    reader.index.refresh()  # finds that rows were passed over; the next look reads the run anew
    assert reader.steps() == [1, 2, 3]
    far.close()


def test_an_index_alone_reads_anew_where_rows_come_late(run):
    far = run.writer(host="far", pid=1)
    log(far, 1, 2)
    run.seal(far)
    [early] = run.shard_paths("objects")
    hidden = early.with_name("." + early.name)
    os.rename(early, hidden)
    log(far, 3)
    run.drop_journal(far)
    index = ObjectIndex(run.folder.path, faults=Faults())
    assert index.advance()
    version = index.version([TYPE])
    assert not index.names("media/1/a.parquet")
    os.rename(hidden, early)
    assert index.advance()
    assert sorted(item.step for item in index.of([TYPE])) == [1, 2, 3]
    assert index.version([TYPE]) != version
    assert index.names("media/1/a.parquet")
    far.close()


def test_a_run_that_was_purged_is_forgotten(reader, run, writer, tmp_path):
    log(writer, 1)
    assert reader.steps() == [1]
    os.rename(run.folder.path, tmp_path / "elsewhere")
    assert reader.steps() == []


def test_whatever_happens_to_the_files_meanwhile_every_row_is_listed_once(run, reader):
    dice = random.Random(4)
    writers = [run.writer(), run.writer(attempt=2)]
    writers[0].event("init", {})
    logged = 0
    for _ in range(120):
        writer = dice.choice(writers)
        match dice.choice(["log", "log", "metrics", "seal", "compact", "drop", "look", "ask"]):
            case "log":
                log(writer, logged)
                logged += 1
            case "metrics":
                run.log(writer, 0, a=1.0)
            case "seal":
                run.seal(writer)
            case "compact":
                run.compact(*writers)
            case "drop":
                run.drop_covered()
            case "look":
                reader.index.refresh()
            case "ask":
                assert reader.steps() == list(range(logged))
    assert reader.steps() == list(range(logged))
    for writer in writers:
        writer.close()
