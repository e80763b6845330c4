"""What we assume of the real Hub; only with TRACKIO_LIVE_HUB=1 and HF_TOKEN, a token that may make buckets."""

from __future__ import annotations

import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from huggingface_hub import get_session

from tests.flow.conftest import until
from trackio_like.errors import RemoteMissingError, RemotePaymentError, RemoteRefusedError
from trackio_like.hub.access import ANONYMOUS, HubAccess
from trackio_like.hub.buckets import make_bucket, write_bucket
from trackio_like.hub.calls import hub_calls, parse_rate_limit
from trackio_like.hub.datasets import commit_dataset, dataset_sha, make_dataset
from trackio_like.hub.feed import ResumePoint, follow_bucket
from trackio_like.hub.fetch import bucket_file, fetch_file
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import bucket_version, get_json, list_bucket

TOKEN = os.environ.get("HF_TOKEN", "") if os.environ.get("TRACKIO_LIVE_HUB") == "1" else ""
ENDPOINT = os.environ.get("HF_ENDPOINT")
pytestmark = [
    pytest.mark.skipif(not TOKEN, reason="asks the real Hub: set TRACKIO_LIVE_HUB=1 and HF_TOKEN"),
    pytest.mark.timeout(300),
]


@pytest.fixture
def access():
    return HubAccess.from_login(ENDPOINT, token=TOKEN)


@pytest.fixture
def bucket(access):
    """A private bucket, which goes with the test."""
    name = f"{access.owner()}/trackio-like-live-{secrets.token_hex(4)}"
    assert make_bucket(access, name, is_private=True).is_private
    yield name
    access.api.delete_bucket(name)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(secrets.token_bytes(1000))
    return path


def test_a_batch_is_listed_and_fetched_at_once_and_moves_the_version(access, bucket, file, tmp_path):
    before = bucket_version(access, bucket)
    write_bucket(access, bucket, adds=[(file, "p/r/a"), (file, "p/r/b")], deletes=[])
    listed = {found.path: found for found in list_bucket(access, bucket)}
    assert set(listed) == {"p/r/a", "p/r/b"}
    assert all(found.content_hash and found.uploaded and found.num_bytes == 1000 for found in listed.values())
    assert bucket_version(access, bucket) != before
    fetch_file(access, bucket_file(bucket, "p/r/a"), tmp_path / "copy", num_bytes=1000, hangup=Hangup())
    assert (tmp_path / "copy").read_bytes() == file.read_bytes()


@contextmanager
def follower(access, bucket):
    """What one reader of the feed is told, with the time at which it came; begins once it is live."""
    hangup, seen = Hangup(), []

    def follow():
        for event in follow_bucket(access, bucket, resume=ResumePoint(), hangup=hangup):
            seen.append((event, time.monotonic()))
            if event.kind == "changes":
                return

    thread = threading.Thread(target=follow, name="live-feed", daemon=True)
    thread.start()
    until(lambda: seen, timeout_s=60)
    try:
        yield seen, thread
    finally:
        hangup.now()
        thread.join(60)


def test_the_feed_tells_of_a_batch_within_seconds_with_sizes_and_hashes(access, bucket, file):
    with follower(access, bucket) as (seen, thread):
        write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[])
        written = time.monotonic()
        until(lambda: not thread.is_alive(), timeout_s=60)
    event, came = seen[-1]
    [change] = event.changes
    assert (change.path, change.num_bytes, change.is_deleted) == ("p/r/a", 1000, False)
    assert change.content_hash
    # The bar from log() to its reader is 6 s, of which sending takes about 3.
    assert came - written < 3


def test_several_readers_may_follow_one_bucket_at_once(access, bucket, file):
    with follower(access, bucket) as first, follower(access, bucket) as second, follower(access, bucket) as third:
        write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[])
        for _, thread in (first, second, third):
            until(lambda thread=thread: not thread.is_alive(), timeout_s=60)
    assert [seen[-1][0].kind for seen, _ in (first, second, third)] == ["changes"] * 3


def test_the_answers_have_the_fields_that_are_read(access, bucket, file):
    write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[])
    assert {"id", "private", "updatedAt"} <= get_json(access, f"/api/buckets/{bucket}").keys()
    [entry] = get_json(access, f"/api/buckets/{bucket}/tree?recursive=true")
    assert {"type", "path", "size", "xetHash"} <= entry.keys()
    assert entry.keys() & {"uploadedAt", "mtime"}


def test_two_batches_in_one_second_are_two_versions(access, bucket, file):
    versions = [bucket_version(access, bucket)]
    for path in ("p/r/a", "p/r/b", "p/r/c"):
        write_bucket(access, bucket, adds=[(file, path)], deletes=[])
        versions.append(bucket_version(access, bucket))
    assert len(set(versions)) == len(versions)


def test_a_batch_costs_two_calls_and_neither_the_cas_nor_an_open_feed_costs_any(access, bucket, file):
    """Nobody else may use the account meanwhile."""

    def num_left():
        with hub_calls("look at what is left"):
            answer = get_session().get(f"{access.endpoint}/api/buckets/{bucket}", headers=access.headers, timeout=20)
            answer.raise_for_status()
        return parse_rate_limit(answer.headers["RateLimit"])[1]

    with follower(access, bucket):
        for path in ("p/r/a", "p/r/b"):
            before = num_left()
            answer = write_bucket(access, bucket, adds=[(file, path)], deletes=[])
            after = num_left()
            if after < before:
                break  # else the Hub's window of five minutes ended in between
    assert answer.traffic.num_api_calls == 2
    assert before - after == 3  # the batch, and the second look


def test_batches_of_many_writers_at_once_all_arrive(access, bucket, file):
    def write(number):
        return write_bucket(access, bucket, adds=[(file, f"p/r/{number}")], deletes=[])

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(write, range(4)))
    assert not any(answer.failed for answer in answers)
    assert {found.path for found in list_bucket(access, bucket)} == {f"p/r/{number}" for number in range(4)}


def test_a_private_bucket_does_not_exist_for_strangers(access, bucket, file, tmp_path):
    write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[])
    stranger = access.with_token(ANONYMOUS)
    with pytest.raises((RemoteMissingError, RemoteRefusedError)):
        list_bucket(stranger, bucket)
    with pytest.raises((RemoteMissingError, RemoteRefusedError)):
        fetch_file(stranger, bucket_file(bucket, "p/r/a"), tmp_path / "copy", num_bytes=1000, hangup=Hangup())


def test_a_bucket_that_is_not_there_is_missing_and_not_refused(access):
    with pytest.raises(RemoteMissingError):
        list_bucket(access, f"{access.owner()}/trackio-like-none-{secrets.token_hex(8)}")


def test_the_same_commit_twice_is_one_commit(access, file):
    name = f"{access.owner()}/trackio-like-live-{secrets.token_hex(4)}"
    assert make_dataset(access, name, is_private=True).is_private
    try:
        shas = []
        for _ in range(2):
            commit_dataset(
                access, name, adds=[(file, "p/r/metrics/a.parquet")], deletes=[], texts={}, message="Add a file"
            )
            shas.append(dataset_sha(access, name))
        assert shas[0] == shas[1]
    finally:
        access.api.delete_repo(name, repo_type="dataset")


def test_a_plan_without_spaces_answers_402(access):
    name = f"{access.owner()}/trackio-like-live-{secrets.token_hex(4)}"
    try:
        with hub_calls("make a Space"):
            access.api.create_repo(name, repo_type="space", space_sdk="gradio", private=True)
    except RemotePaymentError as error:
        assert "402" in str(error) or "PRO" in str(error)  # noqa: PT017 - either is what this account's plan allows
    else:
        access.api.delete_repo(name, repo_type="space")
        pytest.skip("this account's plan includes Gradio Spaces, so it was made and deleted")


def test_writing_and_deleting_the_same_again_changes_nothing(access, bucket, file):
    for _ in range(2):
        assert not write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[]).failed
    write_bucket(access, bucket, adds=[], deletes=["p/r/a"])
    assert list_bucket(access, bucket) == []
