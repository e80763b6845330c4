"""What we assume of the real Hub; only with TRACKIO_LIVE_HUB=1 and HF_TOKEN, a token that may make buckets."""

from __future__ import annotations

import os
import secrets
import threading

import pytest

from tests.flow.conftest import until
from trackio_like.hub.access import HubAccess
from trackio_like.hub.buckets import make_bucket, write_bucket
from trackio_like.hub.feed import ResumePoint, follow_bucket
from trackio_like.hub.fetch import bucket_file, fetch_file
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import bucket_version, list_bucket

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


def test_the_feed_tells_of_a_batch_with_sizes_and_hashes(access, bucket, file):
    hangup, seen = Hangup(), []

    def follow():
        for event in follow_bucket(access, bucket, resume=ResumePoint(), hangup=hangup):
            seen.append(event)
            if event.kind == "changes":
                return

    thread = threading.Thread(target=follow, name="live-feed", daemon=True)
    thread.start()
    until(lambda: seen, timeout_s=60)
    write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[])
    until(lambda: not thread.is_alive(), timeout_s=60)
    [change] = seen[-1].changes
    assert (change.path, change.num_bytes, change.is_deleted) == ("p/r/a", 1000, False)
    assert change.content_hash


def test_writing_and_deleting_the_same_again_changes_nothing(access, bucket, file):
    for _ in range(2):
        assert not write_bucket(access, bucket, adds=[(file, "p/r/a")], deletes=[]).failed
    write_bucket(access, bucket, adds=[], deletes=["p/r/a"])
    assert list_bucket(access, bucket) == []
