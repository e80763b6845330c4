"""Which machine this is, and whether a process on it is still the one that began."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import sys
from pathlib import Path

_IS_LINUX: bool = sys.platform == "linux"
START_TOLERANCE_S = 2.0
"""Systems note the time with more or fewer digits."""


@functools.cache
def host_identity() -> str:
    """Names the space in which this process's pid means something: host name, boot, pid namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, namespace = "", ""
    digest = hashlib.sha256(f"{boot}|{namespace}".encode()).hexdigest()[:10]
    return f"{socket.gethostname() or 'host'}/{digest}"


def process_started(pid: int) -> float | None:
    """When a process of this host began, in seconds; None where there is none, 0.0 where nobody may know.

    On Linux since the boot: there the wall clock may be set while a process runs, and would make it another one.
    Elsewhere since the epoch, as the system noted it.
    """
    if _IS_LINUX:
        return _started_on_linux(pid)
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        started: float = process.create_time()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return None
    except psutil.AccessDenied:
        return 0.0
    return started


def is_alive(pid: int, started: float) -> bool:
    """Whether the process that began then runs; a later one of the same pid is another."""
    found = process_started(pid)
    return found is not None and (0.0 in (found, started) or abs(found - started) <= START_TOLERANCE_S)


def _started_on_linux(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return _started_by_signal(pid)
    # Zombies have ended.
    return None if fields[0] in b"ZX" else int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _started_by_signal(pid: int) -> float | None:
    """What is known where /proc does not show the process: whether there is one."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return 0.0
    return 0.0


__all__ = ["host_identity", "is_alive", "process_started"]
