"""One landscape by several processes: two gloo ranks, and a worker beside this process, against one process.

Needs two cores that nobody else uses; all have one thread. Takes two minutes.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed

from benchmarks.landscape import trained
from benchmarks.report import Line, run
from trackio_like.landscape import Evaluation, LossLandscape

N = 15
NUM_TRIES = 2


def measure() -> Iterator[Line]:
    """By turns, so that a busy minute of the machine meets all of them; the best of each."""
    seconds: dict[str, float] = {}
    cpu_seconds: dict[str, float] = {}
    found: dict[str, LossLandscape] = {}
    for _ in range(NUM_TRIES):
        for name, num_ranks, num_workers in (("one", 1, 0), ("2 ranks", 2, 0), ("1 worker", 1, 1)):
            took_s, cpu_s, found[name] = job(num_ranks, num_workers)
            seconds[name] = min(took_s, seconds.get(name, took_s))
            cpu_seconds[name] = min(cpu_s, cpu_seconds.get(name, cpu_s))
    one = found["one"]
    yield Line(what=f"landscape {N} x {N}, every point, one process", measured=seconds["one"], unit="s")
    for name in ("2 ranks", "1 worker"):
        note = f"{cpu_seconds['one'] / cpu_seconds[name]:.2f} x fewer CPU seconds in the busiest process"
        ratio = seconds["one"] / seconds[name]
        yield Line(what=f"{name}, times faster", measured=ratio, unit="x", bar=1.7, at_least=True, note=note)
        difference = float(np.abs(found[name].z_RC / one.z_RC - 1).max())
        yield Line(what=f"{name}, largest relative difference", measured=difference, unit="", bar=1e-6)


def job(num_ranks: int, num_workers: int) -> tuple[float, float, LossLandscape]:
    """Seconds of the first of some forked ranks, CPU seconds of the busiest one, and what was found."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(num_ranks)]
    with tempfile.TemporaryDirectory() as folder:
        args = (num_ranks, num_workers, Path(folder) / "store")
        processes = [context.Process(target=rank, args=(i, *args, pipe[1])) for i, pipe in enumerate(pipes)]
        for process in processes:
            process.start()
        answers = []
        for receiver, sender in pipes:
            sender.close()
            answers.append(receiver.recv())
            receiver.close()
        for process in processes:
            process.join()
    return answers[0][0], max(cpu_s for _, cpu_s, _ in answers), answers[0][2]


def rank(number: int, num_ranks: int, num_workers: int, store: Path, sender: Any) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=num_ranks)
    model, batches = trained()
    evaluation = Evaluation(model, batches, n=N, exact=True, workers=num_workers)
    distributed.barrier()
    started, started_cpu = time.monotonic(), time.process_time()
    evaluation.run()
    sender.send((time.monotonic() - started, time.process_time() - started_cpu, evaluation.result()))


if __name__ == "__main__":
    run(measure, __doc__)
