"""One copy for all programs and tokens of a user, and an end to those that nobody uses."""

from __future__ import annotations

import os

import pytest

from tests.flow.conftest import until
from tests.store.mirror.conftest import BUCKET, files_in, logged
from trackio_like.errors import RemoteError
from trackio_like.hub.access import HubAccess
from trackio_like.store.mirror.copies import copy_folder, copy_lock, note_use, remove_unused
from trackio_like.store.source import open_source


def opened(tmp_path, **options):
    return open_source(**{"bucket_id": BUCKET, "cache_folder": tmp_path / "cache", **options})


@pytest.fixture
def private(hub, run, bucket):
    """The bucket, private, with a shard in it."""
    hub.api("me").delete_bucket(BUCKET)
    hub.api("me").create_bucket(BUCKET, private=True)
    bucket.add(*logged(run, run.writer(), 1))
    return bucket


def test_two_readers_share_one_copy_and_the_second_takes_over(hub, bucket, run, tmp_path):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    first, second = opened(tmp_path), opened(tmp_path)
    assert first.root == second.root
    with first:
        first.wait(20)
        until(lambda: first.progress().state == "following")
        hub.clear_requests()
        with second:
            second.wait(20)
            assert "Another program" in second.progress().message
            assert hub.requests == []
            first.close()
            until(lambda: second.progress().message == "" and second.progress().state == "following")
            bucket.add(*logged(run, writer, 2))
            until(lambda: files_in(second.root) == set(hub.bucket_files(BUCKET)))


def test_a_new_token_of_somebody_who_may_read_it_fetches_nothing_again(hub, private, tmp_path):
    with opened(tmp_path, token=hub.tokens["me"]) as first:
        first.wait(20)
    hub.clear_requests()
    with opened(tmp_path, token=hub.token("me", "read")) as second:
        second.wait(20)
        assert second.root == first.root
        assert files_in(second.root) == set(hub.bucket_files(BUCKET))
    assert [record.path for record in hub.requests if record.group in ("resolvers", "cdn")] == []


@pytest.mark.parametrize("who", ["other", "nobody"])
def test_what_one_account_copied_is_not_shown_to_one_who_may_not_read_it(hub, private, tmp_path, who):
    with opened(tmp_path, token=hub.tokens["me"]) as first:
        first.wait(20)
        with opened(tmp_path, token="" if who == "nobody" else hub.tokens[who]) as second:
            assert second.root != first.root
            with pytest.raises(RemoteError, match=BUCKET):
                second.wait(20)
            assert files_in(second.root) == set()


def test_a_token_that_was_good_once_shows_what_is_here_while_the_hub_is_down(hub, private, tmp_path):
    with opened(tmp_path) as first:
        first.wait(20)
    hub.down()
    with opened(tmp_path) as second:
        assert len(files_in(second.root)) == 1
        until(lambda: second.progress().state == "waiting")
        assert len(files_in(second.root)) == 1


def test_another_hub_has_another_copy(tmp_path):
    asked = []
    folders = {
        copy_folder(tmp_path, HubAccess(endpoint=endpoint, token=token), title, ask=lambda: asked.append(1))
        for endpoint in ("http://a", "http://b")
        for token in ("", "x", "y", "x")
        for title in ("the bucket a/b", "the dataset a/b")
    }
    assert len(folders) == 4
    assert len(asked) == 12  # a token is asked about once for each


def test_no_token_lies_in_the_folder_of_copies(hub, private, tmp_path):
    with opened(tmp_path) as source:
        source.wait(20)
    for path in (tmp_path / "cache").rglob("*"):
        assert not path.is_file() or hub.tokens["me"].encode() not in path.read_bytes()


def make_old(folder):
    note_use(folder)
    (folder / "p").mkdir()
    os.utime(folder / ".used", (0, 0))


def test_copies_that_nobody_opened_for_a_month_are_removed_and_nothing_else(tmp_path):
    names = {"old": "0" * 20, "new": "1" * 20, "held": "2" * 20, "unmarked": "3" * 20, "strange": "photos"}
    folders = {what: tmp_path / name for what, name in names.items()}
    for what in ("old", "held", "strange"):
        make_old(folders[what])
    note_use(folders["new"])
    folders["unmarked"].mkdir()
    lock = copy_lock(folders["held"])
    assert lock.acquire()
    assert remove_unused(tmp_path) == [folders["old"]]
    lock.release()
    assert set(tmp_path.iterdir()) == set(folders.values()) - {folders["old"]}
    assert remove_unused(tmp_path / "nowhere") == []


def test_opening_one_removes_the_old_ones(hub, bucket, tmp_path):
    old = tmp_path / "cache" / ("0" * 20)
    make_old(old)
    with opened(tmp_path):
        assert not old.exists()
