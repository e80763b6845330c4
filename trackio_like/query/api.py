"""`trackio_like.Api`: projects and runs from Python, of a root or of the Hub, also while they are written."""

from __future__ import annotations

import difflib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from trackio_like.errors import ProjectNotFoundError, RunNotFoundError
from trackio_like.query.api_run import ApiRun
from trackio_like.query.changes import (
    DeletedRun,
    Purged,
    list_deleted,
    make_changes,
    make_purge,
    plain_errors,
    plan_changes,
    plan_purge,
)
from trackio_like.query.drawn import DrawnSeries
from trackio_like.query.index import ProjectIndex
from trackio_like.query.run_index import RunIndex
from trackio_like.store.catalog import list_projects
from trackio_like.store.changes import Change
from trackio_like.store.source import open_source

REMOTE_TIMEOUT_S: Final = 120.0
_REFRESH_S: Final = 0.05
"""How old may be what is known of the other runs when one is asked: several questions in a row look at those once."""

Answer = TypeVar("Answer")


class Api:
    """Reads a root, a bucket, a dataset or what a Space shows; also a context manager.

    Safe to use from several threads; writes only what `ApiRun` and it are told to change.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        bucket_id: str | None = None,
        dataset_id: str | None = None,
        space_id: str | None = None,
        token: str | None = None,
        timeout: float = REMOTE_TIMEOUT_S,
    ) -> None:
        """Reads nothing of a root yet; of a bucket, a dataset or a Space it waits for a copy, which is kept up then.

        Args:
            root: folder of all projects; `TRACKIO_DIR` or its default where nothing is named.
            bucket_id: a bucket to read instead, `owner/name`.
            dataset_id: a dataset to read instead.
            space_id: a Space whose bucket or dataset is to be read instead.
            token: a token of the Hub; this machine's login where it is None.
            timeout: seconds to wait at most for the copy; what was copied stays, and another `Api` goes on from there.

        Raises:
            ValueError: several places are named, or one that is no name on the Hub.
            RemoteError: the place cannot be read: it is not there, the token may not see it, the Hub does not answer.
            TimeoutError: the copy takes longer.
        """
        self._source = open_source(
            None if root is None else Path(root).expanduser(),
            bucket_id=bucket_id,
            dataset_id=dataset_id,
            space_id=space_id,
            token=token,
        )
        self.root = self._source.root
        self._begin()
        self._source.start()
        try:
            self._source.wait(timeout)
        except BaseException:
            self._source.close()
            raise

    def close(self) -> None:
        """Ends the copying of a bucket or dataset; a root needs none. Idempotent."""
        self._source.close()

    def __enter__(self) -> Self:
        """The Api itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._indexes: dict[str, ProjectIndex] = {}
        self._looked: dict[str, float] = {}

    def _locked(self) -> threading.RLock:
        """The lock. A forked child begins anew: a thread that is not there may have held the old one."""
        if self._pid != os.getpid():
            self._begin()
        return self._lock

    def __repr__(self) -> str:
        return f"Api({self._source.title!r})"

    def projects(self) -> list[str]:
        """The names of all projects that have a run, sorted."""
        return list(list_projects(self.root))

    def runs(self, project: str) -> list[ApiRun]:
        """The runs of a project, oldest first; deleted ones are left out.

        Raises:
            ProjectNotFoundError: there is no such project; the message lists similar names.
        """
        with self._locked():
            return [ApiRun(self, project, run.run_id) for run in self._project(project).runs()]

    def run(self, project: str, name_or_id: str) -> ApiRun:
        """One run.

        Args:
            project: the project's name.
            name_or_id: an id, else a name; of several runs of that name, the newest.

        Raises:
            ProjectNotFoundError: there is no such project; the message lists similar names.
            RunNotFoundError: there is no such run; the message lists similar names.
        """
        with self._locked():
            index = self._project(project)
            if index.run(name_or_id) is not None:
                return ApiRun(self, project, name_or_id)
            runs = index.runs()
            named = [run for run in runs if run.name == name_or_id]
            if named:
                return ApiRun(self, project, named[-1].run_id)
        known = _similar(name_or_id, [run.name for run in runs])
        raise RunNotFoundError(f"Project {project!r} has no run named {name_or_id!r}, and none of that id. {known}")

    def deleted(self, project: str) -> list[DeletedRun]:
        """The deleted runs of a project, the last deleted first: `restore` brings one back, `purge` removes them.

        Raises:
            ProjectNotFoundError: there is no such project; the message lists similar names.
        """
        with self._locked():
            return list_deleted(self._project(project))

    def restore(self, project: str, run_id: str) -> ApiRun:
        """Brings a deleted run back.

        Raises:
            RunNotFoundError: there is no such run.
            OSError: the disk refuses.
        """
        self.change(project, run_id, Change(type="restore"))
        return ApiRun(self, project, run_id)

    def purge(self, project: str, run_ids: Iterable[str] | None = None) -> Purged:
        """Removes deleted runs for good. Those that are still running, and those that are not deleted, are kept.

        Args:
            project: the project's name.
            run_ids: which runs; None for all deleted ones.

        Raises:
            RunNotFoundError: one of them does not exist; none is removed.
            OSError: the disk refuses.
        """
        with self._locked(), plain_errors():
            planned = plan_purge(self._project(project), None if run_ids is None else list(run_ids))
            return make_purge(planned, self._source.changes)

    def change(self, project: str, run_id: str, change: Change) -> None:
        """Changes a run; for `ApiRun`."""
        with self._locked(), plain_errors():
            make_changes(plan_changes(self._project(project), [run_id], change), self._source.changes)

    def _project(self, project: str, *, run_id: str | None = None) -> ProjectIndex:
        """A project as it is now; where one run is asked about, that run."""
        index = self._indexes.get(project)
        now = time.monotonic()
        if index is None:
            index = ProjectIndex(self.root, project)
        elif run_id is not None and now - self._looked[project] < _REFRESH_S:
            index.refresh_run(run_id)
            return index
        index.refresh()
        if not index.is_known:
            known = _similar(project, self.projects())
            raise ProjectNotFoundError(f"There is no project {project!r}. {known} Root: {self.root}")
        self._indexes[project] = index
        self._looked[project] = now
        return index

    def ask(self, project: str, run_id: str, question: Callable[[ProjectIndex, RunIndex], Answer]) -> Answer:
        """What a run answers now; for `ApiRun`."""
        with self._locked():
            index = self._project(project, run_id=run_id)
            run = index.run(run_id)
            if run is None:
                raise RunNotFoundError(f"Run {run_id!r} is no longer in project {project!r}: it was deleted.")
            return question(index, run)


def _similar(wanted: str, known: Iterable[str]) -> str:
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(wanted, names, n=5, cutoff=0.5) or names[-5:]
    if not close:
        return "There is none yet."
    return f"Did you mean one of {', '.join(map(repr, close))}?"


__all__ = ["Api", "ApiRun", "DrawnSeries"]
