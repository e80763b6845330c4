"""What sending costs and how fast it is, through a local Hub: `init()`, freshness, API calls, and an outage."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import trackio_like as trackio
from benchmarks.places import daemons, end, pause, seconds_until
from benchmarks.report import Line, run
from tests.hub_server import Hub, running_hub
from tests.hub_server.fixtures import client_environment

ADDED_S = 0.1
"""Added to every request to the Hub where freshness is measured."""
NUM_FRESH = 12
NUM_RUNS = 20
LIVE_S = 120.0
OUTAGE_S = 30.0

INIT = """
import time
import trackio_like as t
start = time.perf_counter()
run = t.init(project="bench", space_id="me/board")
print(time.perf_counter() - start)
t.log({"a": 1})
run.finish(timeout=0)
"""
LIVE = """
import sys, threading
import trackio_like as t
runs = [t.Run("bench", f"run {i}", bucket_id="me/rows") for i in range(int(sys.argv[1]))]
pause, end = threading.Event(), float(sys.argv[2])
import time
until = time.monotonic() + end
step = 0
while time.monotonic() < until:
    for one in runs:
        one.log({"a": step, "b": step * 0.5})
    step += 1
    print(step, flush=True)
    pause.wait(0.05)
for one in runs:
    one.finish(timeout=0)
"""


def measure() -> list[Line]:
    """Each part has a Hub and a root of its own."""
    return [*_init(), *_freshness(), *_cost(), *_outage()]


@contextlib.contextmanager
def _place() -> Iterator[tuple[Hub, Path]]:
    """A Hub, and a root whose environment points to it."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="trackio-like-remote-") as folder, running_hub() as hub:
        hub.add_user("me", is_pro=True)
        root = Path(folder) / "root"
        os.environ.update(
            client_environment(hub, Path(folder) / "hf"),
            HF_TOKEN=hub.tokens["me"],
            TRACKIO_DIR=str(root),
            TRACKIO_IDLE_EXIT_S="5",
        )
        try:
            yield hub, root
        finally:
            hub.clear_faults()
            hub.up()
            end(daemons(root))
            os.environ.clear()
            os.environ.update(before)


def _script(text: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", text, *map(str, words)], stdout=subprocess.PIPE, text=True)


def _init() -> list[Line]:
    lines = []
    for name in ("is well", "hangs", "is down", *(f"answers {status}" for status in (401, 402, 403, 404))):
        with _place() as (hub, _):
            if name == "hangs":
                hub.fail("/api/", kind="hang", times=10_000)
            elif name == "is down":
                hub.down()
            elif name.startswith("answers"):
                hub.fail("/api/", kind="status", status=int(name.split()[1]), times=10_000)
            out, _ = _script(INIT).communicate(timeout=60)
            seconds = float(out.splitlines()[-1])
            lines.append(
                Line(what=f"init(space_id=...) where the Hub {name}", measured=seconds * 1e3, unit="ms", bar=300)
            )
    return lines


def _freshness() -> list[Line]:
    with _place() as (hub, _):
        hub.fail(".*", kind="delay", times=1_000_000, delay_s=ADDED_S)
        one = trackio.Run("bench", "fresh", bucket_id="me/rows")
        one.log({"i": -1})
        seconds_until(lambda: bool(hub.bucket_ids() and hub.bucket_files("me/rows")))
        took = []
        with trackio.Api(bucket_id="me/rows") as api:
            for i in range(NUM_FRESH):
                pause(0.37)  # no multiple of any interval
                started = time.monotonic()
                one.log({"i": i})
                while api.run("bench", one.id).summary.get("i") != i and time.monotonic() - started < 60:
                    pause(0.02)
                took.append(time.monotonic() - started)
        one.finish(timeout=0)
        note = f"{NUM_FRESH} times, {ADDED_S * 1e3:.0f} ms added to each request; worst {max(took):.1f} s"
        median_s = statistics.median(took)
        return [
            Line(
                what="from log() through a bucket to its reader, median", measured=median_s, unit="s", bar=6, note=note
            )
        ]


def _cost() -> list[Line]:
    with _place() as (hub, _):
        process = _script(LIVE, NUM_RUNS, LIVE_S)
        process.communicate(timeout=LIVE_S + 60)
        records = hub.requests
        num_api = sum(record.group == "api" for record in records)
        num_passes = max(1, sum(record.path.endswith("/batch") for record in records))
        first = sum(
            record.group == "api" and not record.path.endswith(("/batch", "/xet-write-token")) for record in records
        )
        in_window = num_api * 300 / LIVE_S
        return [
            Line(
                what=f"API calls of {NUM_RUNS} live runs in 5 minutes",
                measured=round(in_window),
                unit="",
                bar=300,
                note=f"{num_api} in {LIVE_S:.0f} s, the first pass among them",
            ),
            Line(
                what="API calls a pass",
                measured=(num_api - first) / num_passes,
                unit="",
                bar=2,
                note=f"{num_passes} passes",
            ),
        ]


def _outage() -> list[Line]:
    with _place() as (hub, root):
        process = _script(LIVE, 1, 600)
        assert process.stdout is not None
        for _ in range(40):
            process.stdout.readline()
        hub.down()
        last = 0
        for _ in range(20):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        pause(OUTAGE_S)
        hub.up()
        back = time.monotonic()
        found: list[int] = []
        while (not found or found[-1] < last - 1) and time.monotonic() - back < 120:
            pause(0.2)
            found = _steps_at(hub)
        took = time.monotonic() - back
        num_wrong = len(set(range(last)) - set(found)) + len(found) - len(set(found))
        end(daemons(root))
        return [
            Line(
                what="all is there after an outage in which the training was killed",
                measured=took,
                unit="s",
                bar=60,
                note=f"{OUTAGE_S:.0f} s down",
            ),
            Line(what="rows lost or doubled by it", measured=num_wrong, unit="", bar=0),
        ]


def _steps_at(hub: Hub) -> list[int]:
    """The steps that a reader of the bucket takes."""
    if "me/rows" not in hub.bucket_ids():
        return []
    from tests.daemon.sending import rows_in

    rows = rows_in(hub.bucket_files("me/rows"))
    return sorted(seq - 2 for (_, _, _, seq, key), count in rows.items() for _ in range(count) if key == "a")


if __name__ == "__main__":
    run(measure, __doc__ or "")
