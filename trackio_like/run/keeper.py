"""One thread per process that keeps journals safe: fsync, retry, and a daemon that is alive."""

from __future__ import annotations

import threading
from typing import Final, Protocol

DAEMON_CHECK_TICKS: Final = 2


class Kept(Protocol):
    """What the keeper looks after."""

    def tend(self, *, checks_daemon: bool) -> None:
        """Does what is due; must not raise."""


class Keeper:
    """Calls `tend` of every open run once per interval. Thread-safe."""

    def __init__(self, interval_s: float) -> None:
        """Starts nothing until something is kept.

        Args:
            interval_s: seconds between two rounds.
        """
        self._interval_s = interval_s
        self._kept: set[Kept] = set()
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, run: Kept) -> None:
        """Looks after a run from now on."""
        with self._lock:
            self._kept.add(run)
            if self._thread is None:
                self._wake = threading.Event()
                # A daemon thread: it must never keep a training process, or a worker of one, alive.
                self._thread = threading.Thread(target=self._loop, name="trackio-like-keeper", daemon=True)
                self._thread.start()

    def release(self, run: Kept) -> None:
        """Stops looking after a run; the thread ends with the last one."""
        with self._lock:
            self._kept.discard(run)
            thread = self._thread
            if self._kept or thread is None:
                return
            self._thread = None
            self._wake.set()
        if thread is not threading.current_thread():
            thread.join(timeout=5.0)

    def _loop(self) -> None:
        wake, ticks = self._wake, 0
        while not wake.wait(self._interval_s):
            ticks += 1
            with self._lock:
                runs = list(self._kept)
            for run in runs:
                run.tend(checks_daemon=ticks % DAEMON_CHECK_TICKS == 0)

    def forget_after_fork(self) -> None:
        """In a forked child: begins anew, for threads do not cross a fork."""
        self._lock = threading.RLock()
        self._kept = set()
        self._thread = None


__all__ = ["Keeper", "Kept"]
