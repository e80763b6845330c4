"""What one `log()` costs the training loop, against the floor: orjson and one `os.write` of the same row."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time

import orjson

import trackio_like as trackio
from benchmarks.places import fresh_root
from benchmarks.report import Line, run

NUM_ROUNDS = 30
CALLS_PER_ROUND = {5: 300, 50: 200, 1000: 40}
BARS = {5: 3.0, 50: 3.0, 1000: 2.0}


def measure() -> list[Line]:
    lines = []
    with fresh_root(), tempfile.TemporaryFile() as sink:
        trackio.init(project="bench")
        for num_scalars in (5, 50, 1000):
            ours, floor = both(num_scalars, sink.fileno())
            middle, base = statistics.median(ours), statistics.median(floor)
            p99 = sorted(ours)[len(ours) * 99 // 100]
            note = f"floor {base / 1000:.2f} us, p99 {p99 / 1000:.1f} us"
            lines += [
                Line(
                    what=f"log() of {num_scalars} scalars",
                    measured=middle / 1000,
                    unit="us",
                    bar=5 if num_scalars == 5 else None,
                    note=note,
                ),
                Line(what="  times the floor", measured=middle / base, unit="x", bar=BARS[num_scalars]),
            ]
        trackio.finish()
    return lines


def both(num_scalars: int, fd: int) -> tuple[list[int], list[int]]:
    """Nanoseconds of each call, ours and the floor's, in turn: whatever the machine does hits both."""
    rng = random.Random(num_scalars)
    rows = [
        {f"group/metric_{i}": rng.random() for i in range(num_scalars)} for _ in range(CALLS_PER_ROUND[num_scalars])
    ]
    ours: list[int] = []
    floor: list[int] = []
    clock, log = time.perf_counter_ns, trackio.log
    for step in range(NUM_ROUNDS):
        for row in rows:
            start = clock()
            log(row)
            ours.append(clock() - start)
        for row in rows:
            start = clock()
            os.write(fd, orjson.dumps({"step": step, "time": time.time_ns(), "metrics": row}) + b"\n")
            floor.append(clock() - start)
    warm = CALLS_PER_ROUND[num_scalars]
    return ours[warm:], floor[warm:]


if __name__ == "__main__":
    run(measure, __doc__ or "")
