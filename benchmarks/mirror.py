"""What reading from the Hub costs: a cold start of 10,000 shards, a restart, idle readers, and freshness."""

from __future__ import annotations

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.places import pause
from benchmarks.report import Line, run
from tests.hub_server import Hub, running_hub
from tests.hub_server.fixtures import client_environment
from tests.store.recording import Recorded

BUCKET, FRESH_BUCKET = "me/rows", "me/fresh"
NUM_FILES = 10_000
NUM_PER_BATCH = 1000
NUM_FRESH = 20
ADDED_S = 0.1
"""Added to every request to the Hub where freshness is measured."""

# In a process of its own, so that its memory and CPU time are the mirror's alone.
READER = """
import json, sys, time
import psutil
from trackio_like.store.source import open_source
own, peak = psutil.Process(), 0
def look():
    global peak
    peak = max(peak, own.memory_info().rss)
def say(**values):
    look()
    times = own.cpu_times()
    print(json.dumps({**values, "cpu_s": times.user + times.system, "peak_mb": peak / 2**20}), flush=True)
import trackio_like.store.mirrored
say(what="imports")
seen = set()
started = time.perf_counter()
with open_source(bucket_id="me/rows") as source:
    while True:
        try:
            source.wait(0.05)
            break
        except TimeoutError:
            seen.add(source.progress().num_done)
            look()
    say(what="copied", seconds=time.perf_counter() - started, num_files=source.progress().num_done, num_seen=len(seen))
    sys.stdin.readline()
    say(what="idle")
"""


def measure() -> list[Line]:
    """Each part has a bucket of its own."""
    with _place() as hub:
        return [*_cold_start(hub), *_freshness(hub)]


@contextlib.contextmanager
def _place() -> Iterator[Hub]:
    """A Hub with empty buckets, to which the environment points."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="trackio-like-bench-") as folder, running_hub() as hub:
        hub.add_user("me", is_pro=True)
        os.environ.update(client_environment(hub, Path(folder) / "hf"), HF_TOKEN=hub.tokens["me"], TRACKIO_DAEMON="off")
        for bucket in (BUCKET, FRESH_BUCKET):
            hub.api("me").create_bucket(bucket)
        try:
            yield hub
        finally:
            hub.clear_faults()
            os.environ.clear()
            os.environ.update(before)


def _shard() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"seq": [1], "key": ["a"], "value": [0.5]}), sink)
    return sink.getvalue()


def _cold_start(hub: Hub) -> list[Line]:
    names = [f"p/run{i // 50}/metrics/w-1-{i}-{i}.parquet" for i in range(1, NUM_FILES + 1)]
    content = _shard()
    for start in range(0, NUM_FILES, NUM_PER_BATCH):
        batch = names[start : start + NUM_PER_BATCH]
        hub.api("me").batch_bucket_files(BUCKET, add=[(content, name) for name in batch])
    cold = _read(hub)
    warm = _read(hub)
    what = f"{NUM_FILES:,} shards of a bucket"
    return [
        Line(
            what=f"{what}: cold start",
            measured=cold["seconds"],
            unit="s",
            bar=120,
            note=f"{len(content)} bytes each; progress was seen at {cold['num_seen']} stages",
        ),
        Line(what=f"{what}: files that were copied", measured=cold["num_files"], unit="", bar=NUM_FILES, at_least=True),
        Line(what=f"{what}: API calls of a cold start", measured=cold["api"], unit="", bar=30),
        Line(what=f"{what}: requests for files", measured=cold["resolvers"], unit="", bar=NUM_FILES),
        Line(what=f"{what}: CPU of a cold start", measured=cold["cpu_s"], unit="s"),
        Line(what=f"{what}: memory beside the imports", measured=cold["extra_mb"], unit="MB", bar=100),
        Line(what=f"{what}: restart", measured=warm["seconds"], unit="s", bar=10),
        Line(what=f"{what}: requests for files of a restart", measured=warm["resolvers"], unit="", bar=0),
        Line(
            what=f"{what}: requests in 10 s without a change",
            measured=warm["idle"],
            unit="",
            bar=2,
            note="the open feed is one",
        ),
    ]


def _read(hub: Hub) -> dict[str, float]:
    """Copies in a process of its own, which then sits idle for ten seconds."""
    hub.clear_requests()
    process = subprocess.Popen([sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    imports, copied = (json.loads(process.stdout.readline()) for _ in range(2))
    found = {
        **copied,
        "cpu_s": copied["cpu_s"] - imports["cpu_s"],
        "extra_mb": copied["peak_mb"] - imports["peak_mb"],
        **{group: sum(record.group == group for record in hub.requests) for group in ("api", "resolvers")},
    }
    pause(1.0)
    hub.clear_requests()
    pause(10.0)
    found["idle"] = len(hub.requests)
    process.communicate("\n", timeout=60)
    return found


def _freshness(hub: Hub) -> list[Line]:
    """From the moment at which the bucket has taken a file to the moment at which `Api` shows its row."""
    import trackio_like as trackio

    with tempfile.TemporaryDirectory(prefix="trackio-like-bench-") as folder:
        source = Recorded(Path(folder))
        writer = source.writer()
        sent: set[str] = set()

        def send(step: int) -> None:
            source.log(writer, step, a=float(step))
            source.seal(writer)
            names = {path.relative_to(source.root).as_posix() for path in source.root.rglob("*.parquet")} - sent
            hub.api("me").batch_bucket_files(
                FRESH_BUCKET, add=[(str(source.root / name), name) for name in sorted(names)]
            )
            sent.update(names)

        send(0)
        hub.fail(".*", kind="delay", times=None, delay_s=ADDED_S)
        with trackio.Api(bucket_id=FRESH_BUCKET) as api:

            def last() -> float:
                return api.run("p", source.run_id).summary["a"]

            lines = [_fresh_line("by the feed", send, last, range(1, NUM_FRESH + 1))]
            hub.fail("/events", kind="status", status=501, times=None)
            hub.tell_feed(FRESH_BUCKET, "reconnect")
            pause(2.0)
            lines.append(_fresh_line("by probing", send, last, range(NUM_FRESH + 1, 2 * NUM_FRESH + 1)))
        return lines


def _fresh_line(how: str, send: Callable[[int], None], last: Callable[[], float], steps: range) -> Line:
    took = []
    for step in steps:
        pause(0.37)  # no multiple of any interval
        send(step)
        started = time.monotonic()
        while last() != step and time.monotonic() - started < 60:
            pause(0.005)
        took.append(time.monotonic() - started)
    return Line(
        what=f"from the bucket to its reader {how}, median",
        measured=statistics.median(took),
        unit="s",
        bar=1 if "feed" in how else 4,
        note=f"{len(took)} times, {ADDED_S * 1e3:.0f} ms added to each request; worst {max(took):.2f} s",
    )


if __name__ == "__main__":
    run(measure, __doc__ or "")
