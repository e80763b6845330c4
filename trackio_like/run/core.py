"""`LoggingRun`: checks values, numbers steps, and hands each call to the journal before it returns."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from trackio_like.errors import TrackioLikeError
from trackio_like.journal.writer import ClosedJournalError, JournalWriter
from trackio_like.run.config import Config, masked, plain_config
from trackio_like.run.guard import Guard
from trackio_like.run.health import JournalHealth
from trackio_like.run.identity import Identified, Owner, RunIdentity, end_state, error_text
from trackio_like.run.secrets import mask_text
from trackio_like.run.values import MAX_STEP, Scalar, as_step, encodable, plain_numbers, sort_values

logger = logging.getLogger(__name__)
_FLOATS = frozenset({float})
_STRINGS = frozenset({str})
ALERT_LEVELS = ("info", "warn", "error")
FINISH_TIMEOUT_S: Final = 30.0
"""How long `finish()` waits for rows to arrive where they are sent."""


class LoggingRun(Identified):
    """One run, as the training script sees it. Thread-safe; a forked child writes under a writer id of its own."""

    def __init__(
        self,
        identity: RunIdentity,
        *,
        config: Mapping[str, Any],
        guard: Guard,
        open_journal: Callable[[], JournalWriter],
        owner: Owner,
    ) -> None:
        """Wires a run; `trackio_like.init` is how users make one.

        Args:
            identity: who the run is.
            config: plain values that are recorded already.
            guard: where problems go.
            open_journal: opens a journal under a new writer id; called again in a forked child.
            owner: the process's side of the run.
        """
        super().__init__(identity)
        self._guard = guard
        self._open_journal = open_journal
        self._owner = owner
        self._lock = threading.RLock()
        self._next_step = identity.next_step
        self._logs_metrics = identity.logs_metrics
        self._config = Config(config, self._record_config)
        self._journal: JournalWriter | None = open_journal()
        self._is_finished = False
        self._health = JournalHealth(identity.name, guard)

    # -- where it stands -----------------------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """The step that the next call without one gets."""
        return self._next_step

    @property
    def config(self) -> Config:
        """The config: a dict, also by attribute; each change is recorded."""
        return self._config

    @config.setter
    def config(self, values: Any) -> None:
        self._config.update(values)

    @property
    def is_open_here(self) -> bool:
        """Whether this process has a journal open for the run: a forked child has none until it logs."""
        return self._journal is not None

    @property
    def is_finished(self) -> bool:
        """Whether this process has finished the run."""
        return self._is_finished

    # -- logging -------------------------------------------------------------------------------------------------

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Stores one call's values; what this returned from survives the death of the process.

        Numbers become metrics (nested dicts are flattened with `/`), strings become texts. A value that is neither
        costs its key and one warning. Never raises.

        Args:
            metrics: value by key; any non-empty text is a key.
            step: whole number, in any order and as often as you like; the largest so far plus 1 where None.
        """
        try:
            if not isinstance(metrics, dict):
                self._log_any(metrics, step)
                return
            taken = dict(metrics)  # another thread may change theirs at any moment
            keys = tuple(taken)
            logged = [*taken.values()]
            values = logged if set(map(type, logged)) == _FLOATS else plain_numbers(logged)
            if values is None or set(map(type, keys)) != _STRINGS or "" in taken:
                self._log_any(metrics, step)
                return
            if step is not None and (type(step) is not int or not -MAX_STEP <= step <= MAX_STEP):
                step = self._checked_step(step)
            with self._lock:
                if step is None:
                    step = self._next_step
                if step >= self._next_step:
                    self._next_step = step + 1
                journal = self._journal
                if journal is None or not self._logs_metrics:
                    self._log_rarely(step, keys, values, ())
                    return
                journal.metrics(step, keys, values)
                if journal.fault is not None:
                    self._health.tell(journal)
        except Exception as error:  # noqa: BLE001 - the guard of `log()`: nothing may end a training run
            self._recover(metrics, step, error)

    def _recover(self, metrics: Any, step: Any, error: Exception) -> None:
        """Tries the slow path for keys that cannot be encoded, and where a handler finished the run; tells the rest."""
        try:
            if not isinstance(error, (UnicodeEncodeError, ClosedJournalError)):
                raise error
            self._log_any(metrics, step)
        except Exception as failure:  # noqa: BLE001 - as in log()
            self._failed("log", failure)

    def _log_any(self, metrics: Any, step: Any) -> None:
        """The slow path: values of foreign types, or a call that is not a dict of numbers."""
        if not isinstance(metrics, Mapping):
            self._guard.problem(
                "not a dict",
                f"log() takes a dict of values by key, not a {type(metrics).__name__}: nothing was stored of this "
                'call. Write log({"loss": value}).',
            )
            return
        found = sort_values(metrics)
        checked = None if step is None else self._checked_step(step)
        with self._lock:
            chosen = self._next_step if checked is None else checked
            self._next_step = max(self._next_step, chosen + 1)
            problems = found.problems + self._text_among_numbers(found.objects)
            if found.keys or found.objects:
                self._log_rarely(chosen, tuple(found.keys), found.values, found.objects)
        for cause, message in problems:
            self._guard.problem(cause, f"{message} (step {chosen})")

    def _log_rarely(
        self,
        step: int,
        keys: tuple[str, ...],
        values: list[Scalar],
        objects: list[tuple[str, str, Any, str | None]] | tuple[()],
    ) -> None:
        """Stores a call off the hot path. The lock is held."""
        if not self._logs_metrics:
            self._guard.problem(
                "rank",
                "This process is not rank 0 of its job: its log() calls are not stored, its system metrics are. "
                "Pass all_ranks=True to init() to store them as lines of their own.",
            )
            return
        journal = self._open()
        if objects:
            journal.mixed(step, keys, values, objects)
        else:
            journal.metrics(step, keys, values)
        if journal.fault is not None:
            self._health.tell(journal)

    def _checked_step(self, step: Any, *, instead: str | None = None) -> int | None:
        whole = None
        try:
            whole = as_step(step)
        except Exception as error:  # noqa: BLE001 - a foreign type may raise anything
            logger.debug("step of type %s: %s", type(step).__name__, error)
        if whole is None:
            under = instead or f"the automatic step {self._next_step}"
            self._guard.problem(
                "step",
                f"step={step!r} is not a whole number below 2**62: the values were stored under {under}. "
                "Log such a value as a metric and choose it as the x axis with define_metric().",
            )
        return whole

    def _text_among_numbers(self, objects: list[tuple[str, str, Any, str | None]]) -> list[tuple[str, str]]:
        journal = self._journal
        if journal is None:
            return []
        return [
            (
                f"text {key}",
                f"{key!r} was a number before and is the text {payload[:40]!r} now: both are kept.",
            )
            for key, type_, payload, _ in objects
            if type_ == "text" and journal.names_key(key)
        ]

    def log_system(self, metrics: Mapping[str, Any]) -> None:
        """Stores system metrics: they have a time and no step. Never raises.

        Args:
            metrics: number by key, such as `gpu/0/utilization`.
        """
        try:
            found = sort_values(metrics)
            with self._lock:
                journal = self._open()
                if found.keys:
                    journal.system(tuple(found.keys), found.values)
                if journal.fault is not None:
                    self._health.tell(journal)
            for key, *_ in found.objects:
                found.problems.append((f"system {key}", f"{key!r} is text; log_system() stores numbers only."))
            for cause, message in found.problems:
                self._guard.problem(cause, message)
        except Exception as error:  # noqa: BLE001 - as in log()
            self._failed("log_system", error)

    def define_metric(self, name: str, *, step_metric: str | None = None) -> None:
        """Says which metric is the x axis of others.

        Args:
            name: a key, or the beginning of keys followed by `*`, such as `val/*`.
            step_metric: the key that gives x; a row without it takes the last earlier value.
        """
        self._event(
            "define_metric", {"name": str(name), "step_metric": None if step_metric is None else str(step_metric)}
        )

    def alert(self, title: str, text: str | None = None, *, level: str = "warn") -> None:
        """Records something that a person should see.

        Args:
            title: one line.
            text: more, or None.
            level: info, warn or error.
        """
        if level not in ALERT_LEVELS:
            self._guard.problem(
                "alert level",
                f"level={level!r} is unknown; the alert was stored as 'warn'. Choose one of {', '.join(ALERT_LEVELS)}.",
            )
            level = "warn"
        shown = None if text is None else mask_text(str(text))
        self._event("alert", {"title": mask_text(str(title)), "text": shown, "level": level})

    def rename(self, name: str) -> None:
        """Gives the run another name; the id stays."""
        self._event("rename", {"name": str(name)})

    def _record_config(self, values: dict[str, Any]) -> None:
        self._event("config", {"values": masked(plain_config(values))})

    def _event(self, type_: str, payload: dict[str, Any]) -> None:
        try:
            with self._lock:
                journal = self._open()
                journal.event(type_, encodable(payload))
                if journal.fault is not None:
                    self._health.tell(journal)
        except Exception as error:  # noqa: BLE001 - as in log()
            self._failed(type_, error)

    # -- lifecycle -----------------------------------------------------------------------------------------------

    def _open(self) -> JournalWriter:
        """The journal; a new one where this process has none (a forked child, a call after finish)."""
        if self._journal is None:
            if self._is_finished:
                self._guard.problem(
                    "finished",
                    f"The run {self.name!r} is finished; what is logged now is stored in it all the same. "
                    "Call finish() after the last log().",
                )
            self._journal = self._open_journal()
            self._owner.opened(self)
        return self._journal

    def finish(
        self, state: str = "finished", *, error: str | None = None, timeout: float | None = FINISH_TIMEOUT_S
    ) -> None:
        """Records how the run ended and closes its journal; idempotent. Never raises.

        Everything is on this machine's disk then. Where rows are sent to the Hub or a server, it waits until they have
        arrived, and shows how far they are; the daemon sends what is left, also after this process ends.

        Args:
            state: finished, failed, terminated, cancelled, preempted, or a word of your own.
            error: what ended it, where it failed.
            timeout: seconds to wait at most for rows to arrive; 0 for not at all, None for as long as it takes.
        """
        try:
            with self._lock:
                if self._journal is None and self._is_finished:
                    return
                journal = self._open() if not self._is_finished else self._journal
                if journal is None:
                    return
                payload = {"state": str(state), **({} if error is None else {"error": mask_text(str(error))})}
                journal.event("finish", encodable(payload))
                journal.close()
                if journal.fault is not None:
                    self._health.tell(journal)
                self._journal = None
                self._is_finished = True
            self._owner.finished(self, timeout_s=float("inf") if timeout is None else float(timeout))
            self._guard.report(self.name)
        except Exception as failure:  # noqa: BLE001 - as in log()
            self._failed("finish", failure)

    def __enter__(self) -> Self:
        """The run itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finishes the run: failed where an exception leaves the block, cancelled on Ctrl-C."""
        self.finish(end_state(error), error=error_text(error))

    def tend(self, *, checks_daemon: bool) -> None:
        """What the keeper does for an open run: retries, follows the clock, syncs. Never raises."""
        try:
            with self._lock:
                journal = self._journal
                if journal is None:
                    return
                journal.follow_wall_clock()
                self._health.heal(journal)
            journal.sync()
            if checks_daemon:
                self._owner.check_daemon(self)
        except Exception as error:  # noqa: BLE001 - as in log(), in the keeper's thread
            self._failed("keeper", error)

    def _failed(self, what: str, error: Exception) -> None:
        if isinstance(error, TrackioLikeError):
            raise error  # strict: a problem that was told by raising it
        self._guard.problem(
            f"{what} {type(error).__name__}",
            f"{what}() failed ({type(error).__name__}: {error}); training goes on, and this call may not be stored.",
        )

    def restart_after_fork(self) -> None:
        """In a forked child: leaves the parent's journal alone; the next call opens one of this process."""
        self._lock = threading.RLock()
        self._guard.reset_lock()
        if self._journal is not None:
            self._journal.abandon()
            self._journal = None


__all__ = ["ALERT_LEVELS", "FINISH_TIMEOUT_S", "LoggingRun"]
