"""A bucket with a run's shards, and mirrors of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hub_server import Hub
from tests.store.recording import Recorded
from trackio_like.hub.access import HubAccess
from trackio_like.journal.writer import JournalWriter
from trackio_like.store.mirror.mirror import Mirror
from trackio_like.store.mirror.sources import BucketSource, Source

BUCKET = "me/rows"


class Bucket:
    """Puts files of a source folder into the bucket, and takes them away."""

    def __init__(self, hub: Hub, root: Path) -> None:
        self._api = hub.api("me")
        self._root = root
        self._api.create_bucket(BUCKET)

    def add(self, *paths: Path, content: bytes | None = None) -> None:
        files: list[tuple[str | Path | bytes, str]] = [(content or str(path), self.name_of(path)) for path in paths]
        self._api.batch_bucket_files(BUCKET, add=files)

    def put(self, files: dict[str, bytes]) -> None:
        self._api.batch_bucket_files(BUCKET, add=[(content, name) for name, content in files.items()])

    def delete(self, *paths: Path) -> None:
        self._api.batch_bucket_files(BUCKET, delete=[self.name_of(path) for path in paths])

    def name_of(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


@pytest.fixture
def run(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "source")


@pytest.fixture
def bucket(hub: Hub, run: Recorded) -> Bucket:
    return Bucket(hub, run.root)


@pytest.fixture
def mirror(hub: Hub, tmp_path: Path) -> Iterator[Callable[..., Mirror]]:
    """Makes and starts a mirror that never waits long; closed with the test."""
    made: list[Mirror] = []

    def make(*, source: Source | None = None, folder: str = "mirror", **options: float) -> Mirror:
        source = source or BucketSource(access=HubAccess.from_login, bucket_id=BUCKET, probe_s=0.1)
        found = Mirror(source, tmp_path / folder, **{"retry_feed_s": 0.2, "look_again_s": 0.3, **options})
        made.append(found)
        found.start()
        return found

    yield make
    hub.clear_faults()  # what hangs is cut, and ends the threads that wait for it
    hub.up()
    for each in made:
        each.close()


def logged(run: Recorded, writer: JournalWriter, *steps: int) -> list[Path]:
    """Logs some steps, seals them, and gives the shards that came."""
    before = set(run.shard_paths())
    for step in steps:
        run.log(writer, step, a=float(step))
    run.seal(writer)
    return sorted(set(run.shard_paths()) - before)


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in _walk(folder)}


def read_bytes(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in _walk(folder):
        with contextlib.suppress(FileNotFoundError):  # deleted since it was listed
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _walk(folder: Path) -> Iterator[Path]:
    """The shards; unlike `rglob`, it passes over folders that go meanwhile."""
    for inner, _, names in os.walk(folder):
        yield from (Path(inner, name) for name in names if name.endswith(".parquet"))


def is_in(state: str, mirror: Mirror) -> Callable[[], bool]:
    return lambda: mirror.progress().state == state
