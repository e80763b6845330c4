"""A logged landscape arrives wherever the run's rows go, with its file: bucket, dataset, server, and their copies."""

from __future__ import annotations

import json
import math
import os
import urllib.parse
import urllib.request

import numpy as np
import pytest

import trackio_like as trackio
from tests.flow.conftest import until
from tests.flow.test_server import READ, WRITE, Server, get

pytestmark = [pytest.mark.usefixtures("hub", "daemon"), pytest.mark.timeout(120)]
GRID = np.random.default_rng(0).normal(size=(5, 4))
GRID[1, 1], GRID[2, 2] = math.nan, -math.inf


@pytest.fixture(autouse=True)
def patient_daemon(monkeypatch):
    """A daemon outlives the moments between a test's steps."""
    monkeypatch.setenv("TRACKIO_IDLE_EXIT_S", "5")


def log_run(**target):
    with trackio.init(project="a/Ü 1%", **target) as run:
        trackio.log({"a": 1.0})
        trackio.log_loss_landscape(GRID, step=-7, name="around θ/1", meta={"seconds": math.nan})
        trackio.log_loss_landscape(GRID.T, step=2)
    return run


def assert_whole(run):
    """A run of `Api` has both, bit for bit."""
    first, second = run.landscapes()
    assert (first.name, first.step) == ("around θ/1", -7)
    assert math.isnan(first.meta["seconds"])
    assert first.load().z_RC.tobytes() == GRID.tobytes()
    assert second.load().z_RC.tobytes() == np.ascontiguousarray(GRID.T).tobytes()


def test_it_arrives_in_a_bucket_and_in_the_copies_that_are_made_of_it(hub):
    run = log_run(bucket_id="me/rows")
    media = [path for path in hub.bucket_files("me/rows") if "/media/" in path]
    assert sorted(path.split("/")[3] for path in media) == ["-7", "2"]
    with trackio.Api(bucket_id="me/rows") as api:
        copy = api.run("a/Ü 1%", run.id)
        until(lambda: len(list((copy.path / "media").rglob("*.parquet"))) == 2)
        assert_whole(copy)


def test_it_arrives_in_a_dataset(hub):
    run = log_run(dataset_id="me/set")
    with trackio.Api(dataset_id="me/set") as api:
        copy = api.run("a/Ü 1%", run.id)
        until(lambda: len(list((copy.path / "media").rglob("*.parquet"))) == 2)
        assert_whole(copy)


def test_it_arrives_at_a_server_which_lists_and_sends_it(tmp_path):
    server = Server(tmp_path / "server", tmp_path / "log").start()
    try:
        run = log_run(server_url=f"{server.url}/?write_token={WRITE}")
        assert_whole(trackio.Api(server.root).run("a/Ü 1%", run.id))
        token = {"Authorization": f"Bearer {READ}"}
        question = {"project": "a/Ü 1%", "runs": [run.id], "types": ["loss_landscape"], "since": None}
        request = urllib.request.Request(
            f"{server.url}/t/objects", data=json.dumps(question).encode(), headers=token, method="POST"
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
            listed = json.load(answer)["objects"]
        assert [(row["key"], row["step"]) for row in listed] == [("around θ/1", -7), ("loss_landscape", 2)]
        for row in listed:
            query = urllib.parse.urlencode({"project": "a/Ü 1%", "run": run.id, "path": row["media"]})
            with get(f"{server.url}/t/media?{query}", **token) as answer:
                assert answer.read() == (trackio.Api().run("a/Ü 1%", run.id).path / row["media"]).read_bytes()
    finally:
        server.end()


def test_a_killed_training_keeps_what_was_logged(script, root):
    process = script(
        """
        import itertools, sys
        trackio.init(project="p")
        for step in itertools.count():
            trackio.log_loss_landscape([[step, 2], [3, 4]], step=step)
            print(step, flush=True)
        """
    )
    last = 0
    while last < 20:
        last = int(process.stdout.readline())
    os.kill(process.pid, 9)
    process.wait()
    [run] = trackio.Api().runs("p")
    found = until(lambda: run.landscapes())
    assert [landscape.step for landscape in found][: last + 1] == list(range(last + 1))
    assert all(landscape.load().z_RC[0, 0] == landscape.step for landscape in found)
