"""What a journal holds once decoded: frozen records handed from stage to stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ScalarKind = Literal["metrics", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Who writes a journal segment."""

    project: str
    run_id: str
    writer: str
    host: str
    """Identity of the machine: name, boot and process-id namespace; pids of other hosts mean nothing here."""
    pid: int
    process_started: float
    """When that process began, as its host counts (`run.host`): tells a pid from a later one of the same number."""
    attempt: int
    """Counts resumes of the run, from 1."""
    rank: int
    """Rank in a distributed job; 0 alone."""
    segment: int
    """Counts the writer's segments, from 1."""
    first_seq: int
    """Every record of this segment has at least this sequence number."""


@dataclass(slots=True, kw_only=True)
class ScalarBlock:
    """Calls of one kind with the same keys, in call order; filled by the reader, then only read.

    C calls, K keys.
    """

    kind: ScalarKind
    keys: tuple[str, ...]
    """[K] the keys, in the order of each row of values."""
    seqs: list[int] = field(default_factory=list)
    """[C] rising strictly."""
    steps: list[int | None] = field(default_factory=list)
    """[C] None for kind system."""
    times_us: list[int] = field(default_factory=list)
    """[C] microseconds since the epoch, UTC."""
    values: list[list[float | int | bool]] = field(default_factory=list)
    """[C][K] int beyond int64 never occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRecord:
    """One logged value that is not a number."""

    seq: int
    step: int | None
    time_us: int
    key: str
    type: str
    """Name of the data type, such as "text"."""
    payload: Any
    """What msgpack holds: str, numbers, lists, maps with str keys."""
    media: str | None
    """Path of its file relative to the run's folder, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One thing that happened to the run."""

    seq: int
    time_us: int
    type: str
    payload: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Chunk:
    """What one read of a journal segment gave: whole records only."""

    header: Header
    scalars: list[ScalarBlock] = field(default_factory=list)
    """Blocks may interleave: order by seq within the chunk is per block."""
    objects: list[ObjectRecord] = field(default_factory=list)
    events: list[EventRecord] = field(default_factory=list)
    last_seq: int = 0
    """Largest sequence number in the chunk; 0 where it has no record."""
    num_records: int = 0
    num_damaged: int = 0
    """Frames inside the file with a wrong checksum, skipped."""


__all__ = ["Chunk", "EventRecord", "Header", "ObjectRecord", "ScalarBlock", "ScalarKind"]
