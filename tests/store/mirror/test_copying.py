"""Files are fetched many at once and put in place in order; one that fails holds up its folder and nothing else."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trackio_like.errors import RemoteMissingError, RemoteRefusedError, RemoteUnavailableError
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import RemoteFile
from trackio_like.store.mirror.copying import NUM_FETCHERS, copy_files
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.mirror.plan import Wanted
from trackio_like.store.mirror.shelf import DRAFTS, Shelf

GATE_S = 20


def parquet():
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), sink)
    return sink.getvalue()


CONTENT = parquet()


@dataclass
class Remote:
    """A source of which each file fails as told, or waits for a gate."""

    errors: dict = field(default_factory=dict)
    gates: dict = field(default_factory=dict)
    contents: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    title: str = "the remote"

    def fetch(self, file, draft, *, version, hangup):  # noqa: ARG002 - as `Source`
        self.asked.append(file.path)
        draft.write_bytes(self.contents.get(file.path, CONTENT))
        if file.path in self.gates:
            assert self.gates[file.path].wait(GATE_S)
        if file.path in self.errors:
            raise self.errors[file.path]


def items(*paths):
    return [
        Wanted(file=RemoteFile(path=path, num_bytes=len(CONTENT), content_hash="h"), place=parse_path(path))
        for path in paths
    ]


def shard(number, run="r"):
    return f"p/{run}/metrics/w-{number}-{number}.parquet"


@pytest.fixture
def shelf(tmp_path):
    made = Shelf(tmp_path / "copy")
    made.scan()
    return made


@pytest.fixture
def copy(shelf):
    """Copies; gives what became of it and the paths in the order in which they were in place."""

    def run(remote, paths, hangup=None):
        placed = []
        found = copy_files(
            remote,
            shelf,
            items(*paths),
            version="v",
            hangup=hangup or Hangup(),
            on_done=lambda item: placed.append(item.file.path),
        )
        return found, placed

    return run


def test_files_are_in_place_in_order_although_a_later_one_comes_first(copy):
    gate = threading.Event()

    class Racing(Remote):
        def fetch(self, file, draft, *, version, hangup):
            super().fetch(file, draft, version=version, hangup=hangup)
            if file.path == shard(3):
                gate.set()

    remote = Racing(gates={shard(1): gate})
    _, placed = copy(remote, [shard(1), shard(2), shard(3)])
    assert placed == [shard(1), shard(2), shard(3)]


def test_several_files_are_fetched_at_a_time(copy):
    barrier = threading.Barrier(NUM_FETCHERS, timeout=GATE_S)

    class Meeting(Remote):
        def fetch(self, file, draft, *, version, hangup):
            barrier.wait()
            super().fetch(file, draft, version=version, hangup=hangup)

    _, placed = copy(Meeting(), [shard(i) for i in range(1, NUM_FETCHERS + 1)])
    assert len(placed) == NUM_FETCHERS


def test_one_that_cannot_be_had_holds_up_what_follows_in_its_folder_and_nothing_else(copy, shelf):
    error = RemoteUnavailableError("no")
    found, placed = copy(Remote(errors={shard(2): error}), [shard(1), shard(2), shard(3), shard(1, "other")])
    assert placed == [shard(1), shard(1, "other")]
    assert found.failed is error
    assert list((shelf.folder / DRAFTS).iterdir()) == []


def test_where_nothing_can_be_had_it_ends_after_a_few(copy):
    paths = [shard(1, f"r{i}") for i in range(200)]
    remote = Remote(errors={path: RemoteUnavailableError("down") for path in paths})
    with pytest.raises(RemoteUnavailableError, match="down"):
        copy(remote, paths)
    assert len(remote.asked) < 50


@pytest.mark.parametrize(
    "error", [RemoteUnavailableError("busy", retry_after_s=5), RemoteRefusedError("no"), OSError(28, "disk full")]
)
def test_what_concerns_all_files_ends_it_at_once_and_leaves_no_draft(copy, shelf, error):
    with pytest.raises(type(error)):
        copy(Remote(errors={shard(1): error}), [shard(1), *[shard(1, f"r{i}") for i in range(20)]])
    # The fetchers end after what they do now, and drop it then.
    for thread in threading.enumerate():
        if thread.name.startswith("trackio-like-fetch"):
            thread.join(GATE_S)
    assert list((shelf.folder / DRAFTS).iterdir()) == []


def test_what_is_gone_or_damaged_is_told_and_does_not_hold_up_the_rest(copy):
    remote = Remote(errors={shard(1): RemoteMissingError("gone")}, contents={shard(2): b"junk"})
    found, placed = copy(remote, [shard(1), shard(2), shard(3)])
    assert [item.file.path for item in found.gone] == [shard(1)]
    assert [item.file.path for item in found.damaged] == [shard(2)]
    assert placed == [shard(1), shard(2), shard(3)]
    assert found.failed is None


def test_it_ends_although_a_fetch_hangs_where_somebody_hangs_up(copy):
    gate, hangup = threading.Event(), Hangup()
    remote = Remote(gates={shard(1): gate})
    timer = threading.Timer(0.1, hangup.now)
    timer.start()
    _, placed = copy(remote, [shard(1), shard(2)], hangup)
    assert placed == []
    gate.set()
    timer.join()


def test_nothing_to_copy_is_no_work(copy):
    found, placed = copy(Remote(), [])
    assert (found.gone, found.damaged, found.failed, placed) == ([], [], None, [])
