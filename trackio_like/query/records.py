"""What the questions are answered with: frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened to a run."""

    time_us: int
    writer: str
    seq: int
    attempt: int
    type: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSigns:
    """What is known of one writer from its rows."""

    writer: str
    attempt: int
    """From 1."""
    rank: int
    first_us: int | None = None
    """Time of its first metric, object or system row; None where it has none."""
    last_us: int | None = None
    num_rows: int = 0
    """Its metric rows."""
    last_step: int | None = None
    is_dead: bool = False
    """Whether its process is known to have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A run between one start and its end."""

    number: int
    """From 1."""
    state: str
    started_us: int
    ended_us: int
    """Last sign of life."""
    writers: tuple[str, ...]
    num_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What `alert` recorded."""

    time_us: int
    title: str
    text: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What `define_metric` recorded."""

    name: str
    """A key, or the beginning of keys followed by `*`."""
    step_metric: str | None
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescription:
    """A run as its events tell it."""

    name: str | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    state: str = "unknown"
    """running, finished, failed, terminated, crashed, or the word that the caller of `finish` gave."""
    error: str | None = None
    """Why it failed, where it did."""
    created_us: int | None = None
    finished_us: int | None = None
    """Last sign of life; None while it runs."""
    active_s: float = 0.0
    """Sum over attempts of first to last sign of life."""
    span_s: float = 0.0
    """From creation to the last sign of life."""
    attempts: tuple[Attempt, ...] = ()
    definitions: tuple[Definition, ...] = ()
    alerts: tuple[Alert, ...] = ()
    sampler: str | None = None
    """What the system sampler does, or why it is off."""
    is_deleted: bool = False


__all__ = ["Alert", "Attempt", "Definition", "Event", "RunDescription", "WriterSigns"]
