"""The routes for files: what each status means, and that a refused body costs nothing."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import quote, unquote

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from space_app.api import create_api
from space_app.api.access import Access
from space_app.api.gate import Gate
from tests.store.recording import Recorded
from tests.store.test_intake import HOSTILE, covering
from trackio_like.store.intake import INCOMING_FOLDER

TOKEN = "s3cret"
BODY = b"an image"
MEDIA = "/t/files/p/r/media/0/x.png"


def as_servers_decode(app):
    """Decodes paths once, as servers do; the test client does it twice."""

    async def once(scope, receive, send):
        await app({**scope, "path": unquote(scope["raw_path"].decode())}, receive, send)

    return once


@pytest.fixture
def http(tmp_path):
    access = Access(write_token=TOKEN)
    api = create_api(tmp_path / "server", access=access, max_bytes=100_000)
    app = as_servers_decode(Gate(Starlette(routes=[Mount("/t", api)]), access))
    client = TestClient(app, base_url="http://127.0.0.1")
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    return client


@pytest.fixture
def sent(tmp_path):
    run = Recorded(tmp_path / "client", project="a/Ü 1")
    writer = run.writer()
    for step in range(20):
        run.log(writer, step, loss=1.0)
        run.seal(writer)
    run.compact(writer)
    writer.close()
    return {str(path.relative_to(run.root)): path.read_bytes() for path in sorted(run.root.rglob("*.parquet"))}


def put(http, url, body=BODY, **headers):
    digest = {"X-Content-SHA256": hashlib.sha256(body).hexdigest()}
    return http.put(url, content=body, headers={**digest, **{k.replace("_", "-"): v for k, v in headers.items()}})


def url_of(path):
    return f"/t/files/{quote(path)}"


def test_shards_are_stored_listed_and_read_by_the_dashboard(http, sent):
    for path, body in sent.items():
        assert put(http, url_of(path), body).status_code == 201
        assert put(http, url_of(path), body).status_code == 200
    found = http.get("/t/files").json()
    assert found == {"files": [{"path": path, "size": len(sent[path])} for path in sorted(sent)], "next": None}
    assert http.get("/t/meta").json()["projects"][0]["name"] == "a/Ü 1"


def test_a_listing_comes_in_pages(http, sent):
    for path, body in sent.items():
        put(http, url_of(path), body)
    paths, after = [], ""
    while after is not None:
        page = http.get("/t/files", params={"after": after, "limit": 3}).json()
        assert len(page["files"]) <= 3
        paths += [file["path"] for file in page["files"]]
        after = page["next"]
    assert paths == sorted(sent)
    assert http.get("/t/files", params={"prefix": "b"}).json()["files"] == []
    assert http.get("/t/files", params={"limit": 0}).status_code == 422


def test_a_content_digest_will_do(http):
    digest = base64.b64encode(hashlib.sha256(BODY).digest()).decode()
    answer = http.put(MEDIA, content=BODY, headers={"Content-Digest": f"md5=:x:, sha-256=:{digest}:"})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Authorization": "Bearer wrong"}, BODY, 401),
        ({"Authorization": f"Basic {TOKEN}"}, BODY, 401),
        ({"Content-Encoding": "gzip"}, BODY, 415),
        ({"X-Content-SHA256": "0" * 64}, BODY, 400),
        ({"X-Content-SHA256": "short"}, BODY, 400),
        ({}, b"x" * 100_001, 413),
        ({}, iter([BODY]), 411),
    ],
)
def test_a_file_that_is_not_taken_says_why(http, headers, body, status):
    digest = hashlib.sha256(BODY).hexdigest()
    answer = http.put(MEDIA, content=body, headers={"X-Content-SHA256": digest, **headers})
    assert (answer.status_code, bool(answer.json()["error"])) == (status, True)
    assert http.get("/t/files").json()["files"] == []


def test_without_a_token_nothing_is_stored_listed_or_removed(http):
    put(http, MEDIA)
    del http.headers["Authorization"]
    assert put(http, MEDIA).status_code == 401
    assert http.delete(MEDIA).status_code == 401
    assert http.get("/t/files").status_code == 401


@pytest.mark.parametrize("path", [path for path in HOSTILE if path and "\n" not in path], ids=ascii)
def test_hostile_paths_lead_nowhere_in_any_encoding(http, tmp_path, path):
    once, all_of_it = quote(path), "".join(f"%{byte:02X}" for byte in path.encode())
    for encoded in {once, all_of_it, quote(once), quote(all_of_it)}:
        # Encoded once more than it should be, it may be a name like any other; what came is no shard then.
        assert put(http, f"/t/files/{encoded}").status_code in (404, 405, 422), encoded
    assert {each.name for each in (tmp_path / "server").rglob("*")} <= {INCOMING_FOLDER}


def test_other_content_is_a_conflict_and_a_lie_is_told(http, sent):
    assert put(http, MEDIA).status_code == 201
    assert put(http, MEDIA, b"other").status_code == 409
    path, body = next(iter(sent.items()))
    lie = put(http, url_of(path).replace("a%252F", "b%252F"), body)
    assert lie.status_code == 422
    assert "project" in lie.json()["error"]
    assert put(http, url_of(path), body[:-1]).status_code == 422


def test_covered_shards_go_and_needed_ones_stay(http, sent):
    for path, body in sent.items():
        put(http, url_of(path), body)
    large, small = covering(sent)
    assert [http.delete(url_of(small)).status_code for _ in range(2)] == [204, 204]
    assert http.delete(url_of(large)).status_code == 409


def test_a_deleted_run_can_be_removed_and_stays_away(http, sent):
    for path, body in sent.items():
        put(http, url_of(path), body)
    http.post("/t/change", json={"project": "a/Ü 1", "runs": None, "type": "delete", "payload": {}})
    paths = [file["path"] for file in http.get("/t/files").json()["files"]]
    assert {http.delete(url_of(path)).status_code for path in paths} == {204}
    path, body = next(iter(sent.items()))
    assert put(http, url_of(path), body).status_code == 410
    assert http.get("/t/meta").json()["projects"] == []


def test_other_methods_are_told_so(http):
    answer = http.post(MEDIA, content=BODY)
    assert answer.status_code == 405
    assert http.patch(MEDIA).status_code == 405
