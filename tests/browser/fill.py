"""Logs the projects that the browser tests look at; run as a process of its own: `python fill.py`."""

import math
import random

import numpy as np

import trackio_like as trackio
from trackio_like.landscape.result import LossLandscape, Mark, Path

NASTY = "<img src=x onerror=\"document.title='pwn'\"><script>document.title='pwn'</script>"


def fill_odd():
    """One run with a key for each thing that charts get wrong, and two runs to compare it with."""
    config = {"seed": 2**63 - 1, "max_iter": None, "lr": 0.1, "note": NASTY}
    with trackio.init(project="odd", name="strange", group="a", tags=["x", "y"], config=config) as run:
        for i in range(50):
            run.log({"nan": math.nan if i % 5 else 1.0 + i, "inf": math.inf if i == 20 else float(i)}, step=i)
        for i, value in enumerate([10, 1, 0.001, 1e-9, 0.0, -5.0]):
            run.log({"logy": value}, step=i)
        for i, value in enumerate([1.0, 0.9, 1e20, 0.8, 0.7]):
            run.log({"outlier": value}, step=i)
        for i in range(300):
            run.log({"offset": i}, step=10_000_000 + 7 * i)
        for i in range(100):
            run.log({"constant": 1e-4, "line": i}, step=i)
        run.log({"tokens": 2**53 + 1}, step=0)
        run.log(
            {"[train] Batch Loss": 1.0, "acc (%)": 3, "lr*wd": 2, "a?b#c&d": 4, NASTY: 1, "phase": "warm-up"}, step=0
        )
        run.define_metric("val/*", step_metric="epoch")
        for epoch in range(3):
            for batch in range(10):
                run.log({"train/loss": 1 / (1 + epoch * 10 + batch), "epoch": epoch}, step=epoch * 10 + batch)
            run.log({"val/acc": 0.1 * epoch, "epoch": epoch}, step=epoch * 10 + 9)
        run.alert("Loss is high", text=NASTY, level="warn")
    with trackio.init(project="odd", name=NASTY, group="b", config={"max_iter": 7, "lr": 0.02}) as run:
        run.log({"nan": 2.0}, step=3)
    with trackio.init(project="odd", name="model-" + "x" * 150 + "-seed2", config={"lr": 1e-5}) as run:
        run.log({"nan": 4.0}, step=5)


def fill_spike():
    with trackio.init(project="spike", name="spiky") as run:
        for i in range(100_000):
            run.log({"l": 100.0 if i == 56_789 else 1.0}, step=i)


def fill_keys():
    with trackio.init(project="keys", name="wide") as run:
        run.log({f"grad/layer{i}/w": float(i) for i in range(5000)})


def fill_many():
    for i in range(300):
        with trackio.init(project="many", name=f"sweep-{i}", config={"lr": 10 ** -(1 + i % 7), "size": i}) as run:
            run.log({"loss": 1 / (1 + i)}, step=i)


def fill_bench():
    noise = random.Random(0)
    for i in range(20):
        with trackio.init(project="bench", name=f"run-{i}", group=f"g{i % 2}", config={"seed": i}) as run:
            for step in range(2000):
                base = math.exp(-step / 400) + i / 100
                run.log(
                    {f"{'train' if k < 25 else 'val'}/m{k}": base + 0.05 * noise.random() for k in range(50)}, step=step
                )


LOSSES_OF_ALPHA = (8.0, 4.0, 2.0, 1.0, 0.5)
"""How high the rim of `bowl` is at its steps 0, 10, ..."""


def bowl(height, *, n=21, **more):
    """A landscape whose loss is 0.1 at the centre, of which every fourth point is measured."""
    axis = np.linspace(-1, 1, n)
    z = 0.1 + height * (axis[None, :] ** 2 + 0.5 * axis[:, None] ** 2)
    is_measured = np.zeros(z.shape, dtype=bool)
    is_measured[::4, ::4] = True
    fields = {
        "x_C": axis,
        "y_R": axis,
        "z_RC": z,
        "is_measured_RC": is_measured,
        "is_known_RC": np.ones(z.shape, dtype=bool),
        "x_label": "δ (random)",
        "y_label": "η (random)",
        "marks": (Mark(label="θ", x=0.0, y=0.0),),
        "meta": {"mode": "serial", "loss_at_center": 0.1, "error_estimate": 0.004, "tolerance": 0.01, "seconds": 2.5},
    }
    return LossLandscape(**{**fields, **more})


def holed(height):
    """A bowl that was interrupted, with cells that are not finite and cells that nobody evaluated."""
    whole = bowl(height)
    z = whole.z_RC.copy()
    is_known = whole.is_known_RC.copy()
    z[0, 0], z[0, 1], z[0, 2] = np.inf, np.nan, -np.inf
    is_known[-3:, -4:] = False
    return bowl(height, z_RC=z, is_known_RC=is_known, meta={"is_complete": False, "note": NASTY})


def line(height):
    """A landscape of one row between two checkpoints."""
    axis = np.linspace(-0.5, 1.5, 41)
    z = 0.1 + height * (axis * (1 - axis)) ** 2
    fields = {"y_R": np.zeros(1), "z_RC": z[None], "is_measured_RC": np.ones((1, 41), dtype=bool)}
    marks = (Mark(label="θ_a", x=0.0, y=0.0), Mark(label="θ_b", x=1.0, y=0.0))
    known = np.ones((1, 41), dtype=bool)
    return bowl(height, x_C=axis, is_known_RC=known, marks=marks, x_label="from θ_a to θ_b", y_label="y", **fields)


def fill_land():
    """Landscapes: two runs with one name, and one of each other kind."""
    path = Path(x_S=(-0.8, -0.4, 0.0), y_S=(0.6, 0.2, 0.0), labels_S=("step 0", "step 50", "step 100"))
    with trackio.init(project="land", name="beta") as run:
        for step in (0, 15, 40):
            run.log_loss_landscape(holed(3.0), name="bowl", step=step)
        run.log_loss_landscape([[-1.0, 0.0], [1.0, 2.0]], name=NASTY, step=3, x_range=(0, 4), y_range=(0, 1))
    with trackio.init(project="land", name="alpha") as run:
        for i, height in enumerate(LOSSES_OF_ALPHA):
            run.log_loss_landscape(bowl(height, path=path), name="bowl", step=10 * i)
        for step in (0, 5, 10):
            run.log_loss_landscape(line(1 + step), name="between", step=step)


if __name__ == "__main__":
    for fill in (fill_bench, fill_spike, fill_keys, fill_many, fill_land, fill_odd):
        fill()
