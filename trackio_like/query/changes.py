"""Which runs a change is about, and when it counts as made: one place for `Api`, the routes and the command line."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like._settings import Settings
from trackio_like.errors import ProjectNotFoundError, RemoteError, RunNotFoundError
from trackio_like.format.names import RunFolder
from trackio_like.query.fold import RUNNING
from trackio_like.query.index import ProjectIndex
from trackio_like.query.run_index import RunIndex
from trackio_like.store.changes import Change, Changes, FolderChanges, run_folder

ABANDONED_US: Final = 24 * 3600 * 1_000_000
"""A run that says it is running, and gave no sign of life for so long, may be purged: its host is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRun:
    """A run in the bin."""

    id: str
    name: str
    deleted_us: int
    num_rows: int
    is_running: bool
    """Whether somebody may still log into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What became of the runs that were to be purged."""

    purged: tuple[str, ...] = ()
    kept: dict[str, str] = field(default_factory=dict)
    """Run to the reason why it is still there."""


class PartlyChangedError(Exception):
    """A change of several runs failed on the way; its cause says why."""

    def __init__(self, changed: Sequence[str]) -> None:
        super().__init__(f"Only {len(changed)} runs were changed.")
        self.changed = tuple(changed)
        """The runs that are changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One change, ready to be written: the project need not be held any more."""

    folder: RunFolder
    change: Change
    time_us: int
    """When it counts as made, microseconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPurge:
    """The runs that are to go, and those that are to stay."""

    folders: tuple[RunFolder, ...]
    kept: dict[str, str]


def plan_changes(index: ProjectIndex, run_ids: Sequence[str] | None, change: Change) -> list[PlannedChange]:
    """What is to be written to change runs of a project.

    Args:
        index: the project, just refreshed.
        run_ids: which; None for all, of `restore` for all deleted ones.
        change: the change.

    Raises:
        RunNotFoundError: one of them does not exist.
    """
    if run_ids is None:
        runs = index.deleted_runs() if change.type == "restore" else index.runs()
    else:
        runs = [_any_run(index, run_id) for run_id in dict.fromkeys(run_ids)]
    return [PlannedChange(folder=_folder(index, run), change=change, time_us=_next_us(run)) for run in runs]


def make_changes(planned: Iterable[PlannedChange], changes: Changes) -> list[str]:
    """Writes changes; the runs that were changed.

    Raises:
        PartlyChangedError: the disk or the Hub refused; the cause says which.
    """
    changed: list[str] = []
    for each in planned:
        try:
            changes.change(each.folder, each.change, time_us=each.time_us)
        except (OSError, RemoteError) as error:
            raise PartlyChangedError(changed) from error
        changed.append(each.folder.run_id)
    return changed


def plan_purge(index: ProjectIndex, run_ids: Sequence[str] | None) -> PlannedPurge:
    """Which deleted runs of a project may be removed for good.

    Args:
        index: the project, just refreshed.
        run_ids: which; None for all deleted ones.

    Raises:
        RunNotFoundError: one of them does not exist.
    """
    runs = index.deleted_runs() if run_ids is None else [_any_run(index, run_id) for run_id in dict.fromkeys(run_ids)]
    now_us = time.time_ns() // 1000
    kept = {run.run_id: reason for run in runs if (reason := why_kept(run, now_us=now_us)) is not None}
    return PlannedPurge(folders=tuple(_folder(index, run) for run in runs if run.run_id not in kept), kept=kept)


def make_purge(planned: PlannedPurge, changes: Changes) -> Purged:
    """Removes runs for good.

    Raises:
        PartlyChangedError: the disk or the Hub refused; the cause says which.
    """
    purged: list[str] = []
    for folder in planned.folders:
        try:
            changes.purge(folder)
        except (OSError, RemoteError) as error:
            raise PartlyChangedError(purged) from error
        purged.append(folder.run_id)
    return Purged(purged=tuple(purged), kept=planned.kept)


def why_kept(run: RunIndex, *, now_us: int) -> str | None:
    """Why a run must not be purged now; None where it may be."""
    if not run.description.is_deleted:
        return "It is not deleted: delete it first, and it can still be restored until it is purged."
    if run.description.state == RUNNING and now_us - run.last_us < ABANDONED_US:
        return "It is still running: purge it when it has ended."
    return None


def list_deleted(index: ProjectIndex) -> list[DeletedRun]:
    """The deleted runs of a project, the last deleted first."""
    found = [
        DeletedRun(
            id=run.run_id,
            name=run.name,
            deleted_us=max(event.time_us for event in run.events if event.type == "delete"),
            num_rows=run.summaries["metrics"].num_rows,
            is_running=run.description.state == RUNNING,
        )
        for run in index.deleted_runs()
    ]
    return sorted(found, key=lambda run: (-run.deleted_us, run.id))


def known_project(root: Path, project: str) -> ProjectIndex:
    """A project as it is now.

    Raises:
        ProjectNotFoundError: there is no such project.
    """
    index = ProjectIndex(root, project)
    index.refresh()
    if not index.is_known:
        raise ProjectNotFoundError(f"There is no project {project!r}. Root: {root}")
    return index


def delete_project(project: str, *, root: str | Path | None = None, purge: bool = False) -> int:
    """Deletes all runs of a project. They can be restored until they are purged.

    Args:
        project: the project's name.
        root: folder of all projects; as `init` finds it where it is None.
        purge: whether to remove the files as well, for good; runs that are still running are kept, deleted.

    Returns:
        How many runs were deleted, with `purge` how many were removed.

    Raises:
        ProjectNotFoundError: there is no such project.
        OSError: the disk refuses.
    """
    folder = Settings.from_env().root if root is None else Path(root).expanduser()
    index = known_project(folder, project)
    with plain_errors():
        deleted = make_changes(plan_changes(index, None, Change(type="delete")), FolderChanges())
        if not purge:
            return len(deleted)
        return len(make_purge(plan_purge(known_project(folder, project), None), FolderChanges()).purged)


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Raises the cause of what failed on the way, for those who ask from Python."""
    try:
        yield
    except PartlyChangedError as error:
        raise error.__cause__ or error from None


def _any_run(index: ProjectIndex, run_id: str) -> RunIndex:
    run = index.run(run_id) or next((run for run in index.deleted_runs() if run.run_id == run_id), None)
    if run is None:
        raise RunNotFoundError(f"Project {index.project!r} has no run with the id {run_id!r}.")
    return run


def _folder(index: ProjectIndex, run: RunIndex) -> RunFolder:
    return run_folder(index.root, index.project, run.run_id, run.path)


def _next_us(run: RunIndex) -> int:
    """Now, or just behind what is known: where a host's clock is ahead, a change must still be the last word."""
    return max(time.time_ns() // 1000, max((event.time_us for event in run.events), default=0) + 1)


__all__ = [
    "DeletedRun",
    "PartlyChangedError",
    "PlannedChange",
    "PlannedPurge",
    "Purged",
    "delete_project",
    "known_project",
    "list_deleted",
    "make_changes",
    "make_purge",
    "plain_errors",
    "plan_changes",
    "plan_purge",
    "why_kept",
]
