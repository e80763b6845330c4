"""Merges the small shards of a bucket or dataset whose writers are gone, when nobody has their files any more.

The merged shard goes up first; what it covers is deleted by a later call, once readers have had time to notice it. So
an interruption at any point leaves each row there, and readers count it once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import pyarrow.compute as pc
import pyarrow.parquet as pq

from trackio_like.daemon.kinds import GRACE_S
from trackio_like.daemon.ledger import Ledger
from trackio_like.daemon.plan import shard_of
from trackio_like.daemon.sender import Batch, Sender, Upload
from trackio_like.errors import RemoteInvalidError
from trackio_like.format.names import Kind, ShardName
from trackio_like.format.schemas import SCHEMAS
from trackio_like.shards.compact import merge_shards
from trackio_like.shards.plan import SizedShard, covered_by_others, plan_merges

QUIET_S: Final = 3600.0
"""A shard whose newest row is younger belongs to a writer that may still be alive."""
_BATCH_FILES: Final = 200
_BATCH_BYTES: Final = 512 << 20

Fetch = Callable[[str, Path, int], None]
"""Writes a remote path of so many bytes into a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """What one call did."""

    num_merged: int
    """Shards that larger ones stand for now."""
    num_made: int
    """Merged shards that were sent."""
    num_deleted: int
    num_covered: int
    """Covered shards that are still there; a call after the grace deletes them."""


def plan_remote(listing: Mapping[str, int]) -> list[tuple[str, tuple[ShardName, ...]]]:
    """Which shards of which folders to merge, as if no writer wrote any more. Pure.

    Args:
        listing: path to size in bytes.

    Returns:
        Folders, and groups of at least two neighbours in them.
    """
    groups = []
    for folder, shards in sorted(_folders(listing).items()):
        kept = shards.keys() - covered_by_others(shards)
        for writer in sorted({name.writer for name in kept}):
            # Rows are counted by nobody before the download: the bound in bytes has to do.
            sized = [
                SizedShard(name=name, num_bytes=shards[name], num_rows=0) for name in kept if name.writer == writer
            ]
            groups += [(folder, group) for group in plan_merges(sized, is_closed=True)]
    return groups


def _folders(listing: Mapping[str, int]) -> dict[str, dict[ShardName, int]]:
    folders: dict[str, dict[ShardName, int]] = {}
    for path, num_bytes in listing.items():
        folder, name = shard_of(path)
        if name is not None and folder.rpartition("/")[2] in SCHEMAS:
            folders.setdefault(folder, {})[name] = num_bytes
    return folders


def compact_remote(
    sender: Sender,
    fetch: Fetch,
    ledger: Ledger,
    *,
    force: bool = False,
    quiet_s: float = QUIET_S,
    now_s: float | None = None,
    grace_s: float = GRACE_S,
) -> CompactReport:
    """Merges what is worth merging in a bucket or dataset, and deletes what was covered long enough.

    Args:
        sender: the bucket or dataset.
        fetch: downloads one file.
        ledger: remembers from call to call since when a covering shard has been there; a new one starts every grace.
        force: also where a writer may be alive.
        quiet_s: how old the newest row of a shard must be, in seconds.
        now_s: seconds since the epoch; the clock's where None.
        grace_s: how long a covering shard must have been there.

    Raises:
        RemoteInvalidError: something was logged a moment ago; what was merged before stays and harms nobody.
        RemoteError: as the sender; calling again goes on.
        OSError: the disk refuses.
        ValueError: a shard is damaged; its folder was left as it is.
    """
    now = time.time() if now_s is None else now_s
    ledger.compare(sender.paths(), now_s=now)
    held = dict(ledger.paths())
    listing = {path: entry.num_bytes for path, entry in held.items()}
    deletes, num_covered = _due_deletes(listing, {path: entry.stored_s for path, entry in held.items()}, now - grace_s)
    groups = plan_remote(listing)
    with tempfile.TemporaryDirectory(prefix="trackio-like-compact-") as scratch:
        uploads: list[Upload] = []
        for i, (folder, group) in enumerate(groups):
            place = Path(scratch) / str(i)
            place.mkdir()
            for name in group:
                fetch(f"{folder}/{name}", place / str(name), listing[f"{folder}/{name}"])
            if not force and now - max(_newest_row_s(place / str(name)) for name in group) < quiet_s:
                raise RemoteInvalidError(
                    f"{folder.rpartition('/')[0]} was logged into less than {quiet_s / 60:.0f} minutes ago, and its "
                    "writer's own machine merges its shards. Wait until it has ended, or force it."
                )
            uploads.append(_merge(folder, group, place))
            is_full = len(uploads) >= _BATCH_FILES or sum(upload.num_bytes for upload in uploads) >= _BATCH_BYTES
            if is_full or i == len(groups) - 1:
                _send(sender, ledger, Batch(uploads=tuple(uploads)), now)
                uploads = []
    num_merged = sum(len(group) for _, group in groups)
    if deletes:
        _send(sender, ledger, Batch(deletes=tuple(deletes)), now)
    return CompactReport(
        num_merged=num_merged,
        num_made=len(groups),
        num_deleted=len(deletes),
        num_covered=num_covered + num_merged - len(deletes),
    )


def _newest_row_s(path: Path) -> float:
    """When the newest row of a shard was logged, seconds since the epoch."""
    times = pq.read_table(path, columns=["time"], partitioning=None)["time"]
    newest = pc.max(times).as_py()
    return 0.0 if newest is None else float(newest.timestamp())


def _merge(folder: str, group: Sequence[ShardName], place: Path) -> Upload:
    """Merges downloaded shards; only the merged one is left here."""
    kind = cast("Kind", folder.rpartition("/")[2])
    merged = merge_shards(place, kind, group)
    for name in group:
        (place / str(name)).unlink()
    file = place / str(merged)
    return Upload(path=f"{folder}/{merged}", file=file, num_bytes=file.stat().st_size)


def _send(sender: Sender, ledger: Ledger, batch: Batch, now_s: float) -> None:
    outcome = sender.send(batch)
    sizes = {upload.path: upload.num_bytes for upload in batch.uploads}
    ledger.note(stored={path: sizes[path] for path in outcome.stored}, lost=outcome.deleted, now_s=now_s)
    for path, why in {**outcome.failed, **outcome.rejected}.items():
        raise RemoteInvalidError(f"Cannot write {path}: {why}. Every row is still there; calling again goes on.")


def _due_deletes(
    listing: Mapping[str, int], known_since: Mapping[str, float], before_s: float
) -> tuple[list[str], int]:
    deletes, num_covered = [], 0
    for folder, shards in _folders(listing).items():
        for name, by in covered_by_others(shards).items():
            num_covered += 1
            if known_since.get(f"{folder}/{by}", float("inf")) <= before_s:
                deletes.append(f"{folder}/{name}")
    return sorted(deletes), num_covered


__all__ = ["QUIET_S", "CompactReport", "compact_remote", "plan_remote"]
