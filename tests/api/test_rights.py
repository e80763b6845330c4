"""Who may look, who may change, and what other sites may not do with a browser that is signed in."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from space_app.api import create_api
from space_app.api.access import WRONG_TOKEN, Access
from space_app.api.gate import Gate
from tests.store.recording import Recorded

WRITE, READ = "write-s3cret-ü", "read-s3cret"


@pytest.fixture
def run(tmp_path):
    run = Recorded(tmp_path / "root", project="p")
    writer = run.writer()
    writer.event("init", {"name": "first"})
    run.log(writer, 0, a=1.0)
    writer.event("finish", {"state": "finished"})
    writer.close()
    run.drop_journal(writer)
    return run


def page(request):
    return PlainTextResponse(f"page {request.url.query} {request.scope.get('root_path', '')}")


@pytest.fixture
def serve(run):
    """A server with these tokens, as a browser or a script sees it."""

    def start(base_url="http://127.0.0.1:7860", **access):
        access = Access(**{"write_token": WRITE, **access})
        api = create_api(run.root, access=access)
        app = Starlette(routes=[Mount("/t", api), Route("/", page), Route("/sub", page)])
        return TestClient(Gate(app, access), base_url=base_url, follow_redirects=False)

    return start


def bearer(token):
    return {"Authorization": b"Bearer " + token.encode()}


OWN = {"Sec-Fetch-Site": "same-origin"}


def rename(http, run, name="second", **options):
    body = {"project": "p", "runs": [run.run_id], "type": "rename", "payload": {"name": name}}
    return http.post("/t/change", json=body, **options)


def name_of(http, run, **options):
    return http.get("/t/run", params={"project": "p", "run": run.run_id}, **options).json()["name"]


def test_everybody_may_look_where_there_is_no_read_token(serve, run):
    http = serve()
    assert name_of(http, run) == "first"
    me = http.get("/t/me").json()
    assert (me["may_read"], me["may_write"], me["sign_in"], me["name"]) == (True, False, "token", None)
    assert "write URL" in me["why"]


def test_a_read_token_stands_before_every_page_and_route(serve, run):
    http = serve(read_token=READ)
    for path in ("/", "/sub", "/config", "/t/meta", "/t/me", "/t/rows", "/t/files", "/tstatic/x.js", "/t"):
        answer = http.get(path)
        assert answer.status_code == 401, path
        assert WRONG_TOKEN in answer.text
    assert http.get("/t/server").json() | {"version": ""} == {
        "app": "trackio_like",
        "version": "",
        "may_read": False,
        "may_write": False,
        "takes_files": True,
        "max_bytes": 1 << 30,
    }
    assert http.get("/t/meta", headers=bearer(READ)).status_code == 200
    assert http.get("/t/meta", headers=bearer(WRITE)).status_code == 200
    assert http.get("/t/meta", headers=bearer("wrong")).json() == {"error": WRONG_TOKEN}


@pytest.mark.parametrize("name", ["write_token", "token"])
def test_a_token_in_the_address_becomes_a_cookie_and_goes(serve, run, name):
    http = serve(read_token=READ)
    answer = http.get("/", params={"project": "p ü", name: WRITE, "tab": ""})
    assert answer.status_code == 303
    assert answer.headers["location"] == "./?project=p+%C3%BC&tab="
    assert answer.headers["referrer-policy"] == "no-referrer"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    assert "s3cret" not in f"{answer.headers}"
    assert http.get("/t/me").json()["may_write"] is True
    assert http.get("/").text == "page  "


def test_a_read_token_in_the_address_lets_look_and_no_more(serve, run):
    http = serve(read_token=READ)
    assert http.get("/sub", params={"read_token": READ}).headers["location"] == "./sub"
    assert name_of(http, run) == "first"
    assert http.get("/t/me").json()["may_write"] is False
    assert rename(http, run, headers=OWN).status_code == 401


def test_a_wrong_token_in_the_address_is_told(serve):
    http = serve()
    answer = http.get("/", params={"write_token": "wrong"})
    assert (answer.status_code, "set-cookie" in answer.headers, answer.text.strip()) == (401, False, WRONG_TOKEN)
    assert http.get("/t/me", params={"write_token": WRITE}).json()["may_write"] is False


def test_only_a_secure_page_gets_a_secure_cookie(serve):
    answer = serve().get("/", params={"token": WRITE}, headers={"X-Forwarded-Proto": "https"})
    assert "; Secure" in answer.headers["set-cookie"]
    answer = serve(public_url="https://x.example/board/").get("/", params={"token": WRITE})
    assert "; Secure" in answer.headers["set-cookie"]
    assert "Path=/board;" in answer.headers["set-cookie"]


def test_the_token_of_another_start_is_worth_nothing(serve, run):
    old = serve(write_token="old")
    cookie = old.get("/", params={"token": "old"}).headers["set-cookie"].partition(";")[0]
    assert serve().get("/t/me", headers={"Cookie": cookie}).json()["may_write"] is False
    assert serve(write_token="").get("/t/me", headers={"Cookie": cookie, **bearer("")}).json()["may_write"] is False


def test_a_change_needs_the_write_token(serve, run):
    http = serve()
    assert rename(http, run).status_code == 401
    assert rename(http, run, headers=bearer("wrong")).json() == {"error": WRONG_TOKEN}
    assert rename(http, run, headers=bearer(WRITE)).json() == {"changed": [run.run_id]}
    assert name_of(http, run) == "second"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:7860"}, 200),
        ({"Origin": "http://127.0.0.1:7860"}, 200),
        ({"Origin": "https://board.example", "X-Forwarded-Host": "board.example, proxy"}, 200),
        ({}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:7860"}, 401),
        ({"Origin": "http://127.0.0.1:7861"}, 401),
        ({"Origin": "https://evil.example"}, 401),
        ({"Origin": "null"}, 401),
    ],
)
def test_a_cookie_changes_something_from_our_own_page_alone(serve, run, headers, status):
    http = serve()
    http.get("/", params={"token": WRITE})
    assert rename(http, run, headers=headers).status_code == status
    assert name_of(http, run) == ("second" if status == 200 else "first")


def test_another_sites_script_reads_nothing_with_our_cookie(serve, run):
    http = serve(read_token=READ)
    http.get("/", params={"token": READ})
    assert http.get("/t/meta", headers={"Origin": "https://evil.example"}).status_code == 401
    assert http.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status_code == 200


def test_a_foreign_name_for_this_machine_needs_a_token(serve, run):
    http = serve(is_loopback=True)
    evil = {"Host": "evil.example:7860", "Origin": "http://evil.example:7860", "Sec-Fetch-Site": "same-origin"}
    for path in ("/", "/t/meta", "/t/server"):
        assert http.get(path, headers=evil).status_code == 403
    assert rename(http, run, headers=evil).status_code == 403
    assert http.get("/t/meta", headers={**evil, **bearer(WRITE)}).status_code == 200
    public = serve(is_loopback=True, public_url="https://board.example/x")
    assert public.get("/t/meta", headers={"Host": "board.example"}).status_code == 200
    assert public.get("/t/meta", headers={"Host": "evil.example"}).status_code == 403


def test_a_proxys_path_is_put_before_ours(serve, run):
    http = serve()
    assert http.get("/", headers={"X-Forwarded-Prefix": "/board/x/"}).text == "page  /board/x"
    assert http.get("/t/meta", headers={"X-Forwarded-Prefix": "/board"}).status_code == 200
    assert http.get("/", headers={"X-Forwarded-Prefix": '/"><script>'}).text == "page  "
    cookie = http.get("/", params={"token": WRITE}, headers={"X-Forwarded-Prefix": "/board"}).headers["set-cookie"]
    assert "Path=/board;" in cookie
    kept = serve(public_url="https://x.example/board")
    assert kept.get("/t/meta").status_code == kept.get("/board/t/meta").status_code == 200
    assert kept.get("/").text == "page  /board"


def test_runs_are_changed_deleted_restored_and_purged_over_http(serve, run):
    http = serve()
    http.headers.update(bearer(WRITE))

    def change(type_, runs=(run.run_id,), status=200, **payload):
        body = {"project": "p", "runs": None if runs is None else list(runs), "type": type_, "payload": payload}
        answer = http.post("/t/change", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    change("tags", tags=["x"])
    change("group", group="g")
    line = http.get("/t/run", params={"project": "p", "run": run.run_id}).json()
    assert (line["tags"], line["group"]) == (["x"], "g")
    purge = {"project": "p", "runs": [run.run_id]}
    assert "not deleted" in http.post("/t/purge", json=purge).json()["kept"][run.run_id]
    assert change("delete", runs=None) == {"changed": [run.run_id]}
    assert http.get("/t/run", params={"project": "p", "run": run.run_id}).status_code == 404
    (deleted,) = http.get("/t/deleted", params={"project": "p"}).json()["runs"]
    assert (deleted["id"], deleted["num_rows"], deleted["is_running"]) == (run.run_id, 1, False)
    assert change("restore", runs=None) == {"changed": [run.run_id]}
    change("delete")
    assert http.post("/t/purge", json={"project": "p", "runs": None}).json() == {"purged": [run.run_id], "kept": {}}
    assert not run.folder.path.exists()
    change("delete", status=404)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"project": "p", "runs": ["no"], "type": "delete", "payload": {}}, 404),
        ({"project": "no", "runs": None, "type": "delete", "payload": {}}, 404),
        ({"project": "p", "runs": None, "type": "explode", "payload": {}}, 422),
        ({"project": "p", "runs": None, "type": "rename", "payload": {"name": ""}}, 422),
        ({"project": "p", "runs": None, "type": "rename", "payload": []}, 422),
        ({"project": "p", "type": "delete", "payload": {}}, 422),
        ({"project": "p", "runs": ["x"] * 5001, "type": "delete", "payload": {}}, 422),
    ],
)
def test_a_change_that_makes_no_sense_is_told(serve, run, body, status):
    http = serve()
    answer = http.post("/t/change", json=body, headers=bearer(WRITE))
    assert (answer.status_code, bool(answer.json()["error"])) == (status, True)
    assert name_of(http, run) == "first"


def test_a_read_only_view_says_so(run):
    access = Access(write_token=WRITE)
    http = TestClient(
        Gate(Starlette(routes=[Mount("/t", create_api(run.root, access=access, is_read_only=True))]), access)
    )
    http.headers.update(bearer(WRITE))
    me = http.get("/t/me").json()
    assert (me["may_write"], me["sign_in"], "Change it where it lies" in me["why"]) == (False, None, True)
    assert rename(http, run).status_code == 403
    assert http.put("/t/files/p/r/media/0/x.png", content=b"x").status_code == 403
    assert http.get("/t/server").json()["takes_files"] is False


def test_tokens_are_in_no_text_about_them():
    access = Access(write_token=WRITE, read_token=READ)
    assert "s3cret" not in f"{access} {access!r} {access.of_token(WRITE)}"
