"""The routes of logged objects: what they list, what they cost, and which files they send."""

from __future__ import annotations

import math
import os

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from space_app.api import create_api
from space_app.api.access import Access
from space_app.api.gate import Gate
from space_app.api.objects import MAX_OBJECTS
from space_app.api.service import Service
from tests.store.recording import Recorded

TYPE = "loss_landscape"


class Client:
    """Asks as the page does."""

    def __init__(self, root):
        self.service = Service(root, refresh_s=0)
        self.http = TestClient(create_api(self.service), base_url="http://127.0.0.1")

    def objects(self, *runs, types=(TYPE,), since=None):
        question = {"project": "p", "runs": [run.run_id for run in runs], "types": list(types), "since": since}
        answer = self.http.post("/objects", json=question)
        assert answer.status_code == 200, answer.text
        self.size = len(answer.content)
        return answer.json()

    def media(self, run, path, **headers):
        question = {"project": "p", "run": run.run_id, "path": path}
        return self.http.get("/media", params=question, headers=headers)


@pytest.fixture
def run(root):
    return Recorded(root)


@pytest.fixture
def writer(run):
    writer = run.writer()
    writer.event("init", {"name": "n"})
    yield writer
    writer.close()


@pytest.fixture
def client(run):
    return Client(run.root)


def put(run, path, data=b"PAR1"):
    file = run.folder.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return path


def log(writer, step, *, key="surface", type_=TYPE, payload=None, media=None):
    writer.mixed(step, (), [], [(key, type_, payload or {}, media)])


def test_objects_are_listed_by_key_step_and_time(client, run, writer):
    for key, step in [("b", 1), ("a", 10), ("a", 2), ("a", -3), ("a", 10)]:
        log(writer, step, key=key)
    listed = client.objects(run)["objects"]
    assert [(row["key"], row["step"]) for row in listed] == [("a", -3), ("a", 2), ("a", 10), ("a", 10), ("b", 1)]
    assert listed[2]["seq"] < listed[3]["seq"]


def test_a_row_says_whose_it_is_and_what_it_holds(client, run, writer):
    log(writer, 3, payload={"max": 1.5, "meta": {"odd": math.nan, "wide": 2**60}}, media="media/3/a.parquet")
    [row] = client.objects(run)["objects"]
    assert abs(row.pop("time_us") - writer.now_us()) < 60e6
    assert row == {
        "run": run.run_id,
        "writer": writer.header.writer,
        "seq": 2,
        "attempt": 1,
        "step": 3,
        "key": "surface",
        "type": TYPE,
        "payload": {"max": 1.5, "meta": {"odd": {"$float": "NaN"}, "wide": {"$int": str(2**60)}}},
        "media": "media/3/a.parquet",
    }


def test_an_answer_without_news_is_small_and_the_next_row_is_news(client, run, writer):
    log(writer, 1)
    version = client.objects(run)["version"]
    run.log(writer, 2, a=1.0)
    assert client.objects(run, since=version) == {"version": version, "num_objects": None, "objects": None}
    assert client.size < 100
    log(writer, 2)
    news = client.objects(run, since=version)
    assert news["version"] != version
    assert [row["step"] for row in news["objects"]] == [1, 2]
    assert client.objects(run, since=news["version"])["objects"] is None


def test_only_the_types_and_runs_that_are_asked_for_are_listed(client, run, writer):
    log(writer, 1)
    log(writer, 1, type_="text", payload="words")
    other = Recorded(run.root)
    theirs = other.writer()
    theirs.event("init", {})
    log(theirs, 5)
    theirs.close()
    nobody = Recorded(run.root)
    assert [row["step"] for row in client.objects(other, nobody)["objects"]] == [5]
    assert [row["run"] for row in client.objects(run, other, run)["objects"]] == [run.run_id, other.run_id]
    nothing = client.objects(run, types=["text", "no such type"])
    assert (nothing["num_objects"], nothing["objects"]) == (0, [])
    assert client.http.post("/objects", json={"project": "q", "runs": [], "types": []}).status_code == 404


def test_deleted_runs_have_no_objects_and_send_no_files(client, run, writer):
    log(writer, 1, media=put(run, "media/1/a.parquet"))
    assert client.media(run, "media/1/a.parquet").status_code == 200
    writer.event("delete", {})
    assert client.objects(run)["objects"] == []
    assert client.media(run, "media/1/a.parquet").status_code == 404


def test_of_too_many_the_last_ones_are_sent(client, run, writer):
    for step in range(MAX_OBJECTS + 5):
        log(writer, step)
    answer = client.objects(run)
    assert answer["num_objects"] == MAX_OBJECTS + 5
    assert [row["step"] for row in answer["objects"]] == list(range(5, MAX_OBJECTS + 5))


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"project": "p", "runs": "id", "types": []}', b'{"project": "p", "runs": [], "types": [1]}']
)
def test_a_question_that_cannot_be_read_is_422(client, writer, body):
    assert client.http.post("/objects", content=body).status_code == 422


def test_a_file_is_sent_as_it_is_and_may_be_kept_for_good(client, run, writer):
    log(writer, -4, media=put(run, "media/-4/a.parquet", b"PAR1 bytes"))
    answer = client.media(run, "media/-4/a.parquet")
    assert answer.content == b"PAR1 bytes"
    assert {name: answer.headers[name] for name in ("cache-control", "content-type", "content-disposition")} == {
        "cache-control": "private, max-age=31536000, immutable",
        "content-type": "application/vnd.apache.parquet",
        "content-disposition": "attachment",
    }
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    part = client.media(run, "media/-4/a.parquet", Range="bytes=5-6")
    assert (part.status_code, part.content) == (206, b"by")


@pytest.mark.parametrize(
    ("name", "content_type"),
    [("a.png", "image/png"), ("a.svg", "application/octet-stream"), ("a.html", "application/octet-stream")],
)
def test_nothing_that_a_browser_would_run_has_its_own_type(client, run, writer, name, content_type):
    log(writer, 1, media=put(run, f"media/1/{name}", b"<script>"))
    assert client.media(run, f"media/1/{name}").headers["content-type"] == content_type


def test_only_files_that_a_row_names_are_sent(client, run, writer):
    log(writer, 1, media=put(run, "media/1/a.parquet"))
    put(run, "media/1/b.parquet")
    for path in ("media/1/b.parquet", "media/1/../1/a.parquet", "journal", "", "media/1", "/etc/passwd"):
        answer = client.media(run, path)
        assert answer.status_code == 404, path
        assert "No row" in answer.json()["error"]
    assert (
        client.http.get("/media", params={"project": "p", "run": "x", "path": "media/1/a.parquet"}).status_code == 404
    )


@pytest.mark.parametrize(
    "path",
    ["../other/secret", "/etc/hostname", "journal/x", "media/../../x", "media", "media/1/" + "a" * 5000, "media/\0"],
)
def test_a_row_that_names_what_is_not_the_runs_own_gets_nothing(client, run, writer, path):
    (run.folder.path.parent / "other").mkdir()
    (run.folder.path.parent / "other" / "secret").write_text("secret")
    (run.folder.path.parent / "x").write_text("secret")
    log(writer, 1, media=path)
    assert client.media(run, path).status_code == 404


def test_no_link_leads_out_of_the_runs_folder(client, run, writer, tmp_path):
    (tmp_path / "secret").write_text("secret")
    folder = run.folder.path / "media"
    folder.mkdir(parents=True)
    os.symlink(tmp_path / "secret", folder / "a.parquet")
    os.symlink(tmp_path, folder / "1")
    for path in ("media/a.parquet", "media/1/secret"):
        log(writer, 1, media=path)
        assert client.media(run, path).status_code == 404


def test_a_file_that_has_not_come_yet_is_told_from_one_that_nobody_names(client, run, writer):
    log(writer, 1, media="media/1/a.parquet")
    answer = client.media(run, "media/1/a.parquet")
    assert answer.status_code == 404
    assert "not here yet" in answer.json()["error"]
    put(run, "media/1/a.parquet")
    assert client.media(run, "media/1/a.parquet").status_code == 200


def test_both_need_the_read_token_where_there_is_one(run, writer):
    log(writer, 1, media=put(run, "media/1/a.parquet"))
    access = Access(read_token="r3ad", write_token="wr1te", is_loopback=False, port=80)
    app = Starlette(routes=[Mount("/t", create_api(run.root, access=access))])
    http = TestClient(Gate(app, access))
    for headers, status in (({}, 401), ({"Authorization": "Bearer r3ad"}, 200)):
        question = {"project": "p", "runs": [run.run_id], "types": [TYPE]}
        assert http.post("/t/objects", json=question, headers=headers).status_code == status
        params = {"project": "p", "run": run.run_id, "path": "media/1/a.parquet"}
        assert http.get("/t/media", params=params, headers=headers).status_code == status
