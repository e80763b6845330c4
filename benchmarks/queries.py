"""How long questions and polls take: one long series, many keys, many runs; asked as the page asks them."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trackio_like as trackio
from benchmarks.places import fresh_root, pause, seconds_until
from benchmarks.report import Line, run
from benchmarks.serving import Dashboard, arrays, dashboard, header, panel, rss_of_gradio_mb
from trackio_like.maths.decimate import bucket_edges

Floats = npt.NDArray[np.float64]

NUM_POINTS = 1_000_000
NUM_TRIES = 9
LIVE_POLLS = 20
FILL = """
import random, sys
import trackio_like as t
project, num_runs, num_keys, num_steps = sys.argv[1], *map(int, sys.argv[2:])
rng = random.Random(0)
rows = [{f"part_{i % 10}/metric_{i}": rng.random() for i in range(num_keys)} for _ in range(50)]
for n in range(num_runs):
    t.init(project=project, name=f"run-{n}", config={"n": n})
    for step in range(num_steps):
        t.log(rows[step % 50])
    t.finish()
"""
LIVE = """
import random, sys, threading
import trackio_like as t
pause, rng = threading.Event(), random.Random(1)
runs = [t.Run(project=sys.argv[1], name=f"live-{n}") for n in range(20)]
for step in range(2000):
    for r in runs:
        r.log({f"part_{i % 10}/metric_{i}": rng.random() for i in range(50)})
print("filled", flush=True)
while not pause.wait(0.1):
    for r in runs:
        r.log({f"part_{i % 10}/metric_{i}": rng.random() for i in range(50)})
"""


def measure() -> list[Line]:
    base_mb = rss_of_gradio_mb()
    with fresh_root() as root:
        truth_N = fill_long()
        fill("keys", 100, 1000, 20)
        fill("runs", 500, 4, 200)
        fill("hundred", 100, 10, 100)
        lines = long_in_process(root, truth_N)
        with dashboard() as served:
            lines += long_over_http(served, truth_N)
            lines.append(
                Line(
                    what="server memory beyond Gradio's, 1M points served",
                    measured=served.rss_mb() - base_mb,
                    unit="MiB",
                    bar=300,
                    note=f"{served.rss_mb():.0f} in all",
                )
            )
            lines += last_values(served)
            lines += one_key_of_many_runs(served)
            lines += live(served)
    return lines


def fill(project: str, num_runs: int, num_keys: int, num_steps: int) -> None:
    """Logs runs in a process of their own."""
    arguments = [str(n) for n in (num_runs, num_keys, num_steps)]
    subprocess.run([sys.executable, "-c", FILL, project, *arguments], check=True)


def fill_long() -> Floats:
    """One run of a million points; returns them."""
    truth_N = np.random.default_rng(0).standard_normal(NUM_POINTS)
    trackio.init(project="long", name="long")
    for value in truth_N.tolist():
        trackio.log({"loss": value})
    trackio.finish()
    return truth_N


def extremes_missed(values_K: Floats, steps_K: Floats, truth_N: Floats, *, num_buckets: int) -> int:
    """Points shown that are not what was logged, plus buckets whose smallest or largest value is not shown."""
    wrong = int(np.sum(truth_N[steps_K.astype(np.int64)] != values_K))
    edges_B = bucket_edges(0, len(truth_N) - 1, num_buckets=num_buckets)
    starts_B = np.concatenate([[0], np.ceil(edges_B).astype(np.int64)])
    shown = set(zip(np.searchsorted(edges_B, steps_K, side="right").tolist(), values_K.tolist(), strict=True))
    for extremes_B in (np.minimum.reduceat(truth_N, starts_B), np.maximum.reduceat(truth_N, starts_B)):
        wrong += sum((bucket, value) not in shown for bucket, value in enumerate(extremes_B.tolist()))
    return wrong


def median_ms(ask: Callable[[], object], times: int = NUM_TRIES) -> float:
    """Median wall time."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def long_in_process(root: Path, truth_N: Floats) -> list[Line]:
    """Through `Api`, in this process: right after the run, and once the daemon has sealed and compacted it."""
    fresh_ms = cold_series(root)[1]
    seconds_until(lambda: not list(root.rglob("*.journal")))
    series, cold_ms = cold_series(root)
    long = trackio.Api(root=root).run("long", "long")
    long.series("loss", max_points=1500)
    warm_ms = median_ms(lambda: long.series("loss", max_points=1500))
    missed = extremes_missed(np.asarray(series.y), np.asarray(series.x), truth_N, num_buckets=750)
    note = f"{len(series.x):,} of {NUM_POINTS:,} points"
    return [
        Line(what="1M points through Api, cold", measured=cold_ms, unit="ms", bar=100, note=note),
        Line(what="  cold right after finish()", measured=fresh_ms, unit="ms", note="some of it in the journal still"),
        Line(what="  warm", measured=warm_ms, unit="ms", bar=1),
        Line(what="  wrong points or missed extremes", measured=missed, unit="", bar=0),
    ]


def cold_series(root: Path) -> tuple[Any, float]:
    """A million points down-sampled by an `Api` that has seen none of them, and the milliseconds that took."""
    long = trackio.Api(root=root).run("long", "long")
    start = time.perf_counter()
    series = long.series("loss", max_points=1500)
    return series, (time.perf_counter() - start) * 1000


def long_over_http(served: Dashboard, truth_N: Floats) -> list[Line]:
    """The same chart, asked as the page asks."""
    run_id = runs_of(served, "long")[0]
    start = time.perf_counter()
    body = served.poll(project="long", panels=[panel(0, "loss", [run_id], buckets=750)])
    first_ms = (time.perf_counter() - start) * 1000
    cpu = served.cpu_s()
    warm_ms = median_ms(lambda: served.poll(project="long", panels=[panel(0, "loss", [run_id], buckets=750)]), 50)
    cpu_ms = (served.cpu_s() - cpu) / 50 * 1000
    window = {**panel(0, "loss", [run_id], buckets=750), "x0": 500_000, "x1": 510_000}
    window_ms = median_ms(lambda: served.poll(project="long", panels=[window]))
    head, parts = header(body), arrays(body)
    series = head["series"][0]
    missed = extremes_missed(parts[series["y"]], parts[series["x"]], truth_N, num_buckets=750)
    return [
        Line(
            what="1M points over HTTP, first", measured=first_ms, unit="ms", note=f"{series['num_points']:,} raw points"
        ),
        Line(what="  again", measured=warm_ms, unit="ms", note=f"server CPU {cpu_ms:.1f} ms"),
        Line(what="  a window of 1%", measured=window_ms, unit="ms"),
        Line(what="  wrong points or missed extremes", measured=missed, unit="", bar=0),
    ]


def runs_of(served: Dashboard, project: str) -> list[str]:
    """The ids of a project's runs."""
    return [each["id"] for each in header(served.poll(project=project, want_runs=True))["runs"]]


def last_values(served: Dashboard) -> list[Line]:
    """The runs of a project with their configs and last values, as the table of runs first asks."""
    lines = []
    for project, what, bar in (
        ("hundred", "last values of 100 runs x 10 keys", 10),
        ("runs", "last values of 500 runs x 4 keys", None),
        ("keys", "last values of 100 runs x 1,000 keys", None),
    ):
        body = served.poll(project=project, want_runs=True)
        taken_ms = median_ms(partial(served.poll, project=project, want_runs=True))
        note = f"{len(header(body)['runs'])} runs, {len(body) / 1000:,.0f} kB"
        lines.append(Line(what=what, measured=taken_ms, unit="ms", bar=bar, note=note))
    return lines


def one_key_of_many_runs(served: Dashboard) -> list[Line]:
    """One chart over all runs, cold and warm."""
    lines = []
    for project, key, what in (
        ("keys", "part_7/metric_777", "one key of 100 runs x 1,000 keys"),
        ("runs", "part_0/metric_0", "one key of 500 runs"),
    ):
        wanted = [panel(0, key, runs_of(served, project), buckets=50)]
        start = time.perf_counter()
        served.poll(project=project, panels=wanted)
        cold_ms = (time.perf_counter() - start) * 1000
        warm_ms = median_ms(partial(served.poll, project=project, panels=wanted))
        lines.append(Line(what=f"{what}, cold", measured=cold_ms, unit="ms"))
        lines.append(Line(what="  warm", measured=warm_ms, unit="ms"))
    return lines


def live(served: Dashboard) -> list[Line]:
    """A page of twelve charts over 20 live runs of 50 keys, polled once a second; and one where nothing is new."""
    with subprocess.Popen([sys.executable, "-c", LIVE, "live"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        seconds_until(lambda: len(runs_of(served, "live")) == 20)
        ids = runs_of(served, "live")
        keys = [f"part_{i % 10}/metric_{i}" for i in range(12)]
        since, epoch = 0, ""
        sizes, walls, used, asked = [], [], [], []
        for _ in range(LIVE_POLLS):
            before = served.cpu_s()
            start = time.perf_counter()
            panels = [panel(i, key, ids, since=since) for i, key in enumerate(keys)]
            body = served.poll(project="live", epoch=epoch, cursor=since, want_runs=True, panels=panels)
            walls.append((time.perf_counter() - start) * 1000)
            head = header(body)
            since, epoch = head["cursor"], head["epoch"]
            asked.append((served.cpu_s() - before) * 1000)
            sizes.append(len(body))
            pause(max(0, 1 - (time.perf_counter() - start)))
            used.append((served.cpu_s() - before) * 1000)
        child.kill()
    idle = header(served.poll(project="hundred", want_runs=True))
    ask = {"project": "hundred", "epoch": idle["epoch"], "cursor": idle["cursor"], "want_runs": True}
    before = served.cpu_s()
    idle_bytes = max(len(served.poll(**ask)) for _ in range(50))
    idle_ms = (served.cpu_s() - before) / 50 * 1000
    return [
        Line(
            what="live poll, 12 charts x 20 runs: server CPU",
            measured=statistics.mean(asked[2:]),
            unit="ms",
            bar=10,
            note=f"{statistics.median(sizes[2:]) / 1000:.0f} kB; 1,000 series grow by 10 points a second",
        ),
        Line(
            what="  a whole second of it",
            measured=statistics.mean(used[2:]),
            unit="ms",
            note="following the files included",
        ),
        Line(what="  wall time", measured=statistics.median(walls[2:]), unit="ms", note=f"first {walls[0]:.0f} ms"),
        Line(what="idle poll", measured=idle_bytes, unit="B", bar=1000, note=f"server CPU {idle_ms:.1f} ms"),
    ]


if __name__ == "__main__":
    run(measure, __doc__ or "")
