"""One run in memory: its events, the summary of its keys, and the rows that are in no shard yet."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trackio_like.format.records import Header, ScalarKind
from trackio_like.query.fold import RUNNING, FoldedEvents, describe, fold_events
from trackio_like.query.liveness import Liveness
from trackio_like.query.load import LOAD_ERRORS, Columns, load_events, load_points, load_time_span
from trackio_like.query.records import Event, RunDescription, WriterSigns
from trackio_like.query.series import Series, SeriesCache, SeriesId
from trackio_like.query.summary import Summary
from trackio_like.store.blocks import Batch, Block
from trackio_like.store.faults import Faults
from trackio_like.store.follow import Delta, RunFollower
from trackio_like.store.shard_files import ShardRead

_log = logging.getLogger(__name__)
SCALAR_KINDS: tuple[ScalarKind, ...] = ("metrics", "system")


@dataclass(slots=True)
class _Signs:
    """`WriterSigns` while rows come in."""

    attempt: int
    rank: int
    first_us: int | None = None
    last_us: int | None = None
    num_rows: int = 0
    last_step: int | None = None
    last_seq: int = 0

    def see(self, first_us: int, last_us: int) -> None:
        self.first_us = first_us if self.first_us is None else min(self.first_us, first_us)
        self.last_us = last_us if self.last_us is None else max(self.last_us, last_us)

    def see_step(self, seq: int, step: int | None) -> None:
        if step is not None and seq >= self.last_seq:
            self.last_seq, self.last_step = seq, step


class RunIndex:
    """What is known of one run; `advance` keeps it up. Not thread-safe."""

    def __init__(self, project: str, run_id: str, path: Path, *, faults: Faults) -> None:
        self.project = project
        self.run_id = run_id
        self.path = path
        self.changed_at = 0
        """Cursor of the last change of any kind; 0 before there is anything to show."""
        self.objects_changed_at = 0
        """Cursor of the last look that met an object; 0 before the first."""
        self.description = RunDescription()
        self.summaries: dict[ScalarKind, Summary] = {kind: Summary() for kind in SCALAR_KINDS}
        self.writers: dict[str, WriterSigns] = {}
        self.events: list[Event] = []
        self.origin_us = 0
        """Time of the first row: zero of the relative axis."""
        self._faults = faults
        self._follower = RunFollower(path, faults=faults)
        self._folded = FoldedEvents()
        self._signs: dict[str, _Signs] = {}
        self._dead: set[str] = set()
        self._tail: dict[ScalarKind, list[tuple[str, Block]]] = {kind: [] for kind in SCALAR_KINDS}
        self._events_mtime_ns = 0

    @property
    def is_visible(self) -> bool:
        """Whether there is anything to show: an event or a row; deleted runs are not shown."""
        return self.changed_at > 0 and not self.description.is_deleted

    @property
    def is_told_by_journals(self) -> bool:
        """Whether journals show whatever happens next: there is one, or the run is over."""
        return self.changed_at > 0 and (self._follower.num_journals > 0 or self.description.state != RUNNING)

    @property
    def has_late_rows(self) -> bool:
        """Whether its files hold rows that were passed over: it must be read anew."""
        return self._follower.has_late_rows

    def has_news_from_people(self) -> bool:
        """Whether an event came or went beside the journals since this was last asked: one look at a folder's time."""
        try:
            mtime_ns = os.stat(self.path / "events").st_mtime_ns
        except OSError:
            return False
        before, self._events_mtime_ns = self._events_mtime_ns, mtime_ns
        return mtime_ns != before

    @property
    def name(self) -> str:
        """The run's name, else its id."""
        return self.description.name or self.run_id

    @property
    def last_us(self) -> int:
        """Last sign of life."""
        return max((attempt.ended_us for attempt in self.description.attempts), default=0)

    @property
    def last_step(self) -> int | None:
        """The newest attempt's last step."""
        newest = max((s.attempt for s in self._signs.values() if s.last_step is not None), default=0)
        steps = [s.last_step for s in self._signs.values() if s.attempt == newest and s.last_step is not None]
        return max(steps, default=None)

    # -- keeping up ----------------------------------------------------------------------------------------------

    def advance(self, cursor: int, *, cache: SeriesCache, liveness: Liveness, look_at_shards: bool) -> bool:
        """Takes in what the files gained.

        Args:
            cursor: the number of this look, noted on whatever changed.
            cache: its series of this run get the new points.
            liveness: tells which writers' processes have ended.
            look_at_shards: as `RunFollower.advance`.

        Returns:
            Whether anything that can be shown changed.
        """
        delta = self._follower.advance(look_at_shards=look_at_shards)
        changed = False
        origin_us, num_events = self.origin_us, len(self.events)
        grown: set[SeriesId] = set()
        for read in delta.reads:
            changed |= self._take_read(read, cursor, cache, grown)
        for batch in delta.batches:
            changed |= self._take_batch(batch, delta, cursor, cache, grown)
        if delta.has_new_listing:
            self._drop_sealed()
        if len(self.events) != num_events:
            self._folded = fold_events(self.events)
        if changed:
            self._describe()
        # Asked of the run as it stands now: the first look at a run may find its writer dead already.
        if self._look_for_dead(liveness):
            changed = True
            self._describe()
        if not changed:
            return False
        self.changed_at = cursor
        for id_ in grown:
            cache.of_run(self.run_id)[id_].mark(cursor, self.writers)
        if self.origin_us != origin_us:
            self._redraw_all(cursor, cache)
        return True

    def _redraw_all(self, cursor: int, cache: SeriesCache) -> None:
        """Makes every page draw this run's series anew: all their x have moved."""
        self.touch(cursor)
        for series in cache.of_run(self.run_id).values():
            series.forget()
            series.mark(cursor, self.writers)

    def touch(self, cursor: int) -> None:
        """Calls everything changed: a run that comes back is sent whole."""
        for summary in self.summaries.values():
            summary.changed_K[:] = cursor

    def relist(self) -> None:
        """Looks into all folders at the next `advance`, after a file turned out to be gone."""
        self._follower.relist()

    def _describe(self) -> None:
        self.writers = {
            writer: WriterSigns(
                writer=writer,
                attempt=signs.attempt,
                rank=signs.rank,
                first_us=signs.first_us,
                last_us=signs.last_us,
                num_rows=signs.num_rows,
                last_step=signs.last_step,
                is_dead=writer in self._dead,
            )
            for writer, signs in self._signs.items()
        }
        self.description = describe(self._folded, self.writers)
        firsts = [signs.first_us for signs in self._signs.values() if signs.first_us is not None]
        self.origin_us = min(firsts, default=self.description.created_us or 0)

    def _look_for_dead(self, liveness: Liveness) -> bool:
        if self.description.state != RUNNING:
            return False
        changed = False
        for writer, header in self._follower.headers.items():
            is_open = writer not in self._folded.ended and writer not in self._dead
            if is_open and liveness.is_dead(header):
                self._dead.add(writer)
                self._signs_of(header)
                changed = True
        return changed

    def _signs_of(self, source: Header) -> _Signs:
        signs = self._signs.get(source.writer)
        if signs is None:
            signs = self._signs[source.writer] = _Signs(source.attempt, source.rank)
        return signs

    # -- rows from shards ----------------------------------------------------------------------------------------

    def _take_read(self, read: ShardRead, cursor: int, cache: SeriesCache, grown: set[SeriesId]) -> bool:
        shard = read.shard
        signs = self._signs.setdefault(shard.name.writer, _Signs(shard.attempt, shard.rank))
        try:
            if shard.kind == "events":
                self.events += load_events(read)
            elif shard.kind == "objects":
                signs.see(*load_time_span(read))
                self.objects_changed_at = cursor
            else:
                kind: ScalarKind = "metrics" if shard.kind == "metrics" else "system"
                self._take_scalars(read, kind, signs, cursor, cache, grown)
        except LOAD_ERRORS as error:
            self._faults.add(shard.path, error)
            return False
        return True

    def _take_scalars(
        self, read: ShardRead, kind: ScalarKind, signs: _Signs, cursor: int, cache: SeriesCache, grown: set[SeriesId]
    ) -> None:
        shard, summary = read.shard, self.summaries[kind]
        loaded = {id_.key: id_ for id_ in cache.of_run(self.run_id) if id_.kind == kind and id_.key in shard.keys}
        if read.is_whole:
            columns = shard.take_summary()
            summary.add_columns(columns, attempt=shard.attempt, cursor=cursor)
            if columns.get("key"):
                self._see_columns(signs, columns, kind)
            wanted = list(loaded)
        else:
            wanted = sorted(shard.keys)
        for (_, key), points in load_points([read], wanted).items():
            if not read.is_whole:
                block = _one_key_block(kind, key, points)
                summary.add_block(block, attempt=shard.attempt, cursor=cursor)
                self._see_block(signs, block)
            if key in loaded:
                _grow(cache.of_run(self.run_id)[loaded[key]], shard.name.writer, points)
                grown.add(loaded[key])

    @staticmethod
    def _see_columns(signs: _Signs, columns: dict[str, list[int]], kind: ScalarKind) -> None:
        signs.see(min(columns["first_time_us"]), max(columns["last_time_us"]))
        newest = max(range(len(columns["key"])), key=columns["last_seq"].__getitem__)
        if kind == "metrics":
            signs.num_rows += sum(columns["count"])
            signs.see_step(columns["last_seq"][newest], columns["last_step"][newest])

    # -- rows from journals --------------------------------------------------------------------------------------

    def _take_batch(self, batch: Batch, delta: Delta, cursor: int, cache: SeriesCache, grown: set[SeriesId]) -> bool:
        header = batch.header
        writer = header.writer
        seen = {kind: by_writer.get(writer, 0) for kind, by_writer in delta.seen.items()}
        events = [
            Event(
                time_us=event.time_us,
                writer=writer,
                seq=event.seq,
                attempt=header.attempt,
                type=event.type,
                payload=event.payload if type(event.payload) is dict else {},
            )
            for event in batch.events
            if event.seq > seen["events"]
        ]
        self.events += events
        changed = bool(events)
        blocks = [new for block in batch.blocks if (new := block.after(seen[block.kind])) is not None]
        for block in blocks:
            self.summaries[block.kind].add_block(block, attempt=header.attempt, cursor=cursor)
            self._see_block(self._signs_of(header), block)
            self._tail[block.kind].append((writer, block))
            changed = True
        if blocks:
            self._grow_series(writer, blocks, cache, grown)
        for record in batch.objects:
            if record.seq > seen["objects"]:
                self._signs_of(header).see(record.time_us, record.time_us)
                self.objects_changed_at = cursor
                changed = True
        return changed

    def _grow_series(self, writer: str, blocks: list[Block], cache: SeriesCache, grown: set[SeriesId]) -> None:
        for id_, series in cache.of_run(self.run_id).items():
            points = gather(id_.kind, id_.key, blocks)
            if points is not None:
                _grow(series, writer, points)
                grown.add(id_)

    @staticmethod
    def _see_block(signs: _Signs, block: Block) -> None:
        signs.see(int(block.time_C[0]), int(block.time_C[-1]))
        if block.step_C is not None:
            signs.num_rows += len(block.seq_C) * len(block.keys)
            signs.see_step(int(block.seq_C[-1]), int(block.step_C[-1]))

    def _drop_sealed(self) -> None:
        for kind in SCALAR_KINDS:
            covered = self._follower.covered(kind)
            self._tail[kind] = [(w, block) for w, block in self._tail[kind] if block.seq_C[-1] > covered.get(w, 0)]

    # -- points on demand ----------------------------------------------------------------------------------------

    def reads_of(self, kind: ScalarKind, key: str) -> list[ShardRead]:
        """The shards that hold points of a key."""
        return [read for read in self._follower.plan(kind) if key in read.shard.keys]

    def tail_points(self, kind: ScalarKind, key: str) -> Iterator[tuple[str, Columns]]:
        """A key's points that are in no shard yet, by writer, in order."""
        covered = self._follower.covered(kind)
        by_writer: dict[str, list[Block]] = {}
        for writer, block in self._tail[kind]:
            new = block.after(covered.get(writer, 0)) if key in block.positions else None
            if new is not None:
                by_writer.setdefault(writer, []).append(new)
        for writer, blocks in by_writer.items():
            points = gather(kind, key, blocks)
            if points is not None:
                yield writer, points


def gather(kind: ScalarKind, key: str, blocks: list[Block]) -> Columns | None:
    """A key's points in one writer's blocks, in the order of the calls; None where there are none."""
    found = [(b, position) for b in blocks if (position := b.positions.get(key)) is not None and b.kind == kind]
    if not found:
        return None
    if len(found) == 1:
        block, position = found[0]
        step_N = np.zeros_like(block.seq_C) if block.step_C is None else block.step_C
        return Columns(
            seq_N=block.seq_C, step_N=step_N, time_N=block.time_C, value_N=block.value_CK[:, position].copy()
        )
    seq_N = np.concatenate([block.seq_C for block, _ in found])
    step_N = np.concatenate([np.zeros_like(b.seq_C) if b.step_C is None else b.step_C for b, _ in found])
    time_N = np.concatenate([block.time_C for block, _ in found])
    value_N = np.concatenate([block.value_CK[:, position] for block, position in found])
    if len(found) > 1 and not (seq_N[1:] > seq_N[:-1]).all():
        order = np.argsort(seq_N, kind="stable")
        seq_N, step_N, time_N, value_N = seq_N[order], step_N[order], time_N[order], value_N[order]
    return Columns(seq_N=seq_N, step_N=step_N, time_N=time_N, value_N=value_N)


def _grow(series: Series, writer: str, columns: Columns) -> None:
    points = series.points.get(writer)
    if points is None:
        series.points[writer] = columns.to_points()
    else:
        points.extend(columns.seq_N, columns.step_N, columns.time_N, columns.value_N)


def _one_key_block(kind: ScalarKind, key: str, points: Columns) -> Block:
    return Block(
        kind=kind,
        keys=(key,),
        seq_C=points.seq_N,
        step_C=points.step_N if kind == "metrics" else None,
        time_C=points.time_N,
        value_CK=points.value_N[:, None],
        big_ints=(),
    )


__all__ = ["SCALAR_KINDS", "RunIndex", "gather"]
