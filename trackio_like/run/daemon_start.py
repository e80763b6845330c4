"""Starts the daemon of a root where none runs: a process of its own, else a thread of this one."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO, Final

from trackio_like._settings import Settings, child_environment
from trackio_like.run.guard import warn_user
from trackio_like.run.hostlock import daemon_lock, private_folder

DAEMON_MODULE: Final = "trackio_like.daemon"
MAX_LOG_BYTES: Final = 1 << 20
"""A longer log of the daemons is put aside, in place of the one before."""
_PACKAGE_FOLDER = Path(__file__).resolve().parent.parent.parent

_OWN_GROUP: Final = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""What a session of its own is on Windows: out of reach of Ctrl-C, and no window."""

_started: dict[Path, int] = {}
"""Process ids of the daemons that this process began."""
_threads: dict[Path, Any] = {}
_lock = threading.RLock()


def ensure_daemon(settings: Settings) -> None:
    """Makes sure that somebody seals the root's journals; returns at once.

    Never raises: without a daemon every row waits in its journal, where readers find it.
    """
    if settings.daemon == "off":
        _prepare_sealing_here()
        return
    with _lock:
        try:
            if settings.daemon == "thread":
                _ensure_thread(settings)
            else:
                _ensure_process(settings)
        except OSError as error:
            _fall_back(settings, error)


def _ensure_process(settings: Settings) -> None:
    root = settings.root
    if root in _threads or _is_starting(root) or daemon_lock(root).is_held():
        return
    if not sys.executable:
        raise OSError("this program does not know its Python interpreter")
    with _open_log() as log:
        # A session of its own: neither Ctrl-C nor a signal to the job's process group reaches the daemon.
        process = subprocess.Popen(
            [sys.executable, "-m", DAEMON_MODULE, str(root.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=os.path.abspath(os.sep),
            env=child_environment(_PACKAGE_FOLDER),
            start_new_session=True,
            creationflags=_OWN_GROUP,
            close_fds=True,
        )
    _started[root] = process.pid
    # It is meant to outlive us: without a return code, Popen would warn of a child that still runs.
    process.returncode = 0


def _open_log() -> BinaryIO:
    path = private_folder() / "daemon.log"
    with contextlib.suppress(OSError):
        if path.stat().st_size > MAX_LOG_BYTES:
            os.replace(path, path.with_suffix(".log.1"))
    return open(path, "ab")


def _is_starting(root: Path) -> bool:
    """Whether a daemon that this process began still lives; it holds the lock only once it is up."""
    pid = _started.get(root)
    if pid is None or not hasattr(os, "WNOHANG"):
        return False
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG) == (0, 0):
            return True
    del _started[root]
    return False


def _prepare_sealing_here() -> None:
    """Loads what pyarrow asks pandas for, and pandas for this: too late once the interpreter ends."""
    importlib.import_module("concurrent.futures.thread")


def _ensure_thread(settings: Settings) -> None:
    _prepare_sealing_here()
    thread = _threads.get(settings.root)
    if thread is None or not thread.is_running:
        # The loop brings pyarrow with it, which a process that starts a daemon need not load.
        _threads[settings.root] = importlib.import_module(f"{DAEMON_MODULE}.thread").start(settings)


def _fall_back(settings: Settings, error: OSError) -> None:
    if settings.root in _threads:
        return
    warn_user(
        f"The daemon that seals {settings.root} cannot be started as a process ({error}). Nothing is lost: a thread of "
        "this process seals instead. Set TRACKIO_DAEMON=thread to choose that from the start."
    )
    with contextlib.suppress(OSError):
        _ensure_thread(settings)


def close_threads() -> None:
    """Ends this process's sealing threads, after one last pass each; idempotent."""
    with _lock:
        threads = list(_threads.values())
        _threads.clear()
    for thread in threads:
        thread.close()


def forget_after_fork() -> None:
    """In a forked child: the parent's threads and processes are not ours."""
    global _lock  # noqa: PLW0603 - the parent may have held the old one
    _lock = threading.RLock()
    _started.clear()
    _threads.clear()


__all__ = ["close_threads", "ensure_daemon", "forget_after_fork"]
