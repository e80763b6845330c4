"""How fast rows reach the durable end: logged, sealed into Parquet, readable; and what all processes spend on it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import trackio_like as trackio
from benchmarks.places import cpu_s, daemons, fresh_root, num_sealed, seconds_until
from benchmarks.report import Line, run

if TYPE_CHECKING:
    import psutil

NUM_ROWS = 400_000
CHILD = """
import json, random, resource, sys, time
import trackio_like as t
num_rows = int(sys.argv[1])
rng = random.Random(0)
rows = [{f"train/metric_{i}": rng.random() for i in range(5)} for _ in range(1000)]
t.init(project="bench", name="throughput")
cpu, wall = time.process_time(), time.perf_counter()
log = t.log
for i in range(num_rows):
    log(rows[i % 1000])
logged = time.perf_counter() - wall
t.finish()
wall = time.perf_counter() - wall
print(json.dumps({"logged_s": logged, "wall_s": wall, "cpu_s": time.process_time() - cpu, "ended": time.time()}))
sys.stdout.flush()
"""


def measure() -> list[Line]:
    with fresh_root() as root:
        # A first run starts the daemon, so that its start is not part of what is measured.
        subprocess.run([sys.executable, "-c", CHILD, "100"], check=True, stdout=subprocess.DEVNULL)
        serving = daemons(root)
        before = cpu_s(serving)
        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(NUM_ROWS)], check=True, stdout=subprocess.PIPE, text=True
        )
        told = json.loads(child.stdout)
        until_sealed_s = time.time() - told["ended"] + seconds_until(lambda: num_sealed(root) >= (NUM_ROWS + 100) * 5)
        seconds_until(lambda: is_idle(serving), every_s=0.5)
        after = cpu_s(serving)
        run_read = max(trackio.Api(root=root).runs("bench"), key=lambda r: r.num_rows)
        num_read = run_read.num_rows
    total_cpu = told["cpu_s"] + after - before
    return [
        Line(
            what="rows/s until sealed, 5 scalars",
            measured=NUM_ROWS / (told["wall_s"] + until_sealed_s),
            unit="rows/s",
            bar=100_000,
            at_least=True,
            note=f"{NUM_ROWS:,} rows; finish() after {told['wall_s']:.2f} s, in Parquet {until_sealed_s:.2f} s later",
        ),
        Line(what="  values read back", measured=num_read, unit="", bar=NUM_ROWS * 5, at_least=True),
        Line(
            what="CPU of all processes a row",
            measured=total_cpu / NUM_ROWS * 1e6,
            unit="us",
            bar=10,
            note=f"training {told['cpu_s'] / NUM_ROWS * 1e6:.1f}, daemon {(after - before) / NUM_ROWS * 1e6:.1f}",
        ),
    ]


_last: dict[int, tuple[float, float]] = {}


def is_idle(processes: list[psutil.Process]) -> bool:
    """Whether processes did less than 20 ms of work a second since the last look."""
    used, now = cpu_s(processes), time.monotonic()
    key = hash(tuple(p.pid for p in processes))
    before = _last.get(key)
    if before is None or now - before[1] >= 3:
        _last[key] = (used, now)
        return before is not None and used - before[0] < 0.02 * (now - before[1])
    return False


if __name__ == "__main__":
    run(measure, __doc__ or "")
