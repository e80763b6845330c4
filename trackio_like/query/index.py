"""One project in memory, kept up with its files: what the dashboard and `Api` ask."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from trackio_like.format.names import decode_name
from trackio_like.query.fold import RUNNING
from trackio_like.query.liveness import Liveness
from trackio_like.query.load import LOAD_ERRORS, Columns, load_points
from trackio_like.query.points import Points
from trackio_like.query.records import Definition
from trackio_like.query.run_index import RunIndex
from trackio_like.query.series import Series, SeriesCache, SeriesId
from trackio_like.run.host import host_identity
from trackio_like.store.catalog import project_folders
from trackio_like.store.faults import Faults
from trackio_like.store.shard_files import ShardRead
from trackio_like.store.watch import WatchedFolder

LOOK_INTERVAL_S: Final = 3.0
_MAX_POINTS_AT_ONCE: Final = 1_500_000
"""Bounds the memory of one query: six columns of eight bytes a point, twice."""
_MAX_TRIES: Final = 3
_SHRINK_EVERY: Final = 16
"""Growing series are weighed now and then; loaded ones at once."""


class ProjectIndex:
    """One project's runs. Not thread-safe: its owner holds a lock around every call."""

    def __init__(
        self,
        root: Path,
        project: str,
        *,
        cache: SeriesCache | None = None,
        only_run: str | None = None,
        look_interval_s: float = LOOK_INTERVAL_S,
    ) -> None:
        """Reads nothing yet: `refresh` does.

        Args:
            root: folder of all projects.
            project: the project's name.
            cache: the series in memory; one of its own by default.
            only_run: follow the run of this id alone.
            look_interval_s: how often shards are looked at where journals tell what is new, or a run is over.
        """
        self._only_run = only_run
        self.root = root
        self.project = project
        self.epoch = secrets.token_hex(6)
        """Changes whenever cursors lose their meaning: with each new index."""
        self.cursor = 0
        """Counts the looks that found something."""
        self.faults = Faults()
        self.cache = SeriesCache() if cache is None else cache
        self.keys_changed_at = 0
        self.definitions_changed_at = 0
        self._runs: dict[str, RunIndex] = {}
        self._removed: dict[str, int] = {}
        self._keys: dict[str, None] = {}
        self._definitions: dict[str, Definition] = {}
        self._liveness = Liveness(host_identity())
        self._root_folder = WatchedFolder(root)
        self._folders: dict[Path, WatchedFolder] = {}
        self._look_interval_s = look_interval_s
        self._next_look_s = 0.0

    # -- keeping up ----------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Takes in what the files gained.

        Returns:
            Whether anything changed; `cursor` has moved then.
        """
        changed = self._find_runs()
        now_s = time.monotonic()
        looks_at_all = now_s >= self._next_look_s
        if looks_at_all:
            self._next_look_s = now_s + self._look_interval_s
        if looks_at_all or self.faults.has_vanished:
            changed |= self._retry_skipped()
        return self._advance(list(self._runs.values()), looks_at_all=looks_at_all, has_changed=changed)

    def refresh_run(self, run_id: str) -> None:
        """Takes in what one run's files gained: far cheaper than `refresh` where there are many."""
        run = self._runs.get(run_id)
        if run is not None:
            self._advance([run], looks_at_all=False, has_changed=False)

    def _advance(self, runs: Sequence[RunIndex], *, looks_at_all: bool, has_changed: bool) -> bool:
        changed = has_changed
        cursor = self.cursor + 1
        for run in runs:
            was_visible = run.is_visible
            looks = run.has_news_from_people() or looks_at_all or not run.is_told_by_journals
            if run.advance(cursor, cache=self.cache, liveness=self._liveness, look_at_shards=looks):
                changed = True
                self._note_change(run, cursor, was_visible=was_visible)
        for run in [run for run in runs if run.has_late_rows]:
            changed |= self._read_anew(run, cursor)
        if changed:
            self.cursor = cursor
            if cursor % _SHRINK_EVERY == 0:
                self.cache.shrink()
        return changed

    def _retry_skipped(self) -> bool:
        """Reads runs anew of which a skipped file was repaired or replaced: later rows were taken in without it."""
        changed = False
        for folder in {path.parent.parent for path in self.faults.forget_changed()}:
            run = next((run for run in self._runs.values() if run.path == folder), None)
            if run is not None:
                changed |= self._read_anew(run, self.cursor + 1)
        return changed

    def _read_anew(self, run: RunIndex, cursor: int) -> bool:
        """Forgets what is known of a run, and reads it at the next look; whether that can be seen."""
        self._runs[run.run_id] = RunIndex(self.project, run.run_id, run.path, faults=self.faults)
        if run.is_visible:
            self._forget(run, cursor)
        return run.is_visible

    def _find_runs(self) -> bool:
        if self._root_folder.refresh():
            for path in project_folders(self.root, self.project):
                self._folders.setdefault(path, WatchedFolder(path))
        moved = [folder for folder in self._folders.values() if folder.refresh()]
        if not moved:
            return False
        for folder in moved:
            for name in sorted(folder.names):
                self._meet(folder.path / name)
        changed = False
        for run_id in [run_id for run_id, run in self._runs.items() if not self._is_listed(run)]:
            run = self._runs.pop(run_id)
            if run.is_visible:
                self._forget(run, self.cursor + 1)
                changed = True
        return changed

    def _meet(self, path: Path) -> None:
        """Begins to follow a folder; nothing is shown before it has an event or a row."""
        if path.name.startswith("."):
            return
        try:
            run_id = decode_name(path.name)
        except UnicodeDecodeError:
            return  # a stranger's folder
        if self._only_run not in (None, run_id):
            return
        if run_id not in self._runs and os.path.isdir(path):  # unlike Path's, False where it may not be looked at
            self._runs[run_id] = RunIndex(self.project, run_id, path, faults=self.faults)

    def _is_listed(self, run: RunIndex) -> bool:
        folder = self._folders.get(run.path.parent)
        return folder is not None and run.path.name in folder.names

    def _note_change(self, run: RunIndex, cursor: int, *, was_visible: bool) -> None:
        if was_visible and not run.is_visible:
            self._forget(run, cursor)
            return
        if run.is_visible and not was_visible:
            self._removed.pop(run.run_id, None)
            run.touch(cursor)
        keys = [key for key in run.summaries["metrics"].keys if key not in self._keys] if run.is_visible else []
        if keys:
            self._keys.update(dict.fromkeys(keys))
            self.keys_changed_at = cursor
        for definition in run.description.definitions:
            if self._definitions.get(definition.name) != definition:
                self._definitions[definition.name] = definition
                self.definitions_changed_at = cursor

    def _forget(self, run: RunIndex, cursor: int) -> None:
        """Takes a run away, and the keys that no other run has."""
        self._removed[run.run_id] = cursor
        self.cache.drop_run(run.run_id)
        keys = [key for other in self.runs() if other is not run for key in other.summaries["metrics"].keys]
        if len(kept := dict.fromkeys(keys)) != len(self._keys):
            self._keys, self.keys_changed_at = kept, cursor

    # -- what there is -------------------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """Whether the project has a folder at all."""
        return bool(self._folders)

    @property
    def keys(self) -> list[str]:
        """Every metric key of the project, in order of appearance."""
        return list(self._keys)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What `define_metric` said last about each name, in any run."""
        return tuple(self._definitions.values())

    def runs(self, *, since: int = 0) -> list[RunIndex]:
        """The runs that changed behind a cursor, oldest first; deleted ones are left out."""
        found = [run for run in self._runs.values() if run.is_visible and run.changed_at > since]
        return sorted(found, key=lambda run: (run.description.created_us or 0, run.run_id))

    def run(self, run_id: str) -> RunIndex | None:
        """A run by its id, or None where there is none, or it is deleted."""
        run = self._runs.get(run_id)
        return run if run is not None and run.is_visible else None

    def deleted_runs(self) -> list[RunIndex]:
        """The deleted runs, oldest first."""
        found = [run for run in self._runs.values() if run.changed_at > 0 and run.description.is_deleted]
        return sorted(found, key=lambda run: (run.description.created_us or 0, run.run_id))

    def removed(self, *, since: int) -> list[str]:
        """The ids of the runs that went behind a cursor."""
        return sorted(run_id for run_id, cursor in self._removed.items() if cursor > since)

    @property
    def num_running(self) -> int:
        """How many runs are running."""
        return sum(run.is_visible and run.description.state == RUNNING for run in self._runs.values())

    # -- series --------------------------------------------------------------------------------------------------

    def series(self, ids: Iterable[SeriesId]) -> dict[SeriesId, Series]:
        """Series, read where they are not in memory; those that do not exist are left out."""
        wanted = list(dict.fromkeys(ids))
        found = {id_: series for id_ in wanted if (series := self.cache.get(id_)) is not None}
        missing = [id_ for id_ in wanted if id_ not in found and self._changed_at(id_) is not None]
        for group in self._in_portions(missing):
            found.update(self._load(group))
        if missing:
            self.cache.shrink(keep=max(1, len(found)))
        return found

    def _changed_at(self, id_: SeriesId) -> int | None:
        run = self.run(id_.run_id)
        return None if run is None else run.summaries[id_.kind].changed_at(id_.key)

    def _in_portions(self, ids: Sequence[SeriesId]) -> list[list[SeriesId]]:
        portions: list[list[SeriesId]] = []
        room = 0
        for id_ in sorted(ids, key=lambda i: (i.kind, i.key)):
            known = self._runs[id_.run_id].summaries[id_.kind].of(id_.key)
            count = 0 if known is None else known.count
            if not portions or count > room or portions[-1][0].kind != id_.kind:
                portions.append([])
                room = _MAX_POINTS_AT_ONCE
            portions[-1].append(id_)
            room -= count
        return portions

    def _load(self, ids: list[SeriesId]) -> dict[SeriesId, Series]:
        """Reads series of one kind."""
        kind = ids[0].kind
        keys = sorted({id_.key for id_ in ids})
        for _ in range(_MAX_TRIES):
            try:
                reads = {id_: self._runs[id_.run_id].reads_of(kind, id_.key) for id_ in ids}
                files = list({read.shard.path: read for own in reads.values() for read in own}.values())
                sealed = load_points(files, keys)
                break
            except LOAD_ERRORS:
                # Compacted away since it was listed: look again, which also takes in what is new.
                for run_id in {id_.run_id for id_ in ids}:
                    self._runs[run_id].relist()
                self.refresh()
                ids = [id_ for id_ in ids if id_.run_id in self._runs]  # a folder that went takes its series along
        else:
            # The same file fails each time.
            reads = {id_: self._runs[id_.run_id].reads_of(kind, id_.key) for id_ in ids}
            files = list({read.shard.path: read for own in reads.values() for read in own}.values())
            sealed = self._load_one_by_one(files, keys)
        position = {read.shard.path: number for number, read in enumerate(files)}
        return {
            id_: self._assemble(
                id_, [(r.shard.name.writer, sealed.get((position[r.shard.path], id_.key))) for r in reads[id_]]
            )
            for id_ in ids
        }

    def _load_one_by_one(self, reads: list[ShardRead], keys: list[str]) -> dict[tuple[int, str], Columns]:
        """What can be read, where one file stops the query for all."""
        found: dict[tuple[int, str], Columns] = {}
        for position, read in enumerate(reads):
            try:
                own = load_points([read], keys)
            except LOAD_ERRORS as error:
                self.faults.add(read.shard.path, error)
                continue
            found.update({(position, key): columns for (_, key), columns in own.items()})
        return found

    def _assemble(self, id_: SeriesId, sealed: list[tuple[str, Columns | None]]) -> Series:
        """One series of what shards held, by writer and in order, and of what is in none yet."""
        run = self._runs[id_.run_id]
        parts: dict[str, list[Columns]] = {}
        for writer, columns in (*sealed, *run.tail_points(id_.kind, id_.key)):
            if columns is not None:
                parts.setdefault(writer, []).append(columns)
        series = Series({writer: _join(own) for writer, own in parts.items()}, has_steps=id_.kind == "metrics")
        series.mark(run.summaries[id_.kind].changed_at(id_.key) or self.cursor, run.writers)
        self.cache.put(id_, series)
        return series


def _join(columns: list[Columns]) -> Points:
    points = columns[0].to_points()
    for later in columns[1:]:
        points.extend(later.seq_N, later.step_N, later.time_N, later.value_N)
    return points


__all__ = ["LOOK_INTERVAL_S", "ProjectIndex"]
