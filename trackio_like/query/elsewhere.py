"""Fetches one run from a bucket or dataset, so that a machine that has never seen it can go on with it."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like.errors import RemoteMissingError, RemoteUnavailableError
from trackio_like.format.names import encode_name
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess
from trackio_like.hub.fetch import bucket_file, dataset_file, fetch_file
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import RemoteFile, dataset_version, list_bucket, list_dataset
from trackio_like.query.resume import find_runs
from trackio_like.store.mirror.paths import Place, parse_path
from trackio_like.store.mirror.plan import Wanted, plan_folder

_NUM_FETCHERS: Final = 8


@dataclass(kw_only=True)
class _Errand:
    target: Target
    access: HubAccess
    hangup: Hangup = field(default_factory=Hangup)

    def list(self, prefix: str) -> tuple[str, list[RemoteFile]]:
        """The revision, and the files below a folder."""
        if self.target.kind == "bucket":
            return "", list_bucket(self.access, self.target.id, prefix)
        revision = dataset_version(self.access, self.target.id)
        files = list_dataset(self.access, self.target.id, revision)
        return revision, [file for file in files if file.path.startswith(prefix)]

    def fetch(self, root: Path, revision: str, wanted: Iterable[Wanted]) -> None:
        """Puts files below a root, each whole or not at all."""

        def fetch_one(item: Wanted) -> None:
            target = root / item.place.folder / item.place.name
            if target.exists():
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            if self.target.kind == "bucket":
                where = bucket_file(self.target.id, item.file.path)
            else:
                where = dataset_file(self.target.id, revision, item.file.path)
            try:
                fetch_file(self.access, where, draft, num_bytes=item.file.num_bytes, hangup=self.hangup)
                os.replace(draft, target)
            except RemoteMissingError:
                pass  # compacted a moment ago: what covers it comes with the next copy
            finally:
                with contextlib.suppress(FileNotFoundError):
                    draft.unlink()

        with ThreadPoolExecutor(_NUM_FETCHERS, thread_name_prefix="trackio-like-fetch") as pool:
            list(pool.map(fetch_one, wanted))


def fetch_run(
    target: Target, root: Path, project: str, *, run_id: str | None, name: str | None, timeout_s: float
) -> None:
    """Copies the shards of a run, without its media, into a root.

    Where only a name is known, the events of all runs of the project come first; they say which run it is.

    Args:
        target: a bucket or dataset.
        root: where to.
        project: the project's name.
        run_id: the run's id, or None.
        name: the run's name, where no id is known.
        timeout_s: seconds that it may take at most.

    Raises:
        RemoteError: it cannot be read; what came is whole.
        OSError: the disk refuses.
    """
    errand = _Errand(target=target, access=HubAccess.from_login(target.endpoint))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            _fetch(errand, root, project, run_id, name)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            failed.append(error)

    # A thread, for neither a listing nor a name server can be told how long it may take in all.
    thread = threading.Thread(target=work, name="trackio-like-resume", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        errand.hangup.now()
        raise RemoteUnavailableError(f"Cannot read {target}: no answer within {timeout_s:.0f} s")
    if failed:
        raise failed[0]


def _fetch(errand: _Errand, root: Path, project: str, run_id: str | None, name: str | None) -> None:
    prefix = f"{encode_name(project)}/"
    if run_id is not None:
        revision, files = errand.list(f"{prefix}{encode_name(run_id)}/")
        errand.fetch(root, revision, _shards(files))
        return
    revision, files = errand.list(prefix)
    errand.fetch(root, revision, [item for item in _shards(files) if item.place.folder.endswith("/events")])
    points = find_runs(root, project, name=name)
    if points:
        run_prefix = f"{prefix}{encode_name(points[0].run_id)}/"
        errand.fetch(root, revision, [item for item in _shards(files) if item.file.path.startswith(run_prefix)])


def _shards(files: Iterable[RemoteFile]) -> list[Wanted]:
    """The fewest of these files that hold every row."""
    by_folder: dict[str, list[Wanted]] = {}
    for file in files:
        place: Place | None = parse_path(file.path)
        if place is not None and place.shard is not None:
            by_folder.setdefault(place.folder, []).append(Wanted(file=file, place=place))
    return [item for wanted in by_folder.values() for item in plan_folder(wanted, have=set()).fetch]


__all__ = ["fetch_run"]
