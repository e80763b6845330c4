"""People on a Space: signed in with the Hub, they change what they may write, with their own token and no other."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from space_app.api import create_api
from space_app.api.access import Access
from space_app.api.gate import Gate
from space_app.api.login import people_of_space
from tests.hub_server.hub import running_hub
from tests.store.recording import Recorded
from trackio_like import Api
from trackio_like._settings import space_login
from trackio_like.hub.access import HubAccess
from trackio_like.hub.buckets import write_bucket
from trackio_like.hub.datasets import commit_dataset

SPACE = "https://me-board.hf.space"
OWN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def hub():
    with running_hub() as hub:
        for name in ("ada", "bob", "cyd", "eve"):
            hub.add_user(name)
        hub.add_org("lab", members={"ada": "admin", "bob": "write", "cyd": "read"})
        yield hub


@pytest.fixture
def run(tmp_path):
    run = Recorded(tmp_path / "mirror", project="a/Ü")
    writer = run.writer()
    writer.event("init", {"name": "first"})
    run.log(writer, 0, a=1.0)
    writer.event("finish", {"state": "finished"})
    run.drop_journal(writer)
    writer.close()
    return run


class Space:
    """The app on a Space, and one browser at it."""

    def __init__(self, hub, run, kind, host="me-board.hf.space,x.org"):
        self.hub, self.kind, self.id = hub, kind, "lab/rows"
        self.access = HubAccess(endpoint=hub.endpoint, token=hub.token("ada"))
        files = [(path, str(path.relative_to(run.root))) for path in run.root.rglob("*.parquet")]
        if kind == "bucket":
            self.access.api.create_bucket(self.id, private=True)
            write_bucket(self.access, self.id, adds=files, deletes=())
        else:
            self.access.api.create_repo(self.id, repo_type="dataset", private=True)
            commit_dataset(self.access, self.id, adds=files, texts={}, deletes=(), message="rows")
        login = space_login({**hub.add_oauth_app(), "SPACE_ID": "me/board", "SPACE_HOST": host})
        access = Access()
        people = people_of_space(
            login,
            access,
            bucket_id=self.id if kind == "bucket" else None,
            dataset_id=self.id if kind == "dataset" else None,
            endpoint=hub.endpoint,
        )
        api = create_api(run.root, access=access, people=people, is_read_only=True)
        self.app = Gate(Starlette(routes=[Mount("/t", api)]), access)
        self.run = run
        self.http = TestClient(self.app, base_url=SPACE, follow_redirects=False)

    def paths(self):
        if self.kind == "bucket":
            return set(self.hub.bucket_files(self.id))
        found = self.access.api.list_repo_files(self.id, repo_type="dataset")
        return {path for path in found if path.endswith(".parquet")}

    def sign_in(self, user, target="project=p"):
        self.hub.sign_in(user)
        sent = self.http.get("/t/login", params={"target": target})
        assert sent.status_code == 303
        back = httpx2.get(sent.headers["location"])
        return self.http.get(back.headers["location"])

    def me(self):
        return self.http.get("/t/me").json()

    def change(self, type_, *, headers=OWN, **payload):
        body = {"project": self.run.project, "runs": [self.run.run_id], "type": type_, "payload": payload}
        return self.http.post("/t/change", json=body, headers=headers)


@pytest.fixture(params=["bucket", "dataset"])
def space(hub, run, request):
    return Space(hub, run, request.param)


def test_without_a_name_on_the_web_the_login_comes_back_to_where_it_began(hub, run):
    sent = Space(hub, run, "bucket", host="").http.get("/t/login")
    query = parse_qs(urlsplit(sent.headers["location"]).query)
    assert query["redirect_uri"] == [f"{SPACE}/t/login/callback"]


def test_nobody_changes_anything_before_signing_in(space):
    me = space.me()
    assert (me["name"], me["may_write"], me["sign_in"], me["login_url"]) == (None, False, "hub", "t/login")
    assert "lab/rows" in me["why"]
    assert space.change("rename", name="x").status_code == 401
    assert space.change("rename", name="x", headers={**OWN, "Authorization": "Bearer x"}).status_code == 401


@pytest.mark.parametrize(("user", "may_write"), [("ada", True), ("bob", True), ("cyd", False), ("eve", False)])
def test_a_member_who_may_write_changes_runs_and_others_do_not(space, user, may_write):
    before = space.paths()
    assert space.sign_in(user).status_code == 303
    me = space.me()
    assert (me["name"], me["may_write"], me["why"] is None) == (user, may_write, may_write)
    assert space.change("rename", name="second").status_code == (200 if may_write else 403)
    assert len(space.paths() - before) == int(may_write)
    assert Api(space.run.root).run(space.run.project, space.run.run_id).name == ("second" if may_write else "first")


def test_a_change_is_made_with_the_persons_own_token_and_no_stored_one(space, monkeypatch):
    space.sign_in("bob")
    monkeypatch.setenv("HF_TOKEN", space.access.token)
    space.hub.expire(space.access.token)
    assert space.change("tags", tags=["x"]).status_code == 200
    space.http.post("/t/logout", headers=OWN)
    space.hub.revive(space.access.token)
    assert space.change("tags", tags=["y"]).status_code == 401


def test_a_run_is_purged_at_the_hub_and_here(space):
    space.sign_in("ada")
    space.change("delete")
    purge = {"project": space.run.project, "runs": None}
    assert space.http.post("/t/purge", json=purge, headers=OWN).json()["purged"] == [space.run.run_id]
    assert space.paths() == set()
    assert not space.run.folder.path.exists()


def test_a_hub_that_refuses_changes_nothing_here(space):
    space.sign_in("ada")
    space.hub.fail("/(batch|commit|preupload|xet-write-token)", kind="status", status=403, times=None)
    answer = space.change("rename", name="second")
    assert answer.status_code in (403, 502)
    assert answer.json()["changed"] == []
    assert Api(space.run.root).run(space.run.project, space.run.run_id).name == "first"


@pytest.fixture
def bucket(hub, run):
    return Space(hub, run, "bucket")


def test_the_login_comes_back_to_the_page_and_keeps_the_token_to_itself(bucket):
    bucket.hub.sign_in("ada")
    sent = bucket.http.get("/t/login", params={"target": "project=p&tab=runs"})
    query = {name: value for name, (value,) in parse_qs(urlsplit(sent.headers["location"]).query).items()}
    assert query["redirect_uri"] == f"{SPACE}/t/login/callback"
    assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
    back = bucket.sign_in("ada", target="project=p&tab=runs")
    assert back.headers["location"] == "../../?project=p&tab=runs"
    cookies = back.headers.get_list("set-cookie")
    assert all("HttpOnly" in cookie and "Secure; SameSite=None; Partitioned" in cookie for cookie in cookies)
    assert "hf_oauth" not in f"{back.headers} {back.text} {bucket.me()}"


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "\\\\evil", "?x=1\r\nSet-Cookie: a=b"])
def test_a_login_leads_nowhere_else(bucket, target):
    location = bucket.sign_in("ada", target=target).headers["location"]
    assert location.startswith("../../?")
    assert "\r" not in location


def test_a_login_that_another_browser_began_is_refused(bucket):
    bucket.hub.sign_in("eve")
    sent = bucket.http.get("/t/login")
    back = httpx2.get(sent.headers["location"]).headers["location"]
    victim = TestClient(bucket.app, base_url=SPACE, follow_redirects=False)
    assert victim.get(back).status_code == 403
    assert bucket.http.get(back).status_code == 403, "a login is good once"
    for query in ("", "?state=x&code=y", "?state=&code="):
        assert bucket.http.get(f"/t/login/callback{query}").status_code == 403


def test_other_sites_neither_change_nor_learn_anything(bucket):
    bucket.sign_in("ada")
    evil = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert bucket.change("rename", name="x", headers=evil).status_code == 401
    assert bucket.change("rename", name="x", headers={}).status_code == 403
    assert bucket.http.get("/t/me", headers=evil).json()["name"] is None
    assert bucket.http.post("/t/logout", headers=evil).status_code == 403
    assert bucket.me()["name"] == "ada"


def test_signing_out_forgets_the_person(bucket):
    bucket.sign_in("ada")
    cookies = dict(bucket.http.cookies)
    assert bucket.http.post("/t/logout", headers=OWN).status_code == 204
    bucket.http.cookies.update(cookies)
    assert bucket.me()["name"] is None


def test_a_hub_that_is_down_is_told(bucket):
    bucket.hub.down()
    answer = bucket.http.get("/t/login")
    assert answer.status_code == 502
    assert "Cannot sign in" in answer.json()["error"]
    bucket.hub.up()


def test_there_is_no_login_off_a_space():
    assert space_login({}) is None
    assert space_login({"SPACE_ID": "me/x"}) is None
    found = space_login({"SPACE_ID": "me/x", "OAUTH_CLIENT_ID": "i", "OAUTH_CLIENT_SECRET": "s3cret"})
    assert found is not None
    assert "s3cret" not in repr(found)
    with pytest.raises(ValueError, match="bucket or a dataset"):
        people_of_space(found, Access(), bucket_id=None, dataset_id=None, endpoint="http://x")
