"""What a run is called, whose it is, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from trackio_like.run.core import LoggingRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """What a run is called and where it stands."""

    project: str
    run_id: str
    name: str
    group: str | None
    tags: tuple[str, ...]
    attempt: int
    """Counts resumes, from 1."""
    next_step: int
    """Step of the next call that names none."""
    logs_metrics: bool
    """Whether `log()` stores: False on the ranks that only send system metrics."""


class Identified:
    """What knows who a run is."""

    def __init__(self, identity: RunIdentity) -> None:
        self._identity = identity

    @property
    def id(self) -> str:
        """The stable id: what resuming and `Api` find the run by."""
        return self._identity.run_id

    @property
    def name(self) -> str:
        """The readable name; need not be unique."""
        return self._identity.name

    @property
    def project(self) -> str:
        """The project's name."""
        return self._identity.project

    @property
    def group(self) -> str | None:
        """The group, or None."""
        return self._identity.group

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags."""
        return self._identity.tags

    @property
    def attempt(self) -> int:
        """Counts how often the run was begun: 1, and one more for each resume."""
        return self._identity.attempt

    def __repr__(self) -> str:
        """Project, name and id."""
        return f"<Run {self.project}/{self.name} ({self.id})>"


class Owner(Protocol):
    """The process that a run is logged from: keeper, exit hooks and daemon, in one place."""

    def opened(self, run: LoggingRun) -> None:
        """A journal was opened for the run."""

    def finished(self, run: LoggingRun, *, timeout_s: float) -> None:
        """The run's journal was closed; waits at most so long for its rows to arrive where they are sent."""

    def check_daemon(self, run: LoggingRun) -> None:
        """Starts a daemon for the run's root where none runs."""


def error_text(error: BaseException | None) -> str | None:
    """What ended a run, as it is recorded; None where nothing did."""
    if error is None:
        return None
    try:
        return repr(error)
    except Exception:  # noqa: BLE001 - an exception of a foreign type may not even say what it is
        return type(error).__name__


def end_state(error: BaseException | None) -> str:
    """The state of a run that ended with this exception, or with none."""
    if error is None or (isinstance(error, SystemExit) and not error.code):
        return "finished"
    return "cancelled" if isinstance(error, KeyboardInterrupt) else "failed"


__all__ = ["Identified", "Owner", "RunIdentity", "end_state", "error_text"]
