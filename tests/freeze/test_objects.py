"""A frozen copy lists the same objects as the live server, and has their files."""

from __future__ import annotations

import base64
import json
import math

import numpy as np
import pytest
from starlette.testclient import TestClient

import trackio_like as trackio
from space_app.api import create_api
from space_app.freeze import build
from tests.freeze.static_server import static_server


@pytest.fixture
def runs(root):
    """Two runs with landscapes, texts, and values that JSON cannot hold."""
    made = []
    for number in range(2):
        with trackio.Run("p", f"run {number}") as run:
            for step in (10, 2, -3):
                run.log({"a": 1.0, "note": f"a text of step {step}"}, step=step)
                meta = {"odd": [math.nan, -math.inf], "wide": 2**60, "text": 'NaN "Infinity" \\', "third": 1 / 3}
                grid = np.random.default_rng([step + 3, number]).normal(size=(3, 4))
                run.log_loss_landscape(grid, name=f"surface {step % 2}", step=step, meta=meta)
            made.append(run)
    with trackio.Run("p") as run:
        run.log({"note": "no landscape here"})
    return [*made, run]


def live_answers(root):
    http = TestClient(create_api(root))

    def objects(**question):
        return http.post("/objects", json=question).json()

    def media(**question):
        return http.get("/media", params=question).content

    return objects, media


def test_a_frozen_copy_lists_what_the_live_server_lists_and_sends_the_same_files(root, runs, tmp_path, asking):
    folder = tmp_path / "frozen"
    folder.mkdir()
    assert build(root, ["p"], folder).num_missing_files == 0
    objects, media = live_answers(root)
    [data] = (folder / "data").iterdir()
    with static_server(folder, sends_parts=True) as server, asking(f"{server.url}data/{data.name}/") as ask:
        for chosen in ([runs[0].id], [run.id for run in runs], ["nobody"], []):
            for types in (["loss_landscape"], ["other"], []):
                question = {"project": "p", "runs": chosen, "types": types}
                live, frozen = objects(**question, since=None), ask("objects", **question)
                assert frozen["num_objects"] == live["num_objects"]
                assert frozen["objects"] == live["objects"]
                again = ask("objects", **question, since=frozen["version"])
                assert again == {"version": frozen["version"], "num_objects": None, "objects": None}
        row = objects(project="p", runs=[runs[1].id], types=["loss_landscape"])["objects"][0]
        question = {"project": "p", "run": runs[1].id, "path": row["media"]}
        assert base64.b64decode(ask("media", **question)["base64"]) == media(**question)
        assert "No row" in ask("media", **{**question, "path": "media/x.parquet"})["error"]
        assert "No row" in ask("media", **{**question, "run": runs[0].id})["error"]
        assert "no run" in ask("media", **{**question, "run": "nobody"})["error"]
        assert "no project" in ask("objects", project="q", runs=[], types=[])["error"]


def test_a_copy_without_objects_asks_for_no_file_of_them(root, tmp_path, asking):
    with trackio.Run("p") as run:
        run.log({"a": 1.0, "note": "a text"})
    folder = tmp_path / "frozen"
    folder.mkdir()
    build(root, ["p"], folder)
    [data] = (folder / "data").iterdir()
    assert json.loads((data / "p" / "index.json").read_text())["objects"] is None
    with static_server(folder, sends_parts=True) as server, asking(f"{server.url}data/{data.name}/") as ask:
        assert ask("objects", project="p", runs=[run.id], types=["loss_landscape"])["objects"] == []
        assert not [path for path, _ in server.asked if "objects" in path]
