"""Loss landscapes: a convolutional network of 97,000 parameters on 8 batches of 64 images, one thread, no GPU.

Takes ten minutes: every point is measured once, to know the true error.
"""

from __future__ import annotations

import functools
import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch import nn

from benchmarks.report import Line, run
from trackio_like.landscape import DEFAULT_MEMORY_BUDGET, Evaluation

N = 51
BATCH_SIZES = (8, 16, 32, 64, 128)


def measure() -> list[Line]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [*surface(), *memory()]
    finally:
        torch.set_num_threads(threads)


def network() -> nn.Module:
    """Four convolutions with batch norm; for 3 x 32 x 32 images."""

    def block(num_in: int, num_out: int, stride: int) -> list[nn.Module]:
        convolution = nn.Conv2d(num_in, num_out, 3, stride, 1, bias=False)
        return [convolution, nn.BatchNorm2d(num_out), nn.ReLU()]

    return nn.Sequential(
        *block(3, 32, 1), *block(32, 32, 1), *block(32, 64, 2), *block(64, 96, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 120), nn.ReLU(), nn.Linear(120, 10),
    )  # fmt: skip


def trained() -> tuple[nn.Module, list[tuple[torch.Tensor, torch.Tensor]]]:
    """The network after some steps, and the batches it is evaluated on."""
    torch.manual_seed(0)
    centres = torch.randn(10, 3, 32, 32)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.randint(0, 10, (64,))
        return centres[y] + 1.5 * torch.randn(64, 3, 32, 32), y

    model, batches = network(), [batch() for _ in range(8)]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in itertools.islice(itertools.cycle(batches), 60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model, batches


def cpu_s(action: Callable[[], Any]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def surface() -> list[Line]:
    model, batches = trained()
    num_weights = sum(parameter.numel() for parameter in model.parameters())
    Evaluation(model, batches, n=5).run()  # what is loaded once belongs to no landscape
    fast = Evaluation(model, batches, n=N)
    fast_s = cpu_s(fast.run)
    floor = Floor(model, batches)
    whole = Evaluation(model, batches, n=N, exact=True, on_progress=floor.between)
    whole_s = cpu_s(whole.run) - sum(floor.passes_s)
    found, truth = fast.result(), whole.result()
    assert found is not None
    assert truth is not None
    error = float(np.abs(found.z_RC - truth.z_RC).max() / np.ptp(truth.z_RC))
    estimate = found.meta["error_estimate"]
    plain_s = float(np.mean(floor.passes_s))
    note = f"{num_weights:,} weights, {int(found.is_measured_RC.sum())} of {N * N:,} points, {found.meta['way']}"
    return [
        Line(what=f"landscape {N} x {N}", measured=fast_s, unit="CPU s", bar=25, note=note),
        Line(what="its true error", measured=100 * error, unit="% of range", bar=1),
        Line(what="its estimate / true error", measured=estimate / error, unit="x", bar=0.5, at_least=True),
        Line(
            what="every point / plain forwards, best layout",
            measured=whole_s / (N * N * plain_s),
            unit="x",
            bar=1.05,
            note=f"{whole_s:.0f} s against {N * N} x {1e3 * plain_s:.0f} ms, {floor.what}",
        ),
    ]


class Floor:
    """Plain forward passes over the data, and their loss, in the fastest layout and batch size."""

    def __init__(self, model: nn.Module, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self.model = model
        self.passes_s: list[float] = []
        """CPU seconds of passes between the points of an evaluation: both meet the same neighbours on the machine."""
        self._num_told = 0
        x_all, y_all = (torch.cat(parts) for parts in zip(*batches, strict=True))
        best = float("inf")
        model.eval()
        for name, layout in (("", torch.contiguous_format), (", channels last", torch.channels_last)):
            x_all = x_all.contiguous(memory_format=layout)
            for size in BATCH_SIZES:
                pieces = list(zip(x_all.split(size), y_all.split(size), strict=True))
                found = min(cpu_s(functools.partial(self.forward, pieces)) for _ in range(4))
                if found < best:
                    best, self.pieces, self.what = found, pieces, f"batches of {size}{name}"
        model.train()

    def forward(self, pieces: Any) -> float:
        """One pass over the data."""
        with torch.inference_mode():
            return sum(float(nn.functional.cross_entropy(self.model(x), y)) * len(y) for x, y in pieces)

    def between(self, _num_measured: int, _num_planned: int) -> None:
        """Told of each point: after each fiftieth, a plain pass."""
        self._num_told += 1
        if self._num_told % 50 == 0:
            self.passes_s.append(cpu_s(lambda: self.forward(self.pieces)))


def memory() -> list[Line]:
    """What a fresh process takes beyond the model and its data, at the documented defaults and at a small budget."""
    lines = []
    for name, budget in (("the default", DEFAULT_MEMORY_BUDGET), ("64 MiB", 64 << 20)):
        command = [sys.executable, "-c", "from benchmarks.landscape import print_rise; print_rise(%d)" % budget]  # noqa: UP031
        root = Path(__file__).resolve().parents[1]
        out = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
        bar = (1.2 * budget + (64 << 20)) / 2**20
        lines.append(Line(what=f"memory at a budget of {name}", measured=float(out) / 2**20, unit="MiB", bar=bar))
    return lines


def print_rise(budget: int) -> None:
    torch.set_num_threads(1)
    model, batches = trained()
    Evaluation(model, [batches[0]], n=3).run()
    before = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text("5")  # starts the peak anew
    Evaluation(model, batches, n=N, time_limit_s=10.0, memory_budget=budget).run()
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    print(peak - before)


if __name__ == "__main__":
    run(measure, __doc__)
