"""Buckets, as the real client uses them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from huggingface_hub import HfApi, HfFileSystem
from huggingface_hub._bucket_live_follow import _Changes, _follow_events, _Ready, _Reconnect, _Reset
from huggingface_hub.errors import BadRequestError, BucketBatchError, BucketNotFoundError, HfHubHTTPError
from huggingface_hub.utils._http import get_session

from tests.hub_server.hub import Hub


@pytest.fixture
def api(hub: Hub) -> HfApi:
    """The client of `me`, whose bucket `me/b` is empty."""
    client = hub.api("me")
    client.create_bucket("b")
    return client


def paths(items) -> list[str]:
    return [item.path for item in items]


def events(hub: Hub, user: str, resume=None):
    return _follow_events(hub.endpoint, "me/b", hub.tokens[user], resume, lambda: False)


def test_a_file_is_downloaded_as_it_was_uploaded(hub: Hub, api: HfApi, tmp_path: Path):
    source = tmp_path / "source"
    source.write_bytes(os.urandom(300_000))
    content = {"random": source.read_bytes(), "folder/x": bytes(range(256)) * 4000, "empty": b"", "small": b"hi"}
    added = [(data, path) for path, data in content.items() if path != "random"]
    api.batch_bucket_files("me/b", add=[(source, "random"), *added])
    api.download_bucket_files("me/b", [(path, tmp_path / "down" / path) for path in content])

    assert {path: (tmp_path / "down" / path).read_bytes() for path in content} == content
    assert hub.bucket_files("me/b") == content
    assert not hub.leaks


def test_floats_that_the_client_groups_by_bytes_come_back(api: HfApi, hub: Hub):
    numbers = b"".join((1.0 + place / 1e6).hex().encode()[:3] + place.to_bytes(4, "little") for place in range(60_001))
    api.batch_bucket_files("me/b", add=[(numbers, "numbers")])
    assert hub.bucket_files("me/b") == {"numbers": numbers}


def test_creating_a_bucket_again_is_an_error_unless_that_is_ok(api: HfApi, hub: Hub):
    assert api.create_bucket("me/b", exist_ok=True).url == f"{hub.endpoint}/buckets/me/b"
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_bucket("me/b")


def test_every_change_moves_updated_at(api: HfApi):
    seen = [api.bucket_info("me/b")]
    for operations in ({"add": [(b"one", "a")]}, {"add": [(b"two!", "a")]}, {"delete": ["a"]}):
        api.batch_bucket_files("me/b", **operations)
        seen.append(api.bucket_info("me/b"))
    times = [info.__dict__["updatedAt"] for info in seen]
    assert times == sorted(set(times))
    assert [(info.size, info.total_files) for info in seen] == [(0, 0), (3, 1), (4, 1), (0, 0)]


def test_a_prefix_is_matched_lexically(api: HfApi):
    api.batch_bucket_files("me/b", add=[(b"1", "logs/a"), (b"1", "logs/deep/b"), (b"1", "logs2/c"), (b"1", "d")])
    assert paths(api.list_bucket_tree("me/b")) == ["d", "logs", "logs2"]
    assert paths(api.list_bucket_tree("me/b", prefix="logs")) == ["logs/a", "logs/deep", "logs2"]
    assert paths(api.list_bucket_tree("me/b", prefix="logs/")) == ["logs/a", "logs/deep"]
    assert paths(api.list_bucket_tree("me/b", prefix="logs", recursive=True)) == ["logs/a", "logs/deep/b", "logs2/c"]


def test_a_listing_of_many_files_comes_in_pages(api: HfApi, hub: Hub):
    names = [f"f{number:04}" for number in range(1201)]
    api.batch_bucket_files("me/b", add=[(b"same", name) for name in names])
    hub.clear_requests()
    assert paths(api.list_bucket_tree("me/b", recursive=True)) == names
    assert [record.path for record in hub.requests] == ["/api/buckets/me/b/tree"] * 2


def test_paths_that_do_not_exist_are_left_out_of_paths_info(api: HfApi):
    api.batch_bucket_files("me/b", add=[(b"1", "a/x")])
    assert paths(api.get_bucket_paths_info("me/b", ["a/x", "missing"])) == ["a/x"]


def test_buckets_are_listed_for_those_who_may_see_them(api: HfApi, hub: Hub):
    api.create_bucket("hidden", private=True)
    api.create_bucket("team/shown")
    api.create_bucket("team/hidden", private=True)
    assert [bucket.id for bucket in api.list_buckets()] == ["me/b", "me/hidden"]
    assert [bucket.id for bucket in api.list_buckets(search="hid")] == ["me/hidden"]
    assert [bucket.id for bucket in hub.api("free").list_buckets(namespace="team")] == ["team/shown"]
    assert [bucket.id for bucket in hub.api("other").list_buckets(namespace="team")] == ["team/shown", "team/hidden"]


def test_a_file_is_copied_by_its_hash_and_deleted(api: HfApi, hub: Hub):
    api.batch_bucket_files("me/b", add=[(b"content", "a")])
    (entry,) = api.get_bucket_paths_info("me/b", ["a"])
    api.batch_bucket_files("me/b", copy=[("bucket", "me/b", entry.xet_hash, "copy")], delete=["a"])
    assert hub.bucket_files("me/b") == {"copy": b"content"}


def test_a_folder_is_synchronised_once(api: HfApi, hub: Hub, tmp_path: Path):
    (tmp_path / "up/deep").mkdir(parents=True)
    (tmp_path / "up/deep/a").write_bytes(b"a")
    (tmp_path / "up/b").write_bytes(b"b")
    api.sync_bucket(str(tmp_path / "up"), "hf://buckets/me/b/run", quiet=True)
    hub.clear_requests()
    api.sync_bucket(str(tmp_path / "up"), "hf://buckets/me/b/run", quiet=True)
    assert hub.bucket_files("me/b") == {"run/b": b"b", "run/deep/a": b"a"}
    assert not [record for record in hub.requests if record.path.endswith("/batch")]
    api.sync_bucket("hf://buckets/me/b/run", str(tmp_path / "down"), quiet=True)
    assert (tmp_path / "down/deep/a").read_bytes() == b"a"


def test_the_file_system_lists_reads_ranges_and_writes(api: HfApi, hub: Hub):
    files = HfFileSystem(endpoint=hub.endpoint, token=hub.tokens["me"], skip_instance_cache=True)
    with files.open("buckets/me/b/logs/new.txt", "wb") as out:
        out.write(b"0123456789")
    assert files.glob("buckets/me/b/**/*.txt") == ["buckets/me/b/logs/new.txt"]
    assert files.ls("buckets/me/b/logs", detail=False) == ["buckets/me/b/logs/new.txt"]
    assert files.cat("buckets/me/b/logs/new.txt") == b"0123456789"
    assert files.cat_file("buckets/me/b/logs/new.txt", start=3, end=6) == b"345"
    assert not hub.leaks


def test_a_path_that_is_no_key_fails_alone(api: HfApi, hub: Hub):
    with pytest.raises(BucketBatchError) as caught:
        api.batch_bucket_files("me/b", add=[(b"1", "good"), (b"2", "../bad")])
    assert [failure["path"] for failure in caught.value.failures] == ["../bad"]
    assert hub.bucket_files("me/b") == {"good": b"1"}


def test_a_private_bucket_does_not_exist_for_others(api: HfApi, hub: Hub):
    api.update_bucket_settings("me/b", private=True)
    for stranger, status in ((hub.api("other"), 404), (hub.api(), 401)):
        with pytest.raises(BucketNotFoundError) as caught:
            stranger.bucket_info("me/b")
        assert caught.value.response.status_code == status


def test_only_those_who_may_write_get_a_write_token(api: HfApi, hub: Hub):
    team = hub.api("me")
    team.create_bucket("team/b")
    reader = hub.api(token=hub.token("me", "read"))
    for client, bucket_id in ((hub.api("other"), "me/b"), (hub.api("other"), "team/b"), (reader, "me/b")):
        with pytest.raises(ConnectionError, match="403"):
            client.batch_bucket_files(bucket_id, add=[(b"1", "a")])
    team.batch_bucket_files("team/b", add=[(b"1", "a")])
    assert hub.bucket_files("team/b") == {"a": b"1"}


def test_a_fine_grained_token_is_good_for_what_it_names(api: HfApi, hub: Hub):
    api.create_bucket("secret", private=True)
    reader = hub.api(token=hub.token("me", "fineGrained", permissions={"me/secret": ["repo.content.read"]}))
    assert reader.bucket_info("me/secret").id == "me/secret"
    assert reader.whoami()["auth"]["accessToken"]["role"] == "fineGrained"
    with pytest.raises(ConnectionError, match="403"):
        reader.batch_bucket_files("me/secret", add=[(b"1", "a")])


def test_an_organisation_may_make_private_what_says_nothing(hub: Hub):
    hub.add_org("closed", members={"me": "admin"}, private_by_default=True)
    hub.api("me").create_bucket("closed/b")
    hub.api("me").create_repo("closed/ds", repo_type="dataset")
    assert hub.bucket_is_private("closed/b")
    assert hub.repo_is_private("dataset", "closed/ds")
    with pytest.raises(HfHubHTTPError, match="403"):
        hub.api("other").create_bucket("closed/mine")


def test_an_expired_token_is_refused_until_it_is_good_again(api: HfApi, hub: Hub):
    hub.expire(hub.tokens["me"])
    with pytest.raises(HfHubHTTPError, match="401"):
        api.bucket_info("me/b")
    with pytest.raises(ConnectionError, match="401"):
        api.batch_bucket_files("me/b", add=[(b"1", "a")])
    hub.revive(hub.tokens["me"])
    api.batch_bucket_files("me/b", add=[(b"1", "a")])
    assert hub.bucket_files("me/b") == {"a": b"1"}


def test_a_moved_and_a_deleted_bucket_are_where_they_should_be(api: HfApi, hub: Hub):
    api.batch_bucket_files("me/b", add=[(b"1", "a")])
    api.move_bucket("me/b", "me/c")
    assert api.bucket_info("me/b").id == "me/c"
    api.delete_bucket("me/c")
    assert hub.bucket_ids() == []
    with pytest.raises(BucketNotFoundError):
        api.delete_bucket("me/c")


def test_a_follower_is_told_what_changes_and_what_it_missed(api: HfApi, hub: Hub):
    live = events(hub, "me")
    assert isinstance(next(live), _Ready)
    api.batch_bucket_files("me/b", add=[(b"1", "a"), (b"2", "b")])
    first = next(live)
    assert isinstance(first, _Changes)
    assert [(change.path, change.op, change.size) for change in first.changes] == [("a", "add", 1), ("b", "add", 1)]
    api.batch_bucket_files("me/b", add=[(b"22", "b")], delete=["a"])
    second = next(live)
    assert isinstance(second, _Changes)
    assert sorted((change.path, change.op) for change in second.changes) == [("a", "delete"), ("b", "update")]
    live.close()

    missed = events(hub, "other", ("cursor", first.cursor))
    assert next(missed) == second
    assert isinstance(next(missed), _Ready)
    missed.close()


def test_a_follower_may_resume_from_a_time(api: HfApi, hub: Hub):
    api.batch_bucket_files("me/b", add=[(b"1", "before")])
    updated_at = api.bucket_info("me/b").__dict__["updatedAt"]
    api.batch_bucket_files("me/b", add=[(b"1", "after")])
    stream = events(hub, "me", ("since", updated_at))
    told = next(stream)
    assert isinstance(told, _Changes)
    assert paths(told.changes) == ["after"]
    stream.close()


def test_a_follower_that_was_away_too_long_is_reset(api: HfApi, hub: Hub):
    hub.limits.replay_window_s = 0
    for name in ("a", "b"):
        api.batch_bucket_files("me/b", add=[(b"1", name)])
    assert list(events(hub, "me", ("cursor", "0"))) == [_Reset()]


def test_a_cursor_from_the_future_is_a_bad_request(api: HfApi, hub: Hub):
    with pytest.raises(BadRequestError, match="no point to resume from"):
        list(events(hub, "me", ("cursor", "17")))


def test_the_feed_breaks_as_it_is_told(api: HfApi, hub: Hub):
    hub.fail("/events$", kind="reset")
    hub.fail("/events$", kind="reconnect")
    assert list(events(hub, "me")) == [_Reset()]
    assert list(events(hub, "me")) == [_Reconnect(cursor=None)]

    stream = events(hub, "me")
    assert isinstance(next(stream), _Ready)
    assert hub.num_followers("me/b") == 1
    hub.tell_feed("me/b", "silence")
    api.batch_bucket_files("me/b", add=[(b"1", "withheld")])
    hub.tell_feed("me/b", "reset")
    assert list(stream) == [_Reset()]


def test_a_listing_that_lags_shows_an_older_state_while_contents_are_new(api: HfApi, hub: Hub, tmp_path: Path):
    api.batch_bucket_files("me/b", add=[(b"old", "a")])
    old = api.bucket_info("me/b")
    api.batch_bucket_files("me/b", add=[(b"newer", "a"), (b"1", "b")])
    hub.fail("/api/buckets/me/b(/tree|/paths-info)?$", kind="lag", operations=1, times=3)

    assert [(entry.path, getattr(entry, "size", None)) for entry in api.list_bucket_tree("me/b")] == [("a", 3)]
    assert paths(api.get_bucket_paths_info("me/b", ["b"])) == []
    assert api.bucket_info("me/b") == old
    assert paths(api.list_bucket_tree("me/b")) == ["a", "b"]


def test_a_batch_fails_for_the_paths_that_a_fault_names(api: HfApi, hub: Hub):
    hub.fail("/batch$", kind="partial", paths=r"^bad", error="Internal error")
    with pytest.raises(BucketBatchError) as caught:
        api.batch_bucket_files("me/b", add=[(b"1", "bad1"), (b"1", "good"), (b"1", "bad2")])
    assert [(failure["path"], failure["error"]) for failure in caught.value.failures] == [
        ("bad1", "Internal error"),
        ("bad2", "Internal error"),
    ]
    assert hub.bucket_files("me/b") == {"good": b"1"}


def test_a_batch_of_which_all_fails_answers_422(api: HfApi, hub: Hub):
    hub.fail("/batch$", kind="partial", paths=".")
    answer = get_session().post(
        f"{hub.endpoint}/api/buckets/me/b/batch",
        headers={"Authorization": f"Bearer {hub.tokens['me']}"},
        content=json.dumps({"type": "deleteFile", "path": "a"}),
    )
    assert (answer.status_code, answer.json()["succeeded"]) == (422, 0)
