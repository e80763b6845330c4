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


__all__ = ["Owner", "RunIdentity", "end_state", "error_text"]
