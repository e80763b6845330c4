"""Merging the small files of runs that are over: in a root, a bucket or a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trackio_like._settings import hub_endpoint, mirrors_folder
from trackio_like.daemon.compact_remote import CompactReport, compact_remote
from trackio_like.daemon.discover import run_folders
from trackio_like.daemon.kinds import KINDS_OF_TARGETS
from trackio_like.daemon.ledger import Ledger
from trackio_like.format.names import Kind, RunFolder
from trackio_like.format.schemas import SCHEMAS
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess
from trackio_like.hub.fetch import bucket_file, dataset_file, fetch_file
from trackio_like.hub.hangup import Hangup
from trackio_like.journal.reader import list_segments
from trackio_like.shards.compact import compact_folder, drop_covered, list_shards

_KINDS: Final[tuple[Kind, ...]] = tuple(SCHEMAS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RootReport:
    """What became of a root."""

    num_runs: int
    num_folders: int
    """Folders in which shards were merged."""
    num_covered: int
    """Covered shards that wait for their grace; the next daemon or call deletes them."""


def compact_root(root: Path) -> RootReport:
    """Merges what writers without a journal left; those that are alive are their daemon's.

    Safe beside a daemon: both would write the same files.

    Raises:
        OSError: the root cannot be read or written.
        ValueError: a shard is damaged; its folder was left as it is.
    """
    num_runs = num_folders = num_covered = 0
    for folder in run_folders(root):
        num_runs += 1
        for kind in _KINDS:
            has_merged, num_waiting = _compact_kind(folder, kind)
            num_folders += has_merged
            num_covered += num_waiting
    return RootReport(num_runs=num_runs, num_folders=num_folders, num_covered=num_covered)


def _compact_kind(folder: RunFolder, kind: Kind) -> tuple[bool, int]:
    shards = folder.shards(kind)
    live = {name.writer for name in list_segments(folder.journal)}
    closed = {name.writer for name in list_shards(shards)} - live
    has_merged = bool(compact_folder(shards, kind, closed_writers=closed, own_writers=closed))
    return has_merged, drop_covered(shards)[1]


def compact_hub(*, bucket_id: str | None, dataset_id: str | None, force: bool) -> CompactReport:
    """Merges the small shards of a bucket or dataset, and deletes what earlier calls covered.

    Args:
        bucket_id: the bucket, or None.
        dataset_id: the dataset, or None.
        force: also where a writer may still be alive.

    Raises:
        RemoteInvalidError: a run was logged into a moment ago.
        RemoteError: the Hub refused or did not answer; calling again goes on.
        OSError: the disk refuses.
        ValueError: a shard is damaged.
    """
    target = Target(
        kind="bucket" if bucket_id is not None else "dataset", id=bucket_id or dataset_id or "", endpoint=hub_endpoint()
    )
    access = HubAccess.from_login(target.endpoint)

    def fetch(path: str, file: Path, num_bytes: int) -> None:
        where = bucket_file(target.id, path) if target.kind == "bucket" else dataset_file(target.id, "main", path)
        fetch_file(access, where, file, num_bytes=num_bytes, hangup=Hangup())

    # Kept between calls: a covered shard may go once its successor has been there for a while.
    ledger = mirrors_folder().with_name("trackio_like_compact") / target.key
    ledger.parent.mkdir(parents=True, exist_ok=True)
    sender = KINDS_OF_TARGETS[target.kind].make_sender(target, access.token)
    return compact_remote(sender, fetch, Ledger(ledger), force=force)


__all__ = ["RootReport", "compact_hub", "compact_root"]
