"""What to send and what to delete: pure, so every case is a unit test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from trackio_like.daemon.ledger import Stored
from trackio_like.format.names import ShardName
from trackio_like.shards.plan import covered_by_others

MEDIA_FOLDER: Final = "media"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """One file of a run."""

    path: str
    """Relative to the root, with `/`."""
    num_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one batch may hold."""

    num_files: int
    """Files to send and to delete, together."""
    num_bytes: int
    """A larger file goes alone."""
    grace_s: float
    """How long a covered shard stays in the target: longer than a reader takes to notice the covering one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What is to be done for one run."""

    uploads: tuple[LocalFile, ...] = ()
    """Oldest first; what rows point to is older than the shard that holds them, so it goes first."""
    deletes: tuple[str, ...] = ()
    next_delete_s: float | None = None
    """When the next deletion is due, seconds since the epoch; None for none."""

    @property
    def num_bytes(self) -> int:
        """Bytes to send."""
        return sum(file.num_bytes for file in self.uploads)


def plan_run(
    files: Iterable[LocalFile],
    stored: Mapping[str, Stored],
    *,
    rejected: Set[str] = frozenset(),
    now_s: float,
    grace_s: float,
) -> RunPlan:
    """What one run lacks in the target, and what it has there too much.

    Args:
        files: the run's files here.
        stored: what the target holds of the run, by path.
        rejected: paths that the target will never take.
        now_s: seconds since the epoch.
        grace_s: as in `Limits`.
    """
    waiting: list[LocalFile] = []
    here: dict[str, dict[ShardName, LocalFile]] = {}
    for file in files:
        folder, shard = shard_of(file.path)
        if shard is not None:
            if file.path not in rejected:  # what is set aside stands for nothing: the smaller ones go up instead
                here.setdefault(folder, {})[shard] = file
        elif file.path not in stored and file.path not in rejected:
            waiting.append(file)
    there: dict[str, dict[ShardName, Stored]] = {}
    for path, entry in stored.items():
        folder, shard = shard_of(path)
        if shard is not None:
            there.setdefault(folder, {})[shard] = entry
    deletes: list[str] = []
    due: list[float] = []
    for folder, local in here.items():
        remote = there.get(folder, {})
        covered = covered_by_others({*local, *remote})
        waiting += [file for name, file in local.items() if name not in covered and name not in remote]
        writers = {name.writer for name in local}
        for name, by in covered_by_others(remote).items():
            if name.writer not in writers:
                continue  # whoever has that writer's shards looks after them
            if now_s - remote[by].stored_s >= grace_s:
                deletes.append(f"{folder}/{name}")
            else:
                due.append(remote[by].stored_s + grace_s)
    uploads = sorted(waiting, key=lambda file: (file.mtime_ns, shard_of(file.path)[1] is not None, file.path))
    return RunPlan(uploads=tuple(uploads), deletes=tuple(sorted(deletes)), next_delete_s=min(due, default=None))


def plan_purged_run(
    files: Iterable[LocalFile],
    stored: Iterable[str],
    *,
    buries: Callable[[str], bool],
    rejected: Set[str] = frozenset(),
) -> RunPlan:
    """What is left to do for a run that was purged: what it held is deleted, events last, and never sent again.

    Args:
        files: the run's files here: those of a new run of the same id, if there is one.
        stored: paths that the target holds of the run.
        buries: whether a path was purged.
        rejected: paths that the target will never take.
    """
    files = list(files)
    kept = {file.path for file in files}
    # Media name no writer: they go where no run of that id is left here.
    deletes = [path for path in stored if buries(path) or (not kept and shard_of(path)[1] is None)]
    uploads = [file for file in files if not buries(file.path) and file.path not in {*stored, *rejected}]
    return RunPlan(
        uploads=tuple(sorted(uploads, key=lambda file: (file.mtime_ns, file.path))),
        deletes=tuple(sorted(deletes, key=lambda path: (path.split("/")[2:3] == ["events"], path))),
    )


def shard_of(path: str) -> tuple[str, ShardName | None]:
    """A file's folder and, where it is a shard, its name: `<project>/<run id>/<kind>/<shard>`."""
    folder, _, name = path.rpartition("/")
    parts = folder.split("/")
    if len(parts) != 3 or parts[2] == MEDIA_FOLDER:
        return folder, None
    return folder, ShardName.parse(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What one batch takes of several plans."""

    uploads: tuple[LocalFile, ...]
    deletes: tuple[str, ...]
    is_all: bool
    """Whether nothing is left for the next batch."""


def choose_batch(plans: Sequence[RunPlan], limits: Limits) -> Chosen:
    """The oldest files of each run in turn, so that no run waits for another's backlog.

    Args:
        plans: one for each run with something to do.
        limits: what fits.
    """
    uploads: list[LocalFile] = []
    num_bytes = 0
    is_all = True
    queues = [iter(plan.uploads) for plan in sorted(plans, key=_oldest)]
    while queues:
        following = []
        for queue in queues:
            file = next(queue, None)
            if file is None:
                continue
            if uploads and (len(uploads) >= limits.num_files or num_bytes + file.num_bytes > limits.num_bytes):
                is_all = False
                continue  # this run's next file waits, and with it the ones behind: its order is kept
            uploads.append(file)
            num_bytes += file.num_bytes
            following.append(queue)
        queues = following
    deletes = [path for plan in plans for path in plan.deletes]
    num_deletes = max(0, limits.num_files - len(uploads))
    return Chosen(
        uploads=tuple(uploads),
        deletes=tuple(deletes[:num_deletes]),
        is_all=is_all and num_deletes >= len(deletes),
    )


def _oldest(plan: RunPlan) -> int:
    return plan.uploads[0].mtime_ns if plan.uploads else 0


__all__ = ["Chosen", "Limits", "LocalFile", "RunPlan", "choose_batch", "plan_purged_run", "plan_run", "shard_of"]
