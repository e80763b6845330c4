"""This process's side of its runs: which are open, who keeps them, what happens at exit and after a fork."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from pathlib import Path
from typing import Final

from trackio_like._delivery import Delivery
from trackio_like._settings import Settings
from trackio_like.run.core import FINISH_TIMEOUT_S, LoggingRun
from trackio_like.run.daemon_start import close_threads, ensure_daemon, forget_after_fork
from trackio_like.run.exits import ExitHooks
from trackio_like.run.guard import warn_user
from trackio_like.run.keeper import Keeper

TERMINATION_TIMEOUT_S: Final = 10.0
"""How long SIGTERM waits for rows to arrive: schedulers kill 30 s after it."""


class Process:
    """The one owner of all runs of this process. Thread-safe."""

    def __init__(self) -> None:
        """Starts with no run."""
        self._lock = threading.RLock()
        self._settings: dict[LoggingRun, Settings] = {}
        self._deliveries: dict[LoggingRun, Delivery] = {}
        self._keeper: Keeper | None = None
        self._hooks = ExitHooks(self.open_runs, on_exit=self._leave, on_termination=self._leave_soon)
        self.current: LoggingRun | None = None
        """The run that the module's functions log into; visible from every thread."""
        self.num_launched = 0
        """Runs begun here: the ranks of one job begin theirs in the same order."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork_in_child)

    def open_runs(self) -> list[LoggingRun]:
        """The runs that are not finished, oldest first."""
        with self._lock:
            return list(self._settings)

    def adopt(self, run: LoggingRun, settings: Settings, delivery: Delivery) -> None:
        """Looks after a run from now on."""
        with self._lock:
            self._settings[run] = settings
            self._deliveries[run] = delivery
        self.opened(run)

    def opened(self, run: LoggingRun) -> None:
        """A journal was opened for the run: at its beginning, or in a forked child, or after it was finished."""
        settings = self._settings[run]
        with self._lock:
            if self._keeper is None:
                self._keeper = Keeper(settings.fsync_interval_s)
            keeper = self._keeper
        self._hooks.install(handles_sigterm=settings.handles_sigterm)
        keeper.keep(run)
        ensure_daemon(settings)

    def finished(self, run: LoggingRun, *, timeout_s: float) -> None:
        """The run's journal was closed; where nothing else seals it, that is done now.

        Args:
            run: the run.
            timeout_s: how long to wait at most for its rows to arrive where they are sent.
        """
        with self._lock:
            settings = self._settings[run]
            if self.current is run:
                self.current = None
        if self._keeper is not None:
            self._keeper.release(run)
        if settings.daemon == "off":
            _seal_now(settings.root)
        if not self._hooks.is_ending:
            self._deliveries[run].finish(timeout_s, has_daemon=settings.daemon != "off")

    def check_daemon(self, run: LoggingRun) -> None:
        """Starts a daemon for the run's root where none runs, and tells what became of the rows that it sends."""
        ensure_daemon(self._settings[run])
        self._deliveries[run].tell_news()

    def _leave(self) -> None:
        """The process ends: waits once for what all of its runs still send."""
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the wait, and what waits was said already
            self._await_all(FINISH_TIMEOUT_S)
        close_threads()

    def _leave_soon(self) -> None:
        self._await_all(TERMINATION_TIMEOUT_S)

    def _await_all(self, timeout_s: float) -> None:
        with self._lock:
            waiting = [(delivery, self._settings[run].daemon) for run, delivery in self._deliveries.items()]
        # In a container the daemon dies with the process that ends now, so this is the last chance.
        deadline_s = time.monotonic() + timeout_s
        for delivery, daemon in waiting:
            if not delivery.has_been_waited_for:
                delivery.finish(max(deadline_s - time.monotonic(), 0.0), has_daemon=daemon != "off")

    def _after_fork_in_child(self) -> None:
        self._lock = threading.RLock()
        forget_after_fork()
        if self._keeper is not None:
            self._keeper.forget_after_fork()
        for run in self._settings:
            run.restart_after_fork()


def _seal_now(root: Path) -> None:
    try:
        importlib.import_module("trackio_like.daemon.once").seal_root(root)
    except (OSError, ValueError) as error:
        warn_user(
            f"{root} could not be sealed ({error}). Nothing is lost: every row is in its journal, "
            "where readers find it."
        )


__all__ = ["Process"]
