"""The change feed: what it says, how it ends, and what is done without it."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.flow.conftest import until
from tests.store.mirror.conftest import BUCKET, is_in, logged, read_bytes
from trackio_like.errors import RemoteInvalidError
from trackio_like.hub.feed import FeedEvent, FileChange, parse_event, parse_stream

STREAM = (
    b": hello\r\n\r\n"
    b'event: ready\ndata: {"cursor": "7"}\n\n'
    b": keep-alive\n\n"
    b"event: changes\ndata: one\ndata: two\nid: 5\n\n"
    b"data:bare\n\n"
    b"event: nothing\n\n"
    b"event: cut off\ndata: never"
)
PARSED = [("ready", '{"cursor": "7"}'), ("changes", "one\ntwo"), ("message", "bare")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_a_stream_says_the_same_however_its_bytes_are_cut(cuts):
    ends = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in itertools.pairwise(ends)]
    assert list(parse_stream(chunks)) == PARSED


def test_an_event_without_end_is_refused():
    with pytest.raises(RemoteInvalidError, match="too large"):
        list(parse_stream(b"data: " + bytes(1 << 20) for _ in range(40)))


def test_changes_say_which_file_came_or_went():
    data = {
        "cursor": "9",
        "changes": [
            {"path": "a", "op": "add", "size": 3, "xetHash": "h", "uploadedAt": "2026-01-01T00:00:00.000Z"},
            {"path": "b", "op": "update"},
            {"path": "c", "op": "delete"},
        ],
    }
    changes = (
        FileChange(path="a", is_deleted=False, num_bytes=3, content_hash="h", uploaded="2026-01-01T00:00:00.000Z"),
        FileChange(path="b", is_deleted=False),
        FileChange(path="c", is_deleted=True),
    )
    assert parse_event("changes", json.dumps(data)) == FeedEvent(kind="changes", cursor="9", changes=changes)


@pytest.mark.parametrize("data", ["", "[]", "no json", '{"changes": [{}]}', '{"changes": 7}'])
def test_changes_that_cannot_be_read_mean_that_everything_is_compared(data):
    assert parse_event("changes", data) == FeedEvent(kind="reset")


@pytest.mark.parametrize(("name", "data"), [("message", "{}"), ("new kind", "{}"), ("ready", "no json")])
def test_what_is_not_known_is_passed_over(name, data):
    assert parse_event(name, data) is None


def is_whole(hub, copy):
    return lambda: read_bytes(copy.folder) == hub.bucket_files(BUCKET)


def num(hub, part):
    return sum(part in record.path for record in hub.requests)


@pytest.mark.parametrize("event", ["reset", "reconnect"])
def test_a_feed_that_ends_is_taken_up_again_without_a_gap(hub, bucket, mirror, run, event):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror()
    until(is_in("following", copy))
    for step in range(2, 6):
        hub.tell_feed(BUCKET, event)
        paths = logged(run, writer, step)
        bucket.add(*paths)
    bucket.delete(*paths)
    until(is_whole(hub, copy))
    until(is_in("following", copy))


@pytest.mark.parametrize("event", ["reset", "reconnect", "drop"])
def test_a_feed_that_always_ends_is_not_asked_without_a_pause(hub, bucket, mirror, run, event):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    rule = hub.fail("/events", kind=event, times=None)
    copy = mirror(retry_feed_s=60.0)
    until(lambda: rule.hits >= 1)
    # By probing meanwhile, so that the view is no older than that.
    bucket.add(*logged(run, writer, 2))
    until(is_whole(hub, copy))
    until(is_in("probing", copy))
    assert rule.hits <= 4
    assert num(hub, "/tree") <= 8


def test_a_bucket_that_was_quiet_for_longer_than_the_feed_remembers_is_listed_once_and_followed(
    hub, bucket, mirror, run
):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    bucket.add(*logged(run, writer, 2))
    hub.limits.replay_window_s = 0.0
    copy = mirror()
    until(is_in("following", copy))
    bucket.add(*logged(run, writer, 3))
    until(is_whole(hub, copy))
    until(is_in("following", copy))
    # One more look, because the first one may have lagged, and one for what came before the feed was open.
    assert num(hub, "/tree") <= 3
    assert num(hub, "/events") <= 4


def test_a_feed_that_lost_its_place_takes_up_what_came_meanwhile(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror(retry_feed_s=1.0)
    until(is_in("following", copy))
    lost = hub.fail("/events", kind="status", status=400, times=1)
    hub.tell_feed(BUCKET, "reconnect")
    until(lambda: lost.hits == 1)
    bucket.add(*logged(run, writer, 2))
    until(is_whole(hub, copy))
    until(is_in("following", copy))


def test_a_busy_feed_is_left_alone_for_as_long_as_it_asks_and_probed_meanwhile(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    busy = hub.fail("/events", kind="status", status=503, headers={"Retry-After": "600"}, times=None)
    copy = mirror()
    until(is_in("probing", copy))
    for step in range(2, 5):
        bucket.add(*logged(run, writer, step))
        until(is_whole(hub, copy))
    assert busy.hits == 1


@pytest.mark.parametrize("status", [404, 501])
def test_without_a_feed_changes_are_found_by_probing(hub, bucket, mirror, run, status):
    hub.fail("/events", kind="status", status=status, times=None)
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror()
    until(is_in("probing", copy))
    paths = logged(run, writer, 2)
    bucket.add(*paths)
    until(is_whole(hub, copy))
    bucket.delete(*paths)
    until(is_whole(hub, copy))


def test_what_a_silent_feed_withholds_is_found_when_everything_is_compared(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror(compare_every_s=0.5)
    until(is_in("following", copy))
    silence = hub.fail("/events", kind="silence", times=None)
    hub.tell_feed(BUCKET, "silence")
    bucket.add(*logged(run, writer, 2))
    until(is_whole(hub, copy))
    until(lambda: silence.hits)


def test_a_file_of_the_feed_that_cannot_be_had_at_once_is_fetched_later(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror()
    until(is_in("following", copy))
    rule = hub.fail("/resolve/", kind="status", status=500, times=2)
    bucket.add(*logged(run, writer, 2))
    until(is_whole(hub, copy))
    assert rule.hits == 2
    until(is_in("following", copy))


def test_a_quiet_bucket_is_asked_for_its_version_at_times_and_never_listed(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), 1))
    mirror(compare_every_s=0.2)
    until(lambda: num(hub, "/tree") == 2)  # the second one, because the first may have lagged
    hub.clear_requests()
    until(lambda: num(hub, "/api/buckets/me/rows") >= 6)
    kinds = {record.path for record in hub.requests}
    assert kinds <= {"/api/buckets/me/rows", "/api/buckets/me/rows/events"}
    assert hub.num_followers(BUCKET) <= 1
