"""Which machine this is, and whether a process on it is still the one that began."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from pathlib import Path

START_TOLERANCE_S = 2.0
"""Clocks of /proc tick coarsely, and a clock set by NTP moves all start times a little."""


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
    """When a process of this host began, seconds since the epoch; None where there is none."""
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
    return found is not None and (found == 0.0 or abs(found - started) <= START_TOLERANCE_S)


__all__ = ["host_identity", "is_alive", "process_started"]
