"""Run as a script: how much an evaluation's memory rises above what the process had, in a process of its own."""

from __future__ import annotations

import gc
import json
import re
import sys
from pathlib import Path

import torch
from torch import nn

from trackio_like.landscape import Evaluation, NeedsMemoryError

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def status_bytes(key: str) -> int:
    found = re.search(rf"{key}:\s+(\d+) kB", STATUS.read_text())
    assert found is not None
    return int(found[1]) * 1024


def block(num_in: int, num_out: int, stride: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(num_in, num_out, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(num_out), nn.ReLU())


def cnn() -> nn.Sequential:
    """94,000 parameters."""
    blocks = (block(3, 32), block(32, 32), block(32, 64, 2), block(64, 64), block(64, 48, 2))
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))


def main() -> None:
    side, options = int(sys.argv[1]), json.loads(sys.argv[2])
    torch.set_num_threads(1)
    model = cnn()
    loader = [(torch.randn(64, 3, side, side), torch.randint(0, 10, (64,))) for _ in range(8)]
    # Whatever torch loads at a first pass, and pages of the heap that it would take anyhow.
    Evaluation(model, [(x[:2], y[:2]) for x, y in loader], n=3).run()
    gc.collect()
    CLEAR.write_text("5")  # the high-water mark begins anew
    before = status_bytes("VmRSS")
    evaluation = Evaluation(model, loader, **options)
    try:
        evaluation.run()
    except NeedsMemoryError as error:
        print(json.dumps({"error": str(error)}))
        return
    landscape = evaluation.result()
    assert landscape is not None
    rise = status_bytes("VmHWM") - before
    print(json.dumps({"rise": rise, "measured": int(landscape.is_measured_RC.sum()), "meta": landscape.meta["way"]}))


if __name__ == "__main__":
    main()
