"""Datasets and other git repositories, as the real client uses them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx2
import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, CommitScheduler, HfApi, HfFileSystem
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile

from tests.hub_server.hub import Hub

DATASET: Any = {"repo_id": "me/ds", "repo_type": "dataset"}


@pytest.fixture
def api(hub: Hub) -> HfApi:
    """The client of `me`, whose dataset `me/ds` is new."""
    client = hub.api("me")
    client.create_repo(**DATASET)
    return client


def commit(api: HfApi, files: dict[str, bytes], **options) -> str:
    """Commits files and gives the commit's hash."""
    added = [CommitOperationAdd(path, content) for path, content in files.items()]
    return api.create_commit(operations=added, commit_message="add", **DATASET, **options).oid


def test_creating_a_repository_again_is_an_error_unless_that_is_ok(api: HfApi, hub: Hub):
    assert api.create_repo(**DATASET, exist_ok=True) == f"{hub.endpoint}/datasets/me/ds"
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo(**DATASET)


def test_small_and_large_files_are_downloaded_as_they_were_committed(api: HfApi, hub: Hub, tmp_path: Path):
    content = {"data/a.parquet": os.urandom(50_000), "notes.txt": b"text", "blob": b"\0binary", "empty.parquet": b""}
    sha = commit(api, content)
    folder = Path(api.snapshot_download(**DATASET, local_dir=tmp_path / "down"))
    assert {path: (folder / path).read_bytes() for path in content} == content
    truth = hub.repo_files("dataset", "me/ds")
    assert {path: truth[path] for path in content} == content
    assert api.dataset_info("me/ds").sha == sha
    assert not hub.leaks


def test_a_commit_without_news_is_not_made(api: HfApi, hub: Hub):
    content = {"a.parquet": b"large by name" * 100, "a.txt": b"small"}
    assert commit(api, content) == commit(api, content)
    assert hub.num_commits("dataset", "me/ds") == 2


def test_a_commit_whose_answer_was_lost_is_there_and_not_made_twice(api: HfApi, hub: Hub):
    hub.fail("/commit/main$", kind="lost")
    with pytest.raises(httpx2.TransportError):
        commit(api, {"a.parquet": b"content"})
    commit(api, {"a.parquet": b"content"})
    assert hub.num_commits("dataset", "me/ds") == 2


def test_a_tree_shows_folders_large_files_and_last_commits(api: HfApi):
    first = commit(api, {"data/x.parquet": b"x" * 100})
    second = commit(api, {"data/deep/y.txt": b"y"})
    entries = {entry.path: entry for entry in api.list_repo_tree(**DATASET, recursive=True, expand=True)}
    assert list(entries) == [".gitattributes", "data", "data/deep", "data/deep/y.txt", "data/x.parquet"]
    commits = {path: entry.last_commit.oid for path, entry in entries.items() if entry.last_commit}
    assert (commits["data/x.parquet"], commits["data"], commits["data/deep/y.txt"]) == (first, second, second)
    large = entries["data/x.parquet"]
    assert isinstance(large, RepoFile)
    assert large.lfs is not None
    assert large.lfs.size == large.size == 100
    assert large.xet_hash is not None
    assert [entry.path for entry in api.list_repo_tree(**DATASET, path_in_repo="data")] == [
        "data/deep",
        "data/x.parquet",
    ]


def test_paths_info_leaves_out_what_does_not_exist(api: HfApi):
    commit(api, {"data/x.txt": b"x"})
    found = api.get_paths_info(paths=["data", "data/x.txt", "missing"], expand=True, **DATASET)
    assert [entry.path for entry in found] == ["data", "data/x.txt"]


def test_files_and_folders_are_deleted(api: HfApi, hub: Hub):
    commit(api, {"a.txt": b"a", "data/b.parquet": b"b", "data/c.txt": b"c"})
    deleted = [CommitOperationDelete("a.txt"), CommitOperationDelete("data/")]
    api.create_commit(operations=deleted, commit_message="delete", **DATASET)
    assert list(hub.repo_files("dataset", "me/ds")) == [".gitattributes"]


def test_a_commit_on_an_old_parent_is_refused(api: HfApi):
    parent = api.dataset_info("me/ds").sha
    commit(api, {"a.txt": b"a"}, parent_commit=parent)
    with pytest.raises(HfHubHTTPError, match="412"):
        commit(api, {"b.txt": b"b"}, parent_commit=parent)


def test_an_old_revision_is_still_read(api: HfApi, hub: Hub):
    old = commit(api, {"a.txt": b"old"})
    commit(api, {"a.txt": b"new"})
    api.create_branch(branch="release/1", revision=old, **DATASET)
    api.create_tag(tag="v1", revision=old, **DATASET)
    for revision in (old, "release/1", "v1"):
        assert Path(api.hf_hub_download(filename="a.txt", revision=revision, **DATASET)).read_bytes() == b"old"
    refs = api.list_repo_refs(**DATASET)
    assert [ref.name for ref in (*refs.branches, *refs.tags)] == ["main", "release/1", "v1"]
    assert [entry.path for entry in api.list_repo_tree(**DATASET, revision="release/1")] == [".gitattributes", "a.txt"]


def test_what_does_not_exist_is_the_right_error(api: HfApi):
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download(filename="missing", **DATASET)
    with pytest.raises(RevisionNotFoundError):
        api.hf_hub_download(filename=".gitattributes", revision="missing", **DATASET)
    with pytest.raises(RepositoryNotFoundError):
        api.dataset_info("me/missing")


def test_a_squashed_history_is_one_commit_with_the_same_files(api: HfApi, hub: Hub):
    for number in range(3):
        commit(api, {f"{number}.txt": b"x"})
    before = hub.repo_files("dataset", "me/ds")
    api.super_squash_history(**DATASET)
    assert len(api.list_repo_commits(**DATASET)) == 1
    assert hub.repo_files("dataset", "me/ds") == before


def test_a_folder_is_uploaded_once(api: HfApi, hub: Hub, tmp_path: Path):
    (tmp_path / "up/data").mkdir(parents=True)
    (tmp_path / "up/data/a.parquet").write_bytes(b"a" * 1000)
    (tmp_path / "up/b.txt").write_bytes(b"b")
    for _ in range(2):
        api.upload_folder(folder_path=tmp_path / "up", **DATASET)
    assert hub.num_commits("dataset", "me/ds") == 2
    assert hub.repo_files("dataset", "me/ds")["data/a.parquet"] == b"a" * 1000


@pytest.mark.filterwarnings("ignore")
def test_files_without_xet_go_by_plain_lfs(api: HfApi, hub: Hub, tmp_path: Path):
    (tmp_path / "a.parquet").write_bytes(b"by lfs" * 100)
    scheduler = CommitScheduler(folder_path=tmp_path, every=60, hf_api=api, **DATASET)
    try:
        scheduler.trigger().result()
    finally:
        scheduler.stop()
    assert hub.repo_files("dataset", "me/ds")["a.parquet"] == b"by lfs" * 100
    assert Path(api.hf_hub_download(filename="a.parquet", **DATASET)).read_bytes() == b"by lfs" * 100
    methods = [record.method for record in hub.requests if record.path.startswith("/lfs/")]
    assert methods[:2] == ["PUT", "POST"]


def test_the_file_system_reads_a_dataset(api: HfApi, hub: Hub):
    commit(api, {"data/x.parquet": bytes(range(200))})
    files = HfFileSystem(endpoint=hub.endpoint, token=hub.tokens["me"], skip_instance_cache=True)
    assert files.glob("datasets/me/ds/data/*.parquet") == ["datasets/me/ds/data/x.parquet"]
    assert files.cat_file("datasets/me/ds/data/x.parquet", start=10, end=13) == bytes([10, 11, 12])


def test_a_private_dataset_does_not_exist_for_others(api: HfApi, hub: Hub):
    api.update_repo_settings(**DATASET, private=True)
    for stranger, status in ((hub.api("other"), 404), (hub.api(), 401)):
        with pytest.raises(RepositoryNotFoundError) as caught:
            stranger.dataset_info("me/ds")
        assert caught.value.response.status_code == status
    assert hub.repo_is_private("dataset", "me/ds")


def test_others_may_not_commit(api: HfApi, hub: Hub):
    for client in (hub.api("other"), hub.api(token=hub.token("me", "read"))):
        with pytest.raises(HfHubHTTPError, match="403"):
            client.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", **DATASET)


def test_the_commit_limit_of_a_repository_has_its_own_message(api: HfApi, hub: Hub):
    hub.limits.commits_per_hour = 2
    commit(api, {"a.txt": b"1"})
    commit(api, {"a.txt": b"2"})
    with pytest.raises(HfHubHTTPError, match="rate limit for repository commits"):
        commit(api, {"a.txt": b"3"})
    api.create_repo("me/another", repo_type="dataset")
    api.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id="me/another", repo_type="dataset")


def test_a_token_in_a_small_file_is_refused(api: HfApi, hub: Hub):
    with pytest.raises(BadRequestError, match=r"config\.txt contains a Hugging Face token"):
        commit(api, {"config.txt": b"token: hf_" + b"x" * 34})
    assert hub.num_commits("dataset", "me/ds") == 1


def test_a_listing_that_lags_shows_older_commits(api: HfApi, hub: Hub):
    old = commit(api, {"a.txt": b"a"})
    commit(api, {"b.txt": b"b"})
    hub.fail("/api/datasets/me/ds", kind="lag", operations=1, times=2)
    assert api.dataset_info("me/ds").sha == old
    assert [entry.path for entry in api.list_repo_tree(**DATASET)] == [".gitattributes", "a.txt"]
    assert len(list(api.list_repo_tree(**DATASET))) == 3


def test_a_moved_repository_answers_to_both_names_and_a_deleted_one_to_none(api: HfApi, hub: Hub):
    commit(api, {"a.txt": b"a"})
    api.move_repo("me/ds", "team/ds", repo_type="dataset")
    assert api.dataset_info("me/ds").id == api.dataset_info("team/ds").id == "team/ds"
    assert hub.repo_ids("dataset") == ["team/ds"]
    api.delete_repo("team/ds", repo_type="dataset")
    assert not api.repo_exists("team/ds", repo_type="dataset")


def test_what_a_card_says_is_in_the_information(api: HfApi):
    commit(api, {"README.md": b"---\ntags: [tracking]\nlicense: mit\n---\n# Title\n"})
    info = api.dataset_info("me/ds")
    assert info.tags == ["tracking"]
    assert info.card_data is not None
    assert info.card_data["license"] == "mit"
    assert [item.id for item in api.list_datasets(author="me")] == ["me/ds"]
