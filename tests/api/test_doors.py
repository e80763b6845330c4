"""What the environment says about who may come in."""

from __future__ import annotations

import pytest

from space_app.api.login import HubPeople
from space_app.doors import doors_of
from trackio_like._settings import Settings, space_login

SPACE = {"SPACE_ID": "me/board", "OAUTH_CLIENT_ID": "i", "OAUTH_CLIENT_SECRET": "s", "TRACKIO_DIR": "/a"}


def doors(host="127.0.0.1", **env):
    env = {"TRACKIO_DIR": "/a", **env}
    return doors_of(Settings.from_env(env), space_login(env), host=host, port=7861)


def test_a_server_asks_for_the_tokens_that_are_set():
    found = doors(TRACKIO_WRITE_TOKEN="w", TRACKIO_READ_TOKEN="r", TRACKIO_MAX_UPLOAD_MB="2")
    assert found.people is None
    assert found.access.of_token("w").may_write
    assert found.access.of_token("r").may_read
    assert not found.access.is_read_open
    assert (found.max_bytes, found.access.cookie_name) == (2 << 20, "trackio_like_7861")


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False)]
)
def test_foreign_names_are_refused_where_only_this_machine_is_served(host, expected):
    assert doors(host).access.is_loopback is expected


def test_on_a_space_people_sign_in_and_no_token_opens_anything():
    found = doors("0.0.0.0", **SPACE, TRACKIO_BUCKET_ID="lab/rows", TRACKIO_WRITE_TOKEN="w")
    assert isinstance(found.people, HubPeople)
    assert not found.access.of_token("w").may_write
    assert found.access.is_read_open
    assert doors("0.0.0.0", **SPACE).people is None
