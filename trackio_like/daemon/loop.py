"""The daemon's loop: elected, steady, and gone when nobody needs it."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from trackio_like._settings import Settings
from trackio_like.daemon.fleet import Fleet
from trackio_like.daemon.root_sealer import RootSealer
from trackio_like.run.hostlock import HostLock, daemon_lock

logger = logging.getLogger(__name__)
_ELECTION_TRIES: Final = 10
_ELECTION_WAIT_S: Final = 0.01


def serve(settings: Settings, stop: threading.Event, *, stays: bool = False) -> None:
    """Seals and sends a root until it is stopped or idle; returns at once where another daemon of this host does it.

    Args:
        settings: the root and the intervals.
        stop: ends the loop after one last pass.
        stays: never end for being idle.

    Raises:
        OSError: no folder for the lock.
    """
    lock = daemon_lock(settings.root)
    while _is_elected(lock):
        try:
            has_stopped = _serve_locked(settings, stop, stays=stays)
        finally:
            lock.release()
        # A run that began while we decided to go saw the lock held and started no daemon: look once more.
        if has_stopped or not RootSealer(settings.root).has_open_writers():
            return


def _is_elected(lock: HostLock) -> bool:
    """Takes the lock; tries again where it is taken, for those who only look hold it for a moment."""
    for _ in range(_ELECTION_TRIES):
        if lock.acquire():
            return True
        threading.Event().wait(_ELECTION_WAIT_S)
    return False


def _serve_locked(settings: Settings, stop: threading.Event, *, stays: bool) -> bool:
    """The loop proper; whether it was told to stop."""
    fleet = Fleet(settings.root, space_read_token=settings.space_read_token)
    try:
        return _seal_and_send(settings, stop, fleet, stays=stays)
    finally:
        fleet.close()


def _seal_and_send(settings: Settings, stop: threading.Event, fleet: Fleet, *, stays: bool) -> bool:
    sealer = RootSealer(settings.root)
    last_work_s = time.monotonic()
    told = ""
    while True:
        is_last = stop.is_set()
        try:
            report = sealer.run_pass()
            fleet.tend()
        except OSError as error:
            if str(error) != told:  # else a disk that stays full would fill the log
                told = str(error)
                logger.warning("%s cannot be sealed now (%s); journals keep every row", settings.root, error)
        else:
            told = ""
            if report.num_calls or report.num_open or report.num_waiting or fleet.is_worth_staying:
                last_work_s = time.monotonic()
        if is_last:
            return True
        if not stays and time.monotonic() - last_work_s >= settings.idle_exit_s:
            return False
        stop.wait(settings.seal_interval_s)


__all__ = ["serve"]
