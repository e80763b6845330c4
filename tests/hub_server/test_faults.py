"""What goes wrong on demand, the limits, the log, and a Hub that is down or started again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils._http import get_session

from tests.hub_server.hub import Hub, running_hub


@pytest.fixture
def api(hub: Hub) -> HfApi:
    """The client of `me`, whose bucket `me/b` is empty."""
    client = hub.api("me")
    client.create_bucket("b")
    hub.clear_requests()
    return client


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client tries again at once; how long it waits is not what these tests are about."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)


def batches(hub: Hub) -> list[tuple[int | None, str | None]]:
    return [(record.status, record.fault) for record in hub.requests if record.path.endswith("/batch")]


def exported(process: subprocess.Popen[str]) -> dict[str, str]:
    """The environment that a server's process prints, up to its last line."""
    assert process.stdout is not None
    told = {}
    while "HF_TOKEN" not in told:
        name, _, value = process.stdout.readline().rstrip("\n").removeprefix("export ").partition("=")
        told[name] = value
    return told


def test_a_status_is_answered_and_nothing_is_done(api: HfApi, hub: Hub):
    hub.fail("/api/buckets/me/b$", kind="status", status=418, headers={"X-Why": "tea"}, body={"error": "I am a teapot"})
    with pytest.raises(HfHubHTTPError, match="teapot") as caught:
        api.delete_bucket("me/b")
    assert caught.value.response.headers["X-Why"] == "tea"
    assert hub.bucket_ids() == ["me/b"]


def test_a_rule_lets_requests_pass_first_and_ends(api: HfApi, hub: Hub):
    rule = hub.fail("/api/whoami-v2", kind="status", status=503, skip=1, times=2)
    seen = []
    for _ in range(5):
        try:
            seen.append(api.whoami()["name"])
        except HfHubHTTPError as error:
            seen.append(error.response.status_code)
    assert seen == ["me", 503, 503, "me", "me"]
    assert rule.hits == 2


def test_a_rule_may_be_for_one_method_only(api: HfApi, hub: Hub):
    hub.fail("/api/buckets/me/b$", kind="status", method="DELETE", status=500)
    assert api.bucket_info("me/b").id == "me/b"
    with pytest.raises(HfHubHTTPError, match="500"):
        api.delete_bucket("me/b")


def test_a_kind_that_is_unknown_is_refused_with_the_known_ones(hub: Hub):
    with pytest.raises(ValueError, match="choose one of status, drop, lost"):
        hub.fail(".", kind="explode")


def test_a_dropped_request_does_nothing(api: HfApi, hub: Hub):
    hub.fail("/api/buckets/me/c$", kind="drop")
    with pytest.raises(httpx2.TransportError):
        api.create_bucket("c")
    assert hub.bucket_ids() == ["me/b"]


def test_a_lost_answer_leaves_what_was_done(api: HfApi, hub: Hub):
    hub.fail("/api/buckets/me/c$", kind="lost")
    with pytest.raises(httpx2.TransportError):
        api.create_bucket("c")
    assert hub.bucket_ids() == ["me/b", "me/c"]


@pytest.mark.usefixtures("no_pause")
def test_the_client_sends_a_batch_again_whose_answer_was_lost(api: HfApi, hub: Hub):
    hub.fail("/batch$", kind="lost")
    api.batch_bucket_files("me/b", add=[(b"1", "a")])
    assert batches(hub) == [(None, "lost"), (200, None)]
    assert hub.bucket_files("me/b") == {"a": b"1"}


def test_a_truncated_answer_is_half_of_it(api: HfApi, hub: Hub):
    api.batch_bucket_files("me/b", add=[(b"0123456789" * 10, "a")])
    hub.fail("^/files/", kind="truncate")
    with get_session().stream("GET", f"{hub.endpoint}/buckets/me/b/resolve/a") as answer:
        parts = answer.iter_raw()
        assert next(parts) == b"0123456789" * 5
        with pytest.raises(httpx2.RemoteProtocolError):
            next(parts)


def test_a_delay_is_added_to_what_happens_next(api: HfApi, hub: Hub):
    delay = hub.fail("whoami", kind="delay", delay_s=0.05, times=None)
    hub.fail("whoami", kind="status", status=500)
    start = time.monotonic()
    with pytest.raises(HfHubHTTPError, match="500"):
        api.whoami()
    assert time.monotonic() - start >= 0.05
    assert api.whoami()["name"] == "me"
    assert delay.hits == 2


def test_a_request_hangs_until_the_client_leaves_or_faults_are_cleared(hub: Hub):
    hub.fail("whoami", kind="hang", times=2)
    with pytest.raises(httpx2.ReadTimeout):
        get_session().get(f"{hub.endpoint}/api/whoami-v2", timeout=0.1)
    errors = []

    def ask() -> None:
        try:
            httpx2.get(f"{hub.endpoint}/api/whoami-v2", timeout=30)
        except httpx2.TransportError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while len(hub.requests) < 2:
        asking.join(0.01)
    hub.clear_faults()
    asking.join(10)
    assert len(errors) == 1


def test_an_upload_survives_a_store_that_stumbles(api: HfApi, hub: Hub):
    calls = ("/cas/v1/xorbs", "/cas/v1/shards")
    stumbles = [hub.fail(path, kind=kind) for path in calls for kind in ("status", "lost")]
    content = os.urandom(1000)  # what the store knows already is not sent
    api.batch_bucket_files("me/b", add=[(content, "a")])
    assert [rule.hits for rule in stumbles] == [1, 1, 1, 1]
    assert hub.bucket_files("me/b") == {"a": content}


def test_a_download_survives_a_cdn_that_stumbles(api: HfApi, hub: Hub, tmp_path: Path):
    api.batch_bucket_files("me/b", add=[(b"content", "a")])
    stumbles = [hub.fail("^/xorbs/", kind=kind) for kind in ("status", "truncate")]
    api.download_bucket_files("me/b", [("a", tmp_path / "a")])
    assert (tmp_path / "a").read_bytes() == b"content"
    assert [rule.hits for rule in stumbles] == [1, 1]


def test_xorbs_may_go_to_granted_addresses(api: HfApi, hub: Hub):
    hub.limits.xorb_grants = True
    content = os.urandom(1000)
    api.batch_bucket_files("me/b", add=[(content, "a")])
    assert hub.bucket_files("me/b") == {"a": content}
    assert [record.method for record in hub.requests if record.path.startswith("/upload/")] == ["PUT"]
    assert not hub.leaks


def test_the_older_reconstruction_is_enough_for_the_client(api: HfApi, hub: Hub, tmp_path: Path):
    api.batch_bucket_files("me/b", add=[(b"old way", "a")])
    rule = hub.fail("/cas/v2/reconstructions", kind="status", status=404)
    api.download_bucket_files("me/b", [("a", tmp_path / "a")])
    assert (tmp_path / "a").read_bytes() == b"old way"
    assert rule.hits == 1


def test_a_token_that_reaches_the_cdn_is_refused_and_seen(api: HfApi, hub: Hub):
    api.batch_bucket_files("me/b", add=[(b"1", "a")])
    headers = {"Authorization": f"Bearer {hub.tokens['me']}"}
    url = f"{hub.endpoint}/buckets/me/b/resolve/a"
    location = httpx2.get(url, headers=headers).headers["Location"]
    assert location.startswith(hub.cdn_endpoint)
    assert httpx2.get(location, headers=headers).status_code == 400
    assert [record.path for record in hub.leaks] == [location.removeprefix(hub.cdn_endpoint).split("?")[0]]
    assert httpx2.get(location).content == b"1"
    assert httpx2.get(location.split("?")[0] + "?Signature=9999999999.forged").status_code == 403


def test_requests_are_counted_in_windows_with_the_real_headers(api: HfApi, hub: Hub):
    hub.limits.set_quota("api", 3)
    hub.limits.window_s = 3600
    hub.limits.clock = lambda: 0.0
    token = hub.tokens["free"]
    asked = [
        httpx2.get(f"{hub.endpoint}/api/whoami-v2", headers={"Authorization": f"Bearer {token}"}) for _ in range(4)
    ]
    assert [answer.status_code for answer in asked] == [200, 200, 200, 429]
    assert [answer.headers["RateLimit"].split(";")[:2] for answer in asked] == [
        ['"api"', f"r={left}"] for left in (2, 1, 0, 0)
    ]
    assert asked[0].headers["RateLimit-Policy"] == '"fixed window";"api";q=3;w=3600'
    with pytest.raises(HfHubHTTPError, match="you have reached your 'api' rate limit"):
        hub.api("free").bucket_info("me/b")
    assert api.whoami()["name"] == "me"


def test_reading_files_is_counted_apart_from_the_api_and_the_store_not_at_all(api: HfApi, hub: Hub):
    hub.limits.set_quota("resolvers", 0)
    api.batch_bucket_files("me/b", add=[(b"1", "a")])
    answer = httpx2.get(f"{hub.endpoint}/buckets/me/b/resolve/a")
    assert answer.status_code == 429
    assert answer.headers["RateLimit"].startswith('"resolvers";r=0')
    groups = [record.group for record in hub.requests]
    assert [groups.count(group) for group in ("api", "resolvers")] == [2, 1]
    assert "cas" in groups


def test_the_log_says_who_asked_for_what(api: HfApi, hub: Hub):
    hub.api().bucket_info("me/b")
    api.bucket_info("me/b")
    assert [(r.method, r.path, r.group, r.account, r.status) for r in hub.requests] == [
        ("GET", "/api/buckets/me/b", "api", "anonymous", 200),
        ("GET", "/api/buckets/me/b", "api", "me", 200),
    ]


def test_a_hub_that_was_down_knows_what_it_knew(api: HfApi, hub: Hub):
    api.batch_bucket_files("me/b", add=[(b"1", "a")])
    hub.down()
    with pytest.raises(httpx2.ConnectError):
        api.bucket_info("me/b")
    hub.up()
    assert api.bucket_info("me/b").total_files == 1
    assert hub.bucket_files("me/b") == {"a": b"1"}


def test_a_hub_with_a_folder_survives_a_restart(hub: Hub, tmp_path: Path):
    with running_hub(tmp_path / "data") as first:
        first.add_user("me", is_pro=True)
        token = first.tokens["me"]
        client = first.api("me")
        client.create_bucket("b")
        client.batch_bucket_files("me/b", add=[(b"kept", "a")])
        client.create_repo("me/s", repo_type="space", space_sdk="gradio", space_variables=[{"key": "A", "value": "1"}])
        client.upload_file(path_or_fileobj=b"print()", path_in_repo="app.py", repo_id="me/s", repo_type="space")
    with running_hub(tmp_path / "data") as second:
        assert second.tokens == {"me": token}
        assert second.bucket_files("me/b") == {"a": b"kept"}
        assert second.repo_files("space", "me/s")["app.py"] == b"print()"
        assert second.space("me/s").variables == {"A": "1"}
        assert second.api("me").bucket_info("me/b").total_files == 1


def test_a_hub_runs_as_a_process_and_is_steered_over_http(hub: Hub, tmp_path: Path):
    command = [sys.executable, "-m", "tests.hub_server", "--port", "0", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = exported(process)
            client = HfApi(endpoint=told["HF_ENDPOINT"], token=told["HF_TOKEN"])
            client.create_bucket("b")
            client.batch_bucket_files("me/b", add=[(b"1", "a")])

            def call(name: str, *args, **kwargs):
                asked = {"call": name, "args": args, "kwargs": kwargs}
                return httpx2.post(f"{told['HF_ENDPOINT']}/__ctl", json=asked).json()["result"]

            assert call("bucket_files", "me/b") == {"a": "MQ=="}
            call("fail", "whoami", kind="status", status=503)
            with pytest.raises(HfHubHTTPError, match="503"):
                client.whoami()
            assert call("requests")[-1]["fault"] == "status"
        finally:
            process.terminate()
    assert process.returncode == 0
