"""A frozen dashboard as a static Space, on a Hub on this machine."""

from __future__ import annotations

import json

import pytest

import trackio_like as trackio
from trackio_like._freeze import freeze
from trackio_like.errors import RemoteConflictError, RemoteRefusedError


@pytest.fixture(autouse=True)
def one_run(hub):
    with trackio.init(project="p", name="first") as run:
        for step in range(20):
            run.log({"loss": 1 / (step + 1)}, step=step)


def files_of(hub, space_id):
    return set(hub.api("me").list_repo_files(space_id, repo_type="space"))


def test_a_space_is_made_private_and_filled_in_one_commit(hub):
    assert freeze("p", space_id="me/frozen") == f"{hub.endpoint}/spaces/me/frozen"
    info = hub.api("me").space_info("me/frozen")
    assert (info.sdk, info.private) == ("static", True)
    paths = files_of(hub, "me/frozen")
    assert {"index.html", "README.md", "trackio_like.json"} <= paths
    assert any(path.endswith("/metrics-0001.parquet") for path in paths)
    assert len(hub.api("me").list_repo_commits("me/frozen", repo_type="space")) == 2


def test_freezing_again_replaces_what_was_there(hub):
    freeze("p", space_id="me/frozen", private=False)
    before = files_of(hub, "me/frozen")
    freeze("p", space_id="me/frozen")
    after = files_of(hub, "me/frozen")
    assert not hub.api("me").space_info("me/frozen").private
    data = {path for path in before if path.startswith("data/")}
    assert data.isdisjoint(after)
    assert len(after) == len(before)


def test_a_space_of_somebody_else_or_a_live_one_is_never_written_to(hub):
    api = hub.api("me")
    for name, mark in {"other": None, "live": {"app": "trackio_like", "version": "1"}}.items():
        api.create_repo(f"me/{name}", repo_type="space", space_sdk="static")
        content = b"mine" if mark is None else json.dumps(mark).encode()
        path = "index.html" if mark is None else "trackio_like.json"
        api.upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=f"me/{name}", repo_type="space")
        before = api.space_info(f"me/{name}").sha
        with pytest.raises(RemoteConflictError, match="stays as it is"):
            freeze("p", space_id=f"me/{name}")
        assert api.space_info(f"me/{name}").sha == before


def test_without_a_login_it_says_so_before_anything_is_built(hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(RemoteRefusedError, match="log in"):
        freeze("p", space_id="me/frozen")


def test_a_bucket_is_frozen_like_a_folder(hub, tmp_path):
    with trackio.init(project="far away", name="n") as run:
        run.log({"loss": 0.5})
    trackio.sync(bucket_id="me/rows")
    freeze(bucket_id="me/rows", folder=tmp_path / "site")
    [projects] = (tmp_path / "site" / "data").glob("*/projects.json")
    assert "far away" in projects.read_text()
