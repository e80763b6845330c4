"""Journals and shards as training and the daemon leave them, for tests that read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from trackio_like.format.names import KINDS, RunFolder, ShardName, new_run_id, new_writer_id
from trackio_like.format.records import Header
from trackio_like.journal.writer import JournalWriter
from trackio_like.run.host import host_identity, process_started
from trackio_like.shards.compact import compact_folder, drop_covered
from trackio_like.shards.seal import WriterSealer

Row = tuple[str, int, str]
"""Identity of a row: writer, seq, key."""


@dataclass
class Recorded:
    """One run on disk, and what was logged into it."""

    root: Path
    project: str = "p"
    run_id: str = field(default_factory=new_run_id)
    rows: list[Row] = field(default_factory=list)
    """Metric rows in call order."""

    def __post_init__(self) -> None:
        self.folder = RunFolder(root=self.root, project=self.project, run_id=self.run_id)
        self._sealers: dict[str, WriterSealer] = {}

    def writer(
        self,
        *,
        attempt: int = 1,
        rank: int = 0,
        host: str | None = None,
        pid: int | None = None,
        segment_bytes: int = 1 << 24,
    ) -> JournalWriter:
        """A writer of this process, or of the one that is named."""
        pid = os.getpid() if pid is None else pid
        header = Header(
            project=self.project,
            run_id=self.run_id,
            writer=new_writer_id("box", pid),
            host=host_identity() if host is None else host,
            pid=pid,
            process_started=process_started(os.getpid()) or 0.0,
            attempt=attempt,
            rank=rank,
            segment=1,
            first_seq=1,
        )
        return JournalWriter(self.folder.journal, header, segment_bytes=segment_bytes)

    def log(self, writer: JournalWriter, step: int, **values: float) -> None:
        """One call of metrics."""
        writer.metrics(step, tuple(values), list(values.values()))
        self.rows += [(writer.header.writer, writer.seq, key) for key in values]

    def seal(self, writer: JournalWriter) -> None:
        """What the daemon does every second."""
        name = writer.header.writer
        self._sealers.setdefault(name, WriterSealer(self.folder, name)).seal()

    def drop_journal(self, writer: JournalWriter) -> None:
        """Seals, and deletes the journal: what the daemon does with a writer that is gone."""
        self.seal(writer)
        self._sealers[writer.header.writer].drop_journal()

    def compact(self, *writers: JournalWriter) -> None:
        """Merges the writers' shards into as few as possible; the covered ones stay."""
        names = [writer.header.writer for writer in writers]
        for kind in KINDS:
            compact_folder(self.folder.shards(kind), kind, closed_writers=names, own_writers=names)

    def drop_covered(self, *, grace_s: float = -1) -> None:
        """Deletes what compaction left, once it has been left for so long."""
        for kind in KINDS:
            drop_covered(self.folder.shards(kind), grace_s=grace_s)

    def shard_paths(self, kind: str = "metrics") -> list[Path]:
        """The shards of a kind."""
        return sorted((self.folder.path / kind).glob("*.parquet"))


def rows_of(path: Path, *, after: int) -> list[Row]:
    """The rows of a metrics shard behind a sequence number."""
    table = pq.read_table(path, columns=["writer", "seq", "key"], partitioning=None)
    assert ShardName.parse(path.name) is not None
    found = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [(writer, seq, key) for writer, seq, key in found if seq > after]
