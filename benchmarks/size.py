"""Bytes that a scalar point takes on disk once its shards are compacted: everything in the file, footer included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import trackio_like as trackio
from benchmarks.places import daemons, end, fresh_root, num_sealed, seconds_until
from benchmarks.report import Line, run
from trackio_like.format.names import ShardName
from trackio_like.format.ranges import plan_reads
from trackio_like.shards.compact import compact_folder

NUM_POINTS = 200_000


def measure() -> list[Line]:
    rng = np.random.default_rng(0)
    random_1 = ({"value": float(v)} for v in rng.random(NUM_POINTS))
    random_50 = ({f"metric_{i}": float(v) for i, v in enumerate(row)} for row in rng.random((NUM_POINTS // 50, 50)))
    curve = [float(loss) for loss in loss_curve(20_000)]
    return [
        line("random doubles, 1 key", random_1, bar=10),
        line("random doubles, 50 keys a call", random_50, bar=10),
        line("real loss curve, float32", ({"train/loss": loss} for loss in curve), bar=4),
    ]


def line(what: str, rows: Iterator[dict[str, float]], *, bar: float) -> Line:
    """Logs the rows, compacts, and divides the bytes by the points."""
    with fresh_root() as root:
        trackio.init(project="bench")
        num_points = 0
        for row in rows:
            trackio.log(row)
            num_points += len(row)
        trackio.finish()
        seconds_until(lambda: num_sealed(root) >= num_points)
        end(daemons(root))
        folder = next(root.glob("*/*/metrics"))
        writers = {name.writer for name in shards(folder)}
        while compact_folder(folder, "metrics", closed_writers=writers, own_writers=writers):
            pass
        kept = [read.shard for read in plan_reads(shards(folder))]
        num_bytes = sum((folder / str(name)).stat().st_size for name in kept)
    note = f"{num_points:,} points, {len(kept)} shard"
    return Line(what=f"bytes a point: {what}", measured=num_bytes / num_points, unit="B", bar=bar, note=note)


def shards(folder: Path) -> list[ShardName]:
    """The shards in a folder."""
    return [name for path in folder.iterdir() if (name := ShardName.parse(path.name)) is not None]


def loss_curve(num_steps: int) -> Iterator[np.float32]:
    """The loss of a softmax regression on scikit-learn's digits, all of them in each step, in float32."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    weight = np.zeros((64, 10), np.float32)
    rows = np.arange(len(labels))
    for _ in range(num_steps):
        logits = images @ weight
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        yield -np.log(probabilities[rows, labels]).mean()
        probabilities[rows, labels] -= 1
        weight -= np.float32(0.1 / len(labels)) * (images.T @ probabilities)


if __name__ == "__main__":
    run(measure, __doc__ or "")
