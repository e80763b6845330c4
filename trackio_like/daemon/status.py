"""What of a run is here, what is there, and why: for `finish()`, which asks often, and for `trackio-like status`.

Imports neither pyarrow nor huggingface_hub, for a training process asks.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trackio_like.daemon.ledger import Ledger
from trackio_like.daemon.plan import LocalFile, plan_run, shard_of
from trackio_like.daemon.scan import list_run, run_key
from trackio_like.daemon.state import SyncState
from trackio_like.daemon.state import ask_to_hurry as ask_for_pass
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import Target, TargetFolder, targets_of
from trackio_like.journal.reader import list_segments


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStatus:
    """How one run stands at one target."""

    target: Target
    num_stored: int
    """Files of the run that the target holds, as far as known."""
    num_bytes_stored: int
    num_waiting: int
    """Files that are still to be sent."""
    num_bytes_waiting: int
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Paths that are set aside, and why."""
    state: SyncState
    is_complete: bool
    """Whether the target holds every row that was logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How one run stands."""

    has_journals: bool
    """Whether calls may still be in journals: a writer is open, or its end is not sealed yet."""
    num_files: int
    """Shards and media here."""
    num_bytes: int
    targets: tuple[TargetStatus, ...]


def run_status(folder: RunFolder) -> RunStatus:
    """How a run stands here and at each target that it is to be sent to. Asks nobody but this disk.

    Raises:
        OSError: a folder may not be read.
    """
    # Journals first: what leaves them in between is among the files that are listed next.
    has_journals = bool(list_segments(folder.journal))
    files = list_run(folder)
    targets = []
    for known in targets_of(folder):
        try:
            target = known.load()
        except (FileNotFoundError, ValueError):
            continue  # forgotten a moment ago
        ledger = _ledger(known.ledger)
        ledger.refresh()
        stored, rejected = ledger.run(run_key(folder)), ledger.rejected(run_key(folder))
        plan = plan_run(files, stored, rejected=rejected.keys(), now_s=time.time(), grace_s=0.0)
        set_aside = {file.path: rejected[file.path] for file in files if file.path in rejected}
        targets.append(
            TargetStatus(
                target=target,
                num_stored=len(stored),
                num_bytes_stored=sum(entry.num_bytes for entry in stored.values()),
                num_waiting=len(plan.uploads),
                num_bytes_waiting=plan.num_bytes,
                rejected=set_aside,
                state=SyncState.load(known) or SyncState(),
                is_complete=not has_journals and not plan.uploads and not set_aside,
            )
        )
    return RunStatus(
        has_journals=has_journals,
        num_files=len(files),
        num_bytes=sum(file.num_bytes for file in files),
        targets=tuple(targets),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStatus:
    """How far some writers' rows are on their way to one target."""

    num_files: int
    num_files_stored: int
    num_bytes: int
    num_bytes_stored: int
    is_complete: bool
    """Whether all their calls are sealed, and all files are there or set aside."""


def delivery(folder: RunFolder, known: TargetFolder, writers: Collection[str]) -> DeliveryStatus:
    """How far the rows of some writers of a run are, and the run's media, whoever logged them.

    Args:
        folder: the run.
        known: the target.
        writers: the writers.

    Raises:
        OSError: a folder may not be read.
    """
    has_journals = any(name.writer in writers for name in list_segments(folder.journal))
    files = [file for file in list_run(folder) if _is_of(file, writers)]
    ledger = _ledger(known.ledger)
    ledger.refresh()
    rejected = ledger.rejected(run_key(folder)).keys()
    known_there = ledger.run(run_key(folder))
    plan = plan_run(files, known_there, rejected=rejected, now_s=0.0, grace_s=0.0)
    # Not all files: those that a larger one covers are never sent.
    stored = [file for file in files if file.path in known_there]
    num_bytes_stored = sum(file.num_bytes for file in stored)
    return DeliveryStatus(
        num_files=len(stored) + len(plan.uploads),
        num_files_stored=len(stored),
        num_bytes=num_bytes_stored + plan.num_bytes,
        num_bytes_stored=num_bytes_stored,
        is_complete=not has_journals and not plan.uploads,
    )


def _is_of(file: LocalFile, writers: Collection[str]) -> bool:
    shard = shard_of(file.path)[1]
    return shard is None or shard.writer in writers


def is_complete(folder: RunFolder, known: TargetFolder) -> bool:
    """Whether a target holds everything that was logged into a run, by any writer.

    Raises:
        OSError: a folder may not be read.
    """
    if list_segments(folder.journal):
        return False
    ledger = _ledger(known.ledger)
    ledger.refresh()
    files = list_run(folder)
    plan = plan_run(files, ledger.run(run_key(folder)), now_s=0.0, grace_s=0.0)
    return not plan.uploads


@functools.lru_cache(maxsize=16)
def _ledger(path: Path) -> Ledger:
    """Kept, so that asking again reads only what was appended."""
    return Ledger(path)


__all__ = ["DeliveryStatus", "RunStatus", "TargetStatus", "ask_for_pass", "delivery", "is_complete", "run_status"]
