"""Sealing: what a writer's journal has gained becomes one shard per kind."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Final, get_args

from trackio_like.format.names import JOURNAL_SUFFIX, JournalName, Kind, RunFolder, ShardName
from trackio_like.format.records import Chunk, EventRecord, Header, ObjectRecord, ScalarBlock, ScalarKind
from trackio_like.journal.reader import READ_BYTES, JournalTail, list_segments, read_header
from trackio_like.shards.files import ShardInfo, write_shard
from trackio_like.shards.mark import SealedMark
from trackio_like.shards.tables import event_table, object_table, scalar_table

SEAL_BYTES: Final = 16 << 20
"""Journal bytes that one shard takes at most: bounds the memory of a pass."""
_SEAL_LEVEL: Final = 1
"""zstd level of fresh shards: they are soon compacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealReport:
    """What one pass over a writer did."""

    num_calls: int
    """Calls that are now in shards."""
    num_damaged: int
    """Frames that had a wrong checksum; their file is kept aside."""
    shards: tuple[tuple[Kind, ShardName], ...]
    is_finished: bool
    """Whether the writer wrote its finish event: it writes no more."""


class WriterSealer:
    """Seals one writer's journal, pass by pass. Not thread-safe.

    Keeps its place in memory; a new one starts from the mark on disk.
    """

    def __init__(self, folder: RunFolder, writer: str) -> None:
        """Starts from the writer's mark.

        Args:
            folder: the run's folder.
            writer: the writer's id.
        """
        self.folder = folder
        self.writer = writer
        self.header: Header | None = None
        """Who writes; None until the first segment's header is whole."""
        self.is_adopted = False
        """Whether the writer's host is gone and this one seals for it."""
        self._mark_path = folder.sealed_mark(writer)
        self._mark = SealedMark.load(self._mark_path)
        self._tail: JournalTail | None = None
        self._segment = self._mark.segment
        self._damaged: set[int] = set()
        """Segments that held what is no record: they are kept aside."""

    @property
    def is_finished(self) -> bool:
        """Whether the writer's finish event is sealed: it writes no more."""
        return self._mark.is_finished

    def load_header(self) -> Header | None:
        """Who writes, also before anything is sealed; None where no header is whole yet."""
        if self.header is None:
            for name in self._segments():
                try:
                    self.header = read_header(self.folder.journal / str(name))
                except FileNotFoundError:
                    continue
                if self.header is not None:
                    break
        return self.header

    def has_journal(self) -> bool:
        """Whether the writer has a journal on disk."""
        return bool(self._segments())

    def seal(self) -> SealReport:
        """Seals what the journal has gained since the last pass, in shards of about `SEAL_BYTES` of journal each.

        Safe to be killed at any point, and to run twice at once: see `docs/design/files.md`.

        Raises:
            OSError: a shard or the mark cannot be written; the journal keeps every row.
        """
        num_calls, num_damaged, shards = 0, 0, []
        while True:
            chunks = self._read_batch()
            if not chunks:
                break
            try:
                shards += self._write(chunks)
                self._advance(chunks)
            except BaseException:
                # What was read is not sealed: the next pass must read it again.
                self._tail, self._segment = None, self._mark.segment
                raise
            num_calls += sum(chunk.num_records for chunk in chunks)
            num_damaged += sum(chunk.num_damaged for chunk in chunks)
            if len(chunks) * READ_BYTES < SEAL_BYTES:
                break  # the end was met; what came since waits for the next pass, or each would end in tiny shards
        self._drop_closed_segments()
        return SealReport(
            num_calls=num_calls, num_damaged=num_damaged, shards=tuple(shards), is_finished=self.is_finished
        )

    def drop_journal(self) -> None:
        """Deletes the journal of a writer that writes no more, once it is sealed to its end.

        Raises:
            OSError: the folder cannot be changed.
        """
        self._note_rest()
        for name in self._segments():
            self._drop(name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._mark_path)

    def _read_batch(self) -> list[Chunk]:
        """The next chunks, across segments, up to about `SEAL_BYTES`."""
        chunks: list[Chunk] = []
        while len(chunks) * READ_BYTES < SEAL_BYTES:
            chunk = self._read_chunk()
            if chunk is None:
                break
            self.header = chunk.header
            chunks.append(chunk)
        return chunks

    def _read_chunk(self) -> Chunk | None:
        while True:
            chunk = self._read_tail()
            if chunk is not None:
                return chunk
            following = self._next_segment()
            if following is None:
                return None
            # The writer may have put a last frame into the old segment between our read and its rotation.
            chunk = self._read_tail()
            if chunk is not None:
                return chunk
            self._note_rest()
            is_marked = following.segment == self._mark.segment
            self._tail = JournalTail(self.folder.journal / str(following), offset=self._mark.offset if is_marked else 0)
            self._segment = following.segment

    def _read_tail(self) -> Chunk | None:
        if self._tail is None:
            return None
        try:
            chunk = self._tail.read()
        except FileNotFoundError:
            return None
        if chunk is not None and chunk.num_damaged:
            self._damaged.add(self._segment)
        return chunk

    def _note_rest(self) -> None:
        """Keeps a segment that is over and still has bytes that nobody read: a damaged length hides what follows it."""
        if self._tail is not None and self._tail.has_grown():
            self._damaged.add(self._segment)

    def _segments(self) -> list[JournalName]:
        return [name for name in list_segments(self.folder.journal) if name.writer == self.writer]

    def _next_segment(self) -> JournalName | None:
        """The first segment behind the current one, or the marked one itself at the start."""
        for name in self._segments():
            if name.segment > self._segment or (self._tail is None and name.segment == self._segment):
                return name
        return None

    def _write(self, chunks: list[Chunk]) -> list[tuple[Kind, ShardName]]:
        records = _Batch(chunks)
        if records.last == 0:
            return []
        header = chunks[-1].header
        name = ShardName(writer=self.writer, first=records.first, last=records.last)
        written: list[tuple[Kind, ShardName]] = []
        for kind in get_args(ScalarKind):
            blocks = records.scalars[kind]
            if blocks:
                table, summary = scalar_table(header, kind, blocks)
                info = ShardInfo(attempt=header.attempt, rank=header.rank, num_rows=table.num_rows, summary=summary)
                write_shard(self.folder.shards(kind), name, kind, table, info=info, compression_level=_SEAL_LEVEL)
                written.append((kind, name))
        others: list[tuple[Kind, int]] = [("objects", len(records.objects)), ("events", len(records.events))]
        for kind, num_rows in others:
            if num_rows:
                is_event = kind == "events"
                table = event_table(header, records.events) if is_event else object_table(header, records.objects)
                info = ShardInfo(attempt=header.attempt, rank=header.rank, num_rows=num_rows, summary={})
                write_shard(self.folder.shards(kind), name, kind, table, info=info, compression_level=_SEAL_LEVEL)
                written.append((kind, name))
        return written

    def _advance(self, chunks: list[Chunk]) -> None:
        assert self._tail is not None
        last_seq = max(chunk.last_seq for chunk in chunks)
        mark = SealedMark(
            segment=self._segment,
            offset=self._tail.offset,
            seq=max(self._mark.seq, last_seq),
            is_finished=self._mark.is_finished or any(e.type == "finish" for chunk in chunks for e in chunk.events),
        )
        mark.save(self._mark_path)
        self._mark = mark

    def _drop_closed_segments(self) -> None:
        """Deletes segments that a later one follows: they grow no more, and the mark is behind them."""
        for name in self._segments():
            if name.segment < self._mark.segment:
                self._drop(name)

    def _drop(self, name: JournalName) -> None:
        path = self.folder.journal / str(name)
        with contextlib.suppress(FileNotFoundError):
            if name.segment in self._damaged:
                os.replace(path, path.with_suffix(f"{JOURNAL_SUFFIX}.damaged"))
            else:
                os.unlink(path)


class _Batch:
    """The records of some chunks by kind, and the range of their sequence numbers."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self.scalars: dict[ScalarKind, list[ScalarBlock]] = {kind: [] for kind in get_args(ScalarKind)}
        self.objects: list[ObjectRecord] = []
        self.events: list[EventRecord] = []
        firsts: list[int] = []
        for chunk in chunks:
            for block in chunk.scalars:
                self.scalars[block.kind].append(block)
            self.objects += chunk.objects
            self.events += chunk.events
            firsts += [block.seqs[0] for block in chunk.scalars]
            firsts += [item.seq for item in chunk.objects[:1]] + [event.seq for event in chunk.events[:1]]
        self.first = min(firsts, default=0)
        self.last = max((chunk.last_seq for chunk in chunks), default=0)


__all__ = ["SEAL_BYTES", "SealReport", "WriterSealer"]
