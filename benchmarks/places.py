"""Where a benchmark works: a root of its own, fresh interpreters, and the processes that serve that root."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow.parquet as pq

from trackio_like.format.names import ShardName
from trackio_like.format.ranges import plan_reads

WAIT_S = 60.0


@contextlib.contextmanager
def fresh_root() -> Iterator[Path]:
    """An empty root, made the default for this process and those it starts; its daemons end with it."""
    before = os.environ.get("TRACKIO_DIR")
    with tempfile.TemporaryDirectory(prefix="trackio-like-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "root"
        os.environ["TRACKIO_DIR"] = str(root)
        try:
            yield root
        finally:
            end(daemons(root))
            if before is None:
                del os.environ["TRACKIO_DIR"]
            else:
                os.environ["TRACKIO_DIR"] = before


def python(code: str, *arguments: object) -> str:
    """What a fresh interpreter prints that runs this code in the current root."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def daemons(root: Path) -> list[psutil.Process]:
    """The processes that serve a root, this one and those it started directly left out."""
    own = {os.getpid(), *(child.pid for child in psutil.Process().children())}
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid in own or "python" not in process.name():
                continue
            if str(root) in process.cmdline() or process.environ().get("TRACKIO_DIR") == str(root):
                found.append(process)
    return found


def end(processes: list[psutil.Process]) -> None:
    """Ends processes and waits for it."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=WAIT_S)


def num_sealed(root: Path, kind: str = "metrics") -> int:
    """Rows that are in Parquet, by the footers of the shards that a reader would take."""
    total = 0
    for folder in root.glob(f"*/*/{kind}"):
        names = [name for path in folder.iterdir() if (name := ShardName.parse(path.name)) is not None]
        for read in plan_reads(names):
            with contextlib.suppress(FileNotFoundError):  # merged since the listing; the next look counts it
                total += pq.read_metadata(folder / str(read.shard)).num_rows
    return total


def cpu_s(processes: list[psutil.Process]) -> float:
    """User and system seconds of processes that still live."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def pause(duration_s: float) -> None:
    """Lets time pass."""
    threading.Event().wait(duration_s)


def seconds_until(is_so: Callable[[], bool], *, timeout_s: float = WAIT_S, every_s: float = 0.05) -> float:
    """How long it takes until something holds.

    Raises:
        TimeoutError: it does not hold in time.
    """
    started = time.monotonic()
    while not is_so():
        if time.monotonic() - started > timeout_s:
            raise TimeoutError(f"not so after {timeout_s:g} s")
        pause(every_s)
    return time.monotonic() - started
