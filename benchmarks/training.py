"""How much slower a training loop gets that logs five scalars every millisecond."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import numpy as np

import trackio_like as trackio
from benchmarks.places import fresh_root
from benchmarks.report import Line, run

NUM_BLOCKS = 60
STEPS_PER_BLOCK = 100


def measure() -> list[Line]:
    work = calibrated(target_s=0.001)
    rng = random.Random(0)
    with fresh_root():
        trackio.init(project="bench")
        plain: list[float] = []
        logged: list[float] = []
        for block in range(NUM_BLOCKS):
            # The order changes from block to block, so that neither side always runs on the warmer cache.
            for is_logging in (False, True) if block % 2 else (True, False):
                rows = [{f"train/metric_{i}": rng.random() for i in range(5)} for _ in range(STEPS_PER_BLOCK)]
                start = time.perf_counter()
                for row in rows:
                    work()
                    if is_logging:
                        trackio.log(row)
                (logged if is_logging else plain).append(time.perf_counter() - start)
        trackio.finish()
    base, ours = statistics.median(plain), statistics.median(logged)
    note = f"{base / STEPS_PER_BLOCK * 1000:.2f} ms of work a step, one core of the machine free for the daemon"
    return [Line(what="training slow-down at 1 kHz", measured=(ours / base - 1) * 100, unit="%", bar=2, note=note)]


def calibrated(*, target_s: float) -> Callable[[], None]:
    """A piece of numpy work on one core that takes about this long."""
    values = np.random.default_rng(0).random(4096)

    def work(num_rounds: int = 1) -> None:
        for _ in range(num_rounds):
            np.sort(values)

    start = time.perf_counter()
    work(200)
    num_rounds = max(1, round(target_s / ((time.perf_counter() - start) / 200)))
    return lambda: work(num_rounds)


if __name__ == "__main__":
    run(measure, __doc__ or "")
