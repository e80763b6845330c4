"""What the routes send is what docs/http_api.md says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from space_app.api import create_api
from space_app.api.access import Access
from space_app.api.gate import Gate
from space_app.api.routes import MAX_BODY_BYTES
from space_app.api.service import Service
from space_app.api.wire import Arrays
from tests.store.recording import Recorded
from trackio_like.journal.writer import JournalWriter


class Client:
    """Speaks the protocol as the page does."""

    def __init__(self, root: Path, *, refresh_s: float = 0) -> None:
        self.service = Service(root, refresh_s=refresh_s)
        self.http = TestClient(create_api(self.service), base_url="http://127.0.0.1")

    def get(self, route: str, *, status: int = 200, **params: Any) -> Any:
        answer = self.http.get(route, params=params)
        assert answer.status_code == status, answer.text
        return answer.json()

    def poll(self, **request: Any) -> tuple[dict[str, Any], list[np.ndarray]]:
        self.size = 0
        answer = self.http.post("/poll", content=json.dumps({"project": "p", **request}))
        assert answer.status_code == 200, answer.text
        body = answer.content
        self.size = len(body)
        num_header = int.from_bytes(body[:4], "little")
        assert (4 + num_header) % 8 == 0
        header = json.loads(body[4 : 4 + num_header])
        start = 4 + num_header
        arrays = [
            np.frombuffer(body, "<f8", count=item["length"], offset=start + item["offset"]) for item in header["arrays"]
        ]
        assert start + sum(a.nbytes for a in arrays) == len(body)
        return header, arrays


@pytest.fixture
def run(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture
def writer(run: Recorded) -> Iterator[JournalWriter]:
    writer = run.writer()
    writer.event("init", {"name": "n", "group": "g", "tags": ["t"], "config": {"opt": {"lr": 0.1}, "seed": 2**63 - 1}})
    yield writer
    writer.close()


@pytest.fixture
def client(run: Recorded) -> Client:
    return Client(run.root)


def panel(run: Recorded, **changes: Any) -> dict[str, Any]:
    return {"id": "m0", "key": "a", "x": "step", "runs": [run.run_id], "buckets": 100, "since": 0, **changes}


def test_meta_lists_projects_the_most_recent_first(client, run, writer):
    run.log(writer, 0, a=1.0)
    meta = client.get("/meta")
    [project] = meta["projects"]
    assert (project["name"], project["num_runs"], project["num_running"]) == ("p", 1, 1)
    assert abs(project["last_us"] - writer.now_us()) < 60e6
    assert meta["poll_ms"] == 1000


def test_the_first_poll_brings_everything(client, run, writer):
    for step, value in enumerate([1.0, math.nan, math.inf]):
        run.log(writer, step, a=value)
    header, arrays = client.poll(panels=[panel(run)])
    assert header["reset"] is True
    assert header["keys"] == ["a"]
    [series] = header["series"]
    assert (series["panel"], series["run"], series["lane"], series["lanes"]) == ("m0", run.run_id, 0, 1)
    assert (series["mode"], series["num_points"], series["num_non_finite"], series["is_exact"]) == (
        "replace",
        3,
        2,
        True,
    )
    np.testing.assert_array_equal(arrays[series["x"]], [0, 1, 2])
    np.testing.assert_array_equal(arrays[series["y"]], [1, math.nan, math.inf])
    [line] = header["runs"]
    assert (line["name"], line["group"], line["tags"], line["state"], line["num_rows"]) == (
        "n",
        "g",
        ["t"],
        "running",
        3,
    )
    assert line["config"] == {"opt.lr": 0.1, "seed": {"$int": str(2**63 - 1)}}
    assert line["last"] == {"a": {"$float": "Infinity"}}


def test_an_idle_poll_is_small_and_a_change_brings_only_itself(client, run, writer):
    run.log(writer, 0, a=1.0, b=1.0)
    header, _ = client.poll(panels=[panel(run)])
    state = {"epoch": header["epoch"], "cursor": header["cursor"]}
    idle, _ = client.poll(**state, panels=[panel(run, since=header["cursor"])])
    assert client.size < 300
    assert (idle["runs"], idle["keys"], idle["definitions"], idle["series"]) == ([], None, None, [])
    run.log(writer, 1, a=2.0)
    change, arrays = client.poll(**state, panels=[panel(run, since=header["cursor"])])
    assert change["series"][0]["mode"] == "append"
    assert arrays[change["series"][0]["y"]].tolist() == [2.0]
    assert change["runs"][0]["last"] == {"a": 2.0}
    assert change["keys"] is None


def test_another_epoch_starts_anew(client, run, writer):
    run.log(writer, 0, a=1.0)
    header, _ = client.poll()
    other, _ = client.poll(epoch="another", cursor=header["cursor"], panels=[panel(run, since=header["cursor"])])
    assert other["reset"] is True
    assert len(other["runs"]) == 1
    assert other["series"][0]["mode"] == "replace"


def test_equal_x_are_sent_once(client, run, writer):
    run.log(writer, 0, a=1.0, b=2.0)
    header, arrays = client.poll(panels=[panel(run), panel(run, id="m1", key="b")])
    assert header["series"][0]["x"] == header["series"][1]["x"]
    assert len(arrays) == 3


def test_panels_without_runs_of_their_own_draw_those_of_the_request(client, run, writer):
    run.log(writer, 0, a=1.0)
    own = {key: value for key, value in panel(run).items() if key != "runs"}
    header, _ = client.poll(runs=[run.run_id], panels=[own])
    assert [series["run"] for series in header["series"]] == [run.run_id]


def test_system_metrics_are_drawn_over_time(client, run, writer):
    writer.system(("cpu",), [50.0])
    header, arrays = client.poll(panels=[panel(run, key="cpu", kind="system", x="time")])
    assert header["keys"] == []
    assert arrays[header["series"][0]["y"]].tolist() == [50.0]
    assert abs(arrays[header["series"][0]["x"]][0] - writer.now_us() / 1e6) < 5


def test_definitions_are_sent_when_they_change(client, run, writer):
    writer.event("define_metric", {"name": "val/*", "step_metric": "epoch"})
    header, _ = client.poll()
    assert header["definitions"] == [{"name": "val/*", "step_metric": "epoch", "summary": None}]


def test_a_deleted_run_is_removed_and_no_longer_served(client, run, writer):
    run.log(writer, 0, a=1.0)
    header, _ = client.poll()
    writer.event("delete", {})
    after, _ = client.poll(epoch=header["epoch"], cursor=header["cursor"])
    assert after["removed"] == [run.run_id]
    client.get("/run", project="p", run=run.run_id, status=404)


def test_a_run_in_full(client, run, writer):
    run.log(writer, 0, a=1.0)
    writer.event("alert", {"title": "t", "text": "x", "level": "warn"})
    writer.mixed(0, (), [], [("note", "text", "hello", None)])
    run.seal(writer)
    found = client.get("/run", project="p", run=run.run_id)
    assert found["config"] == {"opt": {"lr": 0.1}, "seed": {"$int": str(2**63 - 1)}}
    assert found["summary"][0]["key"] == "a"
    assert found["attempts"][0]["number"] == 1
    assert found["alerts"][0]["title"] == "t"
    assert [text["payload"] for text in found["texts"]] == ["hello"]


def test_raw_rows_are_exact_as_json_and_as_csv(client, run, writer):
    writer.metrics(0, ("a",), [2**53 + 1])
    writer.metrics(5, ("a",), [math.nan])
    writer.metrics(9, ("a",), [0.5])
    found = client.get("/rows", project="p", run=run.run_id, key="a")
    assert found["num_rows"] == 3
    assert [row[2] for row in found["rows"]] == [{"$int": str(2**53 + 1)}, {"$float": "NaN"}, 0.5]
    assert [row[0] for row in client.get("/rows", project="p", run=run.run_id, key="a", x0=1, x1=5)["rows"]] == [5]
    assert client.get("/rows", project="p", run=run.run_id, key="a", limit=1)["num_rows"] == 3
    answer = client.http.get("/rows", params={"project": "p", "run": run.run_id, "key": "a", "format": "csv"})
    assert answer.headers["content-disposition"].startswith("attachment")
    lines = answer.text.splitlines()
    assert lines[0] == "step,time_us,value,attempt,writer,seq"
    assert [line.split(",")[2] for line in lines[1:]] == [str(2**53 + 1), "nan", "0.5"]


HOSTILE = ["../../etc/passwd", "..", "/etc/passwd", "%2e%2e", "a\x00b", "<script>", "' OR 1=1 --", "\udcff", "*", ""]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_only_a_name_that_does_not_exist(client, run, writer, name):
    run.log(writer, 0, a=1.0)
    if "\udcff" not in name:
        client.get("/run", project=name, run="x", status=404)
        client.get("/run", project="p", run=name, status=404)
        client.get("/rows", project="p", run=run.run_id, key=name, status=404)
    answer = client.http.post("/poll", content=json.dumps({"project": name}))
    assert answer.status_code in {404, 422}
    header, _ = client.poll(panels=[panel(run, key=name, runs=[name, run.run_id])] if "\udcff" not in name else [])
    assert header["series"] == []


def test_names_travel_whole(tmp_path: Path):
    run = Recorded(tmp_path, project="<b>Ü/ 'x' \U0001f600")
    writer = run.writer()
    run.log(writer, 0, **{'k"</script>\n': 1.0})
    client = Client(tmp_path)
    assert client.get("/meta")["projects"][0]["name"] == run.project
    header, _ = client.poll(project=run.project, panels=[panel(run, key='k"</script>\n')])
    assert header["keys"] == ['k"</script>\n']
    assert len(header["series"]) == 1
    writer.close()


@pytest.mark.parametrize(
    "request_",
    [
        {"panels": [{"id": "m", "key": "a", "runs": [], "buckets": 0}]},
        {"panels": [{"id": "m", "key": "a", "runs": [], "buckets": 10**9}]},
        {"panels": [{"id": "m", "key": "a", "runs": [], "buckets": 10, "x": "nonsense"}]},
        {"panels": "x"},
        {"cursor": -1},
        {"cursor": "many"},
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(client, run, writer, request_):
    run.log(writer, 0, a=1.0)
    answer = client.http.post("/poll", content=json.dumps({"project": "p", **request_}))
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_wrong_json_and_wrong_numbers_are_refused(client, run, writer):
    run.log(writer, 0, a=1.0)
    assert client.http.post("/poll", content=b"{").status_code == 422
    assert client.http.get("/run").status_code == 422
    params = {"project": "p", "run": run.run_id, "key": "a", "x0": "nan"}
    assert client.http.get("/rows", params=params).status_code == 422


def test_there_are_no_other_pages(client):
    for route in ("/docs", "/redoc", "/openapi.json", "/", "/nothing"):
        assert client.http.get(route).status_code == 404


def test_only_this_machine_is_answered_when_only_it_is_served(tmp_path: Path):
    http = TestClient(Gate(create_api(tmp_path), Access(is_loopback=True)), base_url="http://127.0.0.1:7860")
    assert http.get("/meta").status_code == 200
    assert http.get("/meta", headers={"Host": "localhost:7860"}).status_code == 200
    assert http.get("/meta", headers={"Host": "[::1]:7860"}).status_code == 200
    assert http.get("/meta", headers={"Host": "evil.example"}).status_code == 403


def test_only_remote_answers_are_compressed(run, writer):
    for step in range(1000):
        run.log(writer, step, a=1.0)
    body = json.dumps({"project": "p", "panels": [panel(run, buckets=1000)]})
    for client, expected in (("127.0.0.1", None), ("10.1.2.3", "gzip")):
        http = TestClient(create_api(run.root), base_url="http://x", client=(client, 50000))
        answer = http.post("/poll", content=body, headers={"Accept-Encoding": "gzip"})
        assert answer.headers.get("content-encoding") == expected


@pytest.mark.parametrize(
    ("window", "steps"),
    [
        ({"x0": 1}, [2**53 + 1, 2**62]),
        ({"x0": 2.0**53}, [2**53 + 1, 2**62]),
        ({"x1": 1e300}, [-5, 2**53 + 1, 2**62]),
        ({"x0": 1e300}, []),
        ({"x0": -1e300, "x1": -4.5}, [-5]),
        ({"x0": 2.0**62, "x1": 2.0**62}, [2**62]),
        ({"x1": -1e300}, []),
    ],
)
def test_raw_rows_of_steps_beyond_exact_floats_can_be_asked_for(client, run, writer, window, steps):
    for step in (-5, 2**53 + 1, 2**62):
        run.log(writer, step, a=1.0)
    answer = client.get("/rows", project="p", run=run.run_id, key="a", format="json", **window)
    exact = [int(step["$int"]) if isinstance(step, dict) else step for step, *_ in answer["rows"]]
    assert (answer["num_rows"], exact) == (len(steps), steps)


def test_more_than_a_server_can_hold_is_refused(client, run, writer):
    answer = client.http.post("/poll", content=b" " * (MAX_BODY_BYTES + 1))
    assert (answer.status_code, "bytes" in answer.json()["error"]) == (422, True)
    arrays = Arrays(max_bytes=24)
    arrays.add(np.zeros(3), is_shared=True)
    arrays.add(np.zeros(3), is_shared=True)
    with pytest.raises(ValueError, match="fewer panels"):
        arrays.add(np.zeros(1), is_shared=False)
