"""The daemon's wait for a Space: outages end, people are told once, and rows never wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.hub_server import Hub
from trackio_like.daemon.deploy import Deployment
from trackio_like.daemon.space_keeper import keep_space
from trackio_like.format.targets import Target

Keep = Callable[..., Deployment | None]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def keep(hub: Hub, told: list[str]) -> Keep:
    target = Target(kind="bucket", id="me/rows", space_id="me/board", endpoint=hub.endpoint)

    def run(*tokens: str, read_token: str | None = None, stop: threading.Event | None = None) -> Deployment | None:
        return keep_space(
            target,
            tokens=lambda: tokens,
            read_token=read_token,
            stop=stop or threading.Event(),
            tell=told.append,
            first_wait_s=0.001,
        )

    return run


def test_an_outage_is_waited_out_in_silence(hub: Hub, keep: Keep, told: list[str]) -> None:
    fault = hub.fail("/api/spaces/", kind="status", status=503, times=4)
    done = keep(hub.tokens["me"])
    assert done is not None
    assert done.did == "made"
    assert fault.hits == 4
    assert told == []


def test_the_next_login_is_tried_where_one_is_refused(hub: Hub, keep: Keep, told: list[str]) -> None:
    done = keep(hub.token("me", role="read"), hub.tokens["me"])
    assert done is not None
    assert told == []


def test_a_refused_login_is_told_once_and_tried_again_until_it_works(hub: Hub, keep: Keep) -> None:
    token = hub.token("me")
    hub.expire(token)
    target = Target(kind="bucket", id="me/rows", space_id="me/board", endpoint=hub.endpoint)
    told: list[str] = []
    asked: list[int] = []

    def tokens() -> list[str]:
        asked.append(1)
        if len(asked) == 3:
            hub.revive(token)
        return [token]

    done = keep_space(
        target, tokens=tokens, read_token=None, stop=threading.Event(), tell=told.append, first_wait_s=0.001
    )
    assert done is not None
    assert len(asked) == 3
    refusal, cleared = told
    assert "401" in refusal
    assert token not in refusal
    assert cleared == "", "what was told is so no more"


def test_nobody_logged_in_is_said_and_waited_for_until_it_is_stopped(keep: Keep, told: list[str]) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=lambda: keep(stop=stop), name="trackio-like-test")
    thread.start()
    while not told and thread.is_alive():
        thread.join(0.01)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert len(told) == 1
    assert "hf auth login" in told[0]


def test_a_space_of_somebody_else_ends_it_and_is_told(hub: Hub, keep: Keep, told: list[str]) -> None:
    api = hub.api("me")
    api.create_repo("me/board", repo_type="space", space_sdk="gradio")
    api.upload_file(path_or_fileobj=b"print()", path_in_repo="app.py", repo_id="me/board", repo_type="space")
    assert keep(hub.tokens["me"]) is None
    assert len(told) == 1
    assert "left alone" in told[0]


def test_a_plan_without_spaces_ends_it_and_is_told_with_the_choices(hub: Hub, told: list[str]) -> None:
    target = Target(kind="bucket", id="free/rows", space_id="free/board", endpoint=hub.endpoint)
    token = hub.tokens["free"]
    stop = threading.Event()
    assert keep_space(target, tokens=lambda: [token], read_token=None, stop=stop, tell=told.append) is None
    assert len(told) == 1
    assert "402" in told[0]


def test_what_the_user_should_know_of_a_new_space_is_told(hub: Hub, keep: Keep, told: list[str]) -> None:
    keep(hub.tokens["me"], read_token=hub.token("me", role="read"))
    assert len(told) == 1
    assert "a fine-grained one is safer" in told[0]
