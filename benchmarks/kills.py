"""What is lost when processes are killed at random moments: the training, the daemon, or both."""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trackio_like as trackio
from benchmarks.places import daemons, end, fresh_root, pause, seconds_until
from benchmarks.report import Line, run

NUM_SIGKILLS = 20
NUM_OTHERS = 4
CHILD = """
import mmap, os, struct, sys, threading
import trackio_like as t
with open(sys.argv[1], "r+b") as file:
    done = mmap.mmap(file.fileno(), 8)     # survives this process, whatever ends it
exit_at, pause_s = int(sys.argv[2]), float(sys.argv[3])
t.init(project="bench", name=sys.argv[4])
i, pause = 0, threading.Event()
while True:
    t.log({"a": i, "b": i * 0.5, "c": -i})
    i += 1
    struct.pack_into("<q", done, 0, i)
    if i == exit_at:
        os._exit(3)
    if pause_s:
        pause.wait(pause_s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one kill did."""

    num_lost: int
    """Calls that had returned and cannot be read."""
    num_doubled: int
    """Values read more than once."""
    until_read_s: float
    """From the kill until every acknowledged call was in `Api`."""


def measure() -> list[Line]:
    lines = []
    ways = {
        "SIGKILL": NUM_SIGKILLS,
        "SIGTERM": NUM_OTHERS,
        "os._exit": NUM_OTHERS,
        "daemon": NUM_OTHERS,
        "both": NUM_OTHERS,
    }
    for way, times in ways.items():
        outcomes = [kill(way, seed=seed) for seed in range(times)]
        name = {"daemon": "the daemon killed, then the training", "both": "both killed at once"}.get(
            way, f"training ended by {way}"
        )
        lines += [
            Line(
                what=f"{name}: rows lost",
                measured=sum(o.num_lost for o in outcomes),
                unit="",
                bar=0,
                note=f"{times} times",
            ),
            Line(what="  values twice", measured=sum(o.num_doubled for o in outcomes), unit="", bar=0),
            Line(what="  until all is in Api, worst", measured=max(o.until_read_s for o in outcomes), unit="s", bar=5),
        ]
    return lines


def kill(way: str, *, seed: int) -> Outcome:
    """Starts a training, kills at a random moment, and counts what `Api` then reads."""
    rng = random.Random(f"{way}{seed}")
    pause_s = rng.choice((0.0, 0.001))
    exit_at = rng.randrange(500, 3000) if way == "os._exit" else -1
    with fresh_root() as root, tempfile.NamedTemporaryFile() as file, contextlib.ExitStack() as stack:
        file.write(b"\0" * 8)
        file.flush()
        done = stack.enter_context(contextlib.closing(mmap.mmap(file.fileno(), 8)))
        child = subprocess.Popen([sys.executable, "-c", CHILD, file.name, str(exit_at), str(pause_s), f"run-{seed}"])
        seconds_until(lambda: num_done(done) > 0, every_s=0.01)
        pause(rng.uniform(0.05, 2.5))
        end_by(way, child, root)
        child.wait()
        return outcome(root, num_done(done))


def end_by(way: str, child: subprocess.Popen[bytes], root: Path) -> None:
    """Ends the training, and before it or with it the daemon."""
    if way == "os._exit":
        return
    if way == "daemon":
        end(daemons(root))
        pause(0.3)
    if way == "both":
        for daemon in daemons(root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(daemon.pid, signal.SIGKILL)
    child.send_signal(signal.SIGTERM if way == "SIGTERM" else signal.SIGKILL)


def outcome(root: Path, num_acknowledged: int) -> Outcome:
    """Reads until everything acknowledged is there, and once more after the daemon has had its say."""
    api = trackio.Api(root=root)

    def values() -> np.ndarray[Any, np.dtype[np.float64]]:
        column = api.runs("bench")[0].history(keys=["a"]).column("value")
        return np.asarray(column.to_numpy())

    try:
        until_read_s = seconds_until(lambda: len(values()) >= num_acknowledged, timeout_s=20)
    except TimeoutError:
        until_read_s = float("inf")
    early = values()
    pause(1.5)
    late = values()
    num_doubled = len(early) + len(late) - len(np.unique(early)) - len(np.unique(late))
    num_lost = num_acknowledged - int(np.isin(np.arange(num_acknowledged), late).sum())
    return Outcome(num_lost=num_lost, num_doubled=num_doubled, until_read_s=until_read_s)


def num_done(done: mmap.mmap) -> int:
    """Calls of `log()` that returned in the child."""
    return int(struct.unpack_from("<q", done, 0)[0])


if __name__ == "__main__":
    run(measure, __doc__ or "")
