"""The one place between the routes and the query stage: one look at the files serves all viewers."""

from __future__ import annotations

import csv
import io
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import pyarrow.compute as pc

from space_app.api.wire import Arrays, flatten, numbers, plain, to_json, with_field
from trackio_like._version import __version__
from trackio_like.format.names import JournalName
from trackio_like.query.history import read_history
from trackio_like.query.index import ProjectIndex
from trackio_like.query.load import open_cursor
from trackio_like.query.objects import read_objects
from trackio_like.query.panels import PanelQuery, curves
from trackio_like.query.run_index import RunIndex
from trackio_like.query.series import SeriesCache
from trackio_like.store.catalog import list_projects, list_runs
from trackio_like.store.mirror.progress import Progress

REFRESH_S: Final = 0.3
"""How often the files are looked at, however many viewers there are."""
META_S: Final = 1.0
MAX_INDEXES: Final = 8
"""Projects kept in memory; the one asked for longest ago goes first."""
MAX_ROWS: Final = 1_000_000
_MAX_STEP: Final = 2**63 - 1
_MAX_TEXTS: Final = 1000
_MAX_TRIES: Final = 5

Answer = TypeVar("Answer")


class NotFoundError(Exception):
    """The project, run or key that was asked for does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollQuery:
    """What a page asks for once a second."""

    project: str
    epoch: str
    cursor: int
    wants_runs: bool
    panels: tuple[tuple[str, PanelQuery], ...]
    """Id and question of each chart."""


class Service:
    """Answers for one root; safe to use from several threads."""

    def __init__(
        self,
        root: Path,
        *,
        poll_ms: int = 1000,
        version: str = __version__,
        refresh_s: float = REFRESH_S,
        progress: Callable[[], Progress | None] = lambda: None,
    ) -> None:
        """Starts the database, so that the first page does not wait for it; reads nothing yet.

        Args:
            root: folder of all projects; need not exist yet.
            poll_ms: how often a page is to ask.
            version: of this package, for the page.
            refresh_s: how often the files are looked at, at most.
            progress: says how the copy of a bucket or dataset stands; None for a root of this machine.
        """
        self._progress = progress
        self.root = root
        self._poll_ms = poll_ms
        self._version = version
        self._refresh_s = refresh_s
        open_cursor().close()
        self._lock = threading.Lock()
        self._indexes: OrderedDict[str, ProjectIndex] = OrderedDict()
        self._looked: dict[str, float] = {}
        self._meta: tuple[float, dict[str, Any]] = (float("-inf"), {})
        self._run_json: WeakKeyDictionary[RunIndex, tuple[int, bytes]] = WeakKeyDictionary()

    # -- meta ----------------------------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """Version, poll interval and projects, the most recent one first."""
        with self._lock:
            now = time.monotonic()
            if now - self._meta[0] >= META_S:
                projects = [self._project_line(name, folders) for name, folders in list_projects(self.root).items()]
                projects.sort(key=lambda line: (-line["last_us"], line["name"]))
                document = {"version": self._version, "poll_ms": self._poll_ms, "projects": projects}
                self._meta = (now, document)
            found = self._progress()
            return {**self._meta[1], "mirror": None if found is None else asdict(found)}

    def _project_line(self, name: str, folders: tuple[Path, ...]) -> dict[str, Any]:
        index = self._indexes.get(name)
        if index is not None:
            self._refresh(name, index)
            runs = index.runs()
            last_us = max((run.last_us for run in runs), default=0)
            return {"name": name, "num_runs": len(runs), "num_running": index.num_running, "last_us": last_us}
        found = list_runs(name, folders)
        live, last_us = 0, 0
        for run in found.values():
            touched_us, has_journal = _last_touch(run.path)
            live += has_journal
            last_us = max(last_us, touched_us)
        return {"name": name, "num_runs": len(found), "num_running": live, "last_us": last_us}

    # -- poll ----------------------------------------------------------------------------------------------------

    def poll(self, query: PollQuery) -> bytes:
        """What changed since the page asked last, packed.

        Raises:
            NotFoundError: there is no such project.
            ValueError: the answer would be too large.
        """
        with self._lock:
            index = self._index(query.project)
            is_reset = query.epoch != index.epoch
            since = 0 if is_reset else query.cursor
            cursor, series, arrays = self._drawn(index, query, is_reset=is_reset)
            runs = [self._run_line(run, since) for run in index.runs(since=since)] if query.wants_runs else []
            has_keys = index.keys_changed_at > since or since == 0
            has_definitions = index.definitions_changed_at > since or since == 0
            header = {
                "epoch": index.epoch,
                "cursor": cursor,
                "reset": is_reset,
                "now_us": time.time_ns() // 1000,
                "removed": index.removed(since=since) if since else [],
                "keys": index.keys if has_keys else None,
                "definitions": [asdict(item) for item in index.definitions] if has_definitions else None,
                "series": series,
                "arrays": arrays.table,
            }
        return arrays.packed(with_field(to_json(header), "runs", runs))

    def _drawn(self, index: ProjectIndex, query: PollQuery, *, is_reset: bool) -> tuple[int, list[Any], Arrays]:
        """All charts as of one cursor, and that cursor."""
        tries = 0
        while True:
            tries += 1
            cursor, arrays = index.cursor, Arrays()
            series = [
                self._curve_line(panel_id, curve, arrays)
                for panel_id, panel in query.panels
                for curve in curves(index, replace(panel, since=0) if is_reset else panel)
            ]
            # A series whose files had moved made the index look again: the charts before it are older then.
            if index.cursor == cursor or tries == _MAX_TRIES:
                return cursor, series, arrays

    @staticmethod
    def _curve_line(panel_id: str, curve: Any, arrays: Arrays) -> dict[str, Any]:
        return {
            "panel": panel_id,
            "run": curve.run_id,
            "key": curve.key,
            "lane": curve.lane,
            "lanes": curve.num_lanes,
            "mode": curve.mode,
            "num_points": curve.num_points,
            "num_non_finite": curve.num_non_finite,
            "num_shown": len(curve.x_K),
            "is_exact": curve.is_exact,
            "x": arrays.add(curve.x_K, is_shared=True),
            "y": arrays.add(curve.y_K, is_shared=False),
        }

    def _run_line(self, run: RunIndex, since: int) -> bytes:
        """A run for the list, as JSON: whole ones are kept, for every page begins with all of them."""
        kept = self._run_json.get(run)
        if since == 0 and kept is not None and kept[0] == run.changed_at:
            return kept[1]
        line = to_json({**_identity(run), "last": numbers(run.summaries["metrics"].last_values(since=since))})
        if since == 0:
            self._run_json[run] = (run.changed_at, line)
        return line

    # -- one run -------------------------------------------------------------------------------------------------

    def run(self, project: str, run_id: str) -> dict[str, Any]:
        """One run in full.

        Raises:
            NotFoundError: there is no such project or run.
        """
        with self._lock:
            index = self._index(project)
            run = self._run(index, run_id)
            description, summary = run.description, run.summaries["metrics"]
            document = {
                **_identity(run),
                "config": plain(description.config),
                "metadata": plain(description.metadata),
                "error": description.error,
                "sampler": description.sampler,
                "summary": [plain(asdict(known)) for key in summary.keys if (known := summary.of(key)) is not None],
                "attempts": [plain(asdict(attempt)) for attempt in description.attempts],
                "writers": [plain(asdict(signs)) for signs in run.writers.values()],
                "alerts": [plain(asdict(alert)) for alert in description.alerts],
                "definitions": [asdict(item) for item in description.definitions],
            }
            path, faults = run.path, index.faults
        texts = read_objects(path, types=("text",), faults=faults)
        document["num_texts"] = len(texts)
        document["texts"] = [plain(asdict(text)) for text in texts[-_MAX_TEXTS:]]
        return document

    # -- rows ----------------------------------------------------------------------------------------------------

    def rows(
        self, project: str, run_id: str, key: str, *, x0: float | None, x1: float | None, limit: int
    ) -> tuple[int, Iterator[tuple[Any, ...]]]:
        """The raw rows of one series, in the order of the calls.

        Args:
            project: the project's name.
            run_id: the run's id.
            key: the metric.
            x0: smallest step, inclusive; None for no bound.
            x1: largest step, inclusive; None for no bound.
            limit: at most so many rows.

        Returns:
            How many rows fit, and the first of them: (step, time_us, value, attempt, writer, seq) each.

        Raises:
            NotFoundError: there is no such project, run or key.
        """
        with self._lock:
            index = self._index(project)
            run = self._run(index, run_id)
            if run.summaries["metrics"].changed_at(key) is None:
                raise NotFoundError(f"The run has no metric {key!r}.")
            path, faults = run.path, index.faults
        table = read_history(path, "metrics", keys=[key], faults=faults)
        # As integers: arrow refuses to compare those beyond 2^53 with a float.
        if x0 is not None:
            first = math.ceil(x0)
            is_there = first <= _MAX_STEP
            table = table.filter(pc.greater_equal(table["step"], max(first, -_MAX_STEP))) if is_there else table[:0]
        if x1 is not None:
            last = math.floor(x1)
            is_there = last >= -_MAX_STEP
            table = table.filter(pc.less_equal(table["step"], min(last, _MAX_STEP))) if is_there else table[:0]
        num_rows = len(table)
        table = table.slice(0, max(0, min(limit, MAX_ROWS)))
        time_us = table["time"].cast("int64").to_pylist()
        values = zip(table["value_int"].to_pylist(), table["value"].to_pylist(), strict=True)
        exact = [value if big is None else big for big, value in values]
        others = (table[name].to_pylist() for name in ("attempt", "writer", "seq"))
        return num_rows, zip(table["step"].to_pylist(), time_us, exact, *others, strict=True)

    # -- people --------------------------------------------------------------------------------------------------

    def ask(self, project: str, question: Callable[[ProjectIndex], Answer], *, looks_now: bool = True) -> Answer:
        """What a project answers as it is now, or else as it was seen a moment ago.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._lock:
            index = self._index(project)
            if looks_now:
                index.refresh()
            return question(index)

    def look_again(self, project: str) -> None:
        """Lets the next question see what was changed just now."""
        with self._lock:
            self._looked[project] = float("-inf")
            self._meta = (float("-inf"), {})

    def is_deleted(self, project: str, run_id: str) -> bool:
        """Whether a run is in the bin; False where there is no such run."""
        try:
            deleted = self.ask(project, lambda index: index.deleted_runs())
        except NotFoundError:
            return False
        return any(run.run_id == run_id for run in deleted)

    # -- shared --------------------------------------------------------------------------------------------------

    def _index(self, project: str) -> ProjectIndex:
        index = self._indexes.get(project)
        if index is None:
            index = ProjectIndex(self.root, project, cache=SeriesCache())
            index.refresh()
            if not index.is_known:
                raise NotFoundError(f"There is no project {project!r}.")
            self._indexes[project] = index
            self._looked[project] = time.monotonic()
            while len(self._indexes) > MAX_INDEXES:
                forgotten, _ = self._indexes.popitem(last=False)
                del self._looked[forgotten]
        self._indexes.move_to_end(project)
        self._refresh(project, index)
        return index

    def _refresh(self, project: str, index: ProjectIndex) -> None:
        now = time.monotonic()
        if now - self._looked[project] >= self._refresh_s:
            index.refresh()
            self._looked[project] = now

    @staticmethod
    def _run(index: ProjectIndex, run_id: str) -> RunIndex:
        run = index.run(run_id)
        if run is None:
            raise NotFoundError(f"The project has no run with the id {run_id!r}.")
        return run


def _identity(run: RunIndex) -> dict[str, Any]:
    description = run.description
    return {
        "id": run.run_id,
        "name": run.name,
        "group": description.group,
        "tags": list(description.tags),
        "state": description.state,
        "created_us": description.created_us,
        "finished_us": description.finished_us,
        "active_s": description.active_s,
        "span_s": description.span_s,
        "num_rows": run.summaries["metrics"].num_rows,
        "num_writers": sum(len(attempt.writers) for attempt in description.attempts),
        "num_attempts": len(description.attempts),
        "last_step": run.last_step,
        "config": flatten(description.config),
    }


def _last_touch(run_folder: Path) -> tuple[int, bool]:
    """When a run's rows were last written, microseconds since the epoch, and whether it has a journal; reads no file.

    Folders' own times say nothing: compaction changes them long after a run ended.
    """
    folder = run_folder / "journal"
    journals = [folder / name for name in _names_in(folder) if JournalName.parse(name) is not None]
    shards = [folder / name for folder in (run_folder / "metrics", run_folder / "events") for name in _names_in(folder)]
    return max(map(_mtime_ns, journals or shards), default=0) // 1000, bool(journals)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _mtime_ns(path: Path) -> int:
    """0 where there is no such file, or no longer: journals come and go."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def to_csv(rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    """Rows of `Service.rows` as CSV, a line at a time."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["step", "time_us", "value", "attempt", "writer", "seq"])
    for row in rows:
        writer.writerow(row)
        if buffer.tell() > 1 << 16:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


__all__ = ["MAX_ROWS", "NotFoundError", "PollQuery", "Service", "to_csv"]
