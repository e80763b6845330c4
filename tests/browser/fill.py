"""Logs the projects that the browser tests look at; run as a process of its own: `python fill.py`."""

import math
import random

import trackio_like as trackio

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


if __name__ == "__main__":
    for fill in (fill_bench, fill_spike, fill_keys, fill_many, fill_odd):
        fill()
