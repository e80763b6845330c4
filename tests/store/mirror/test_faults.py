"""A Hub that fails in every way: what is here stays, it is said why, and it heals."""

from __future__ import annotations

import threading

import pytest

import trackio_like as trackio
from tests.flow.conftest import until
from tests.store.mirror.conftest import BUCKET, files_in, is_in, logged, read_bytes
from trackio_like.errors import RemoteMissingError, RemoteRefusedError, RemoteUnavailableError
from trackio_like.hub.access import HubAccess
from trackio_like.store.mirror.sources import BucketSource


def is_whole(hub, copy):
    return lambda: read_bytes(copy.folder) == hub.bucket_files(BUCKET)


def num_listings(hub):
    return sum("/tree" in record.path for record in hub.requests)


def test_an_outage_keeps_what_is_here_and_says_why_and_heals(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror()
    until(is_in("following", copy))
    before = files_in(copy.folder)
    hub.down()
    until(lambda: copy.progress().state == "waiting" and "it is tried again" in copy.progress().message)
    assert files_in(copy.folder) == before
    hub.up()
    bucket.add(*logged(run, writer, 2))
    until(is_whole(hub, copy), timeout_s=40)
    until(is_in("following", copy))
    assert copy.progress().message == ""


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "truncate", "times": 1},
        {"kind": "drop", "times": 1},
        {"kind": "status", "status": 500, "times": 2},
        {"kind": "status", "status": 429, "headers": {"Retry-After": "1"}, "times": 1},
    ],
    ids=["truncate", "drop", "500", "429"],
)
@pytest.mark.parametrize("where", ["/resolve/", "/tree", "/api/buckets/me/rows$"])
def test_a_hiccup_is_got_over_and_nobody_who_waits_is_told(hub, bucket, mirror, run, where, fault):
    writer = run.writer()
    for step in range(3):
        bucket.add(*logged(run, writer, *range(step * 20, step * 20 + 20)))
    rule = hub.fail(where, **fault)
    copy = mirror()
    copy.wait(30)
    assert read_bytes(copy.folder) == hub.bucket_files(BUCKET)
    assert rule.hits == fault["times"]
    assert hub.leaks == []


def test_what_the_cdn_cuts_off_is_fetched_again_and_the_token_stays_with_the_hub(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), *range(50)))
    cut = hub.fail("^/(?!api/|buckets/|__)", kind="truncate", times=1)
    copy = mirror()
    copy.wait(30)
    assert read_bytes(copy.folder) == hub.bucket_files(BUCKET)
    assert [record.group for record in hub.requests if record.fault] == ["cdn"] * cut.hits == ["cdn"]
    assert hub.leaks == []


def test_one_file_that_can_never_be_had_keeps_no_other_run_away(hub, bucket, mirror, run):
    [path] = logged(run, run.writer(), 1)
    others = {f"p/other{i}/metrics/w-1-1.parquet": path.read_bytes() for i in range(20)}
    bucket.put(others)
    bucket.add(path)
    hub.fail(f"/resolve/.*{run.run_id}", kind="status", status=500, times=None)
    copy = mirror()
    until(lambda: files_in(copy.folder) == set(others))
    until(lambda: "500" in copy.progress().message)
    hub.clear_faults()
    until(is_whole(hub, copy))


def test_a_busy_hub_is_left_alone_for_as_long_as_it_asks(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), 1))
    hub.fail("/tree", kind="status", status=429, headers={"Retry-After": "600"}, times=None)
    copy = mirror()
    until(is_in("waiting", copy))
    hub.clear_requests()
    with pytest.raises(TimeoutError, match="429"):
        copy.wait(3)
    assert hub.requests == []


def test_more_files_than_an_account_may_fetch_in_a_window_come_in_several(hub, bucket, mirror, run):
    [path] = logged(run, run.writer(), 1)
    names = [f"p/run{i}/metrics/w-1-1.parquet" for i in range(250)]
    bucket.put(dict.fromkeys(names, path.read_bytes()))
    hub.limits.window_s = 1.0
    hub.limits.set_quota("resolvers", 100)
    copy = mirror()
    copy.wait(50)
    assert files_in(copy.folder) == set(names)
    assert 429 in {record.status for record in hub.requests}


@pytest.mark.parametrize("how", ["hang at the version", "hang at the listing", "hang at a file", "hang at the feed"])
def test_closing_does_not_wait_for_a_hub_that_hangs(hub, bucket, mirror, run, how):
    bucket.add(*logged(run, run.writer(), 1))
    where = {"version": "/api/buckets/me/rows$", "listing": "/tree", "file": "/resolve/", "feed": "/events"}
    rule = hub.fail(where[how.split()[-1]], kind="hang", times=None)
    copy = mirror()
    until(lambda: rule.hits)
    copy.close(timeout_s=15)
    assert not [thread for thread in threading.enumerate() if thread.name == "trackio-like-mirror"]
    assert rule.hits
    assert all(record.status is None for record in hub.requests if record.fault)  # they hang still


def test_closing_ends_a_mirror_that_waits_and_one_that_follows(hub, bucket, mirror):
    following = mirror()
    until(is_in("following", following))
    following.close(timeout_s=15)
    hub.down()
    waiting = mirror(folder="other")
    until(is_in("waiting", waiting))
    waiting.close(timeout_s=15)
    assert (following.progress().state, waiting.progress().state) == ("closed", "closed")


def test_a_token_that_expires_is_said_and_a_new_login_counts_at_once(hub, bucket, mirror, run, monkeypatch):
    hub.api("me").delete_bucket(BUCKET)
    hub.api("me").create_bucket(BUCKET, private=True)
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    first = hub.token("me", "read")
    monkeypatch.setenv("HF_TOKEN", first)
    copy = mirror(compare_every_s=0.3)
    copy.wait(20)
    here = files_in(copy.folder)
    hub.expire(first)
    until(lambda: copy.progress().state == "waiting" and "401" in copy.progress().message)
    assert files_in(copy.folder) == here
    bucket.add(*logged(run, writer, 2))
    monkeypatch.setenv("HF_TOKEN", hub.token("me", "read"))
    until(is_whole(hub, copy))


def test_a_listing_that_lacks_a_file_does_not_delete_it_at_once(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    copy = mirror(compare_every_s=0.3)
    until(is_in("following", copy))
    bucket.add(*logged(run, writer, 2))
    until(is_whole(hub, copy))
    here = files_in(copy.folder)
    lag = hub.fail("/tree", kind="lag", operations=1, times=1)
    until(lambda: lag.hits == 1)
    listed = num_listings(hub)
    until(lambda: num_listings(hub) > listed)
    assert files_in(copy.folder) == here


@pytest.mark.parametrize("has_feed", [True, False])
def test_a_file_that_the_first_listing_does_not_show_yet_comes_all_the_same(hub, bucket, mirror, run, has_feed):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1))
    bucket.add(*logged(run, writer, 2))
    if not has_feed:
        hub.fail("/events", kind="status", status=501, times=None)
    lag = hub.fail("/tree", kind="lag", operations=1, times=1)
    copy = mirror()
    until(is_whole(hub, copy))
    assert lag.hits == 1


def test_a_damaged_file_is_left_out_and_the_smaller_ones_that_it_covers_are_used(hub, bucket, mirror, run, caplog):
    writer = run.writer()
    small = [*logged(run, writer, 1), *logged(run, writer, 2)]
    run.compact(writer)
    [merged] = set(run.shard_paths()) - set(small)
    bucket.add(*small)
    bucket.add(merged, content=b"PAR1 this is not Parquet")
    copy = mirror(compare_every_s=0.2)
    copy.wait(20)
    assert files_in(copy.folder) == {bucket.name_of(path) for path in small}
    assert "1 files" in copy.progress().message
    assert merged.name in copy.progress().message
    again = logged(run, writer, 3)
    bucket.add(*again)
    until(lambda: bucket.name_of(again[0]) in files_in(copy.folder))
    assert caplog.text.count("is left out") == 1
    # Sent anew, it counts.
    bucket.add(merged)
    until(lambda: files_in(copy.folder) == {bucket.name_of(path) for path in (merged, *again)})
    assert copy.progress().message == ""


def test_a_purge_at_the_source_makes_the_run_vanish(hub, bucket, mirror, run):
    writer = run.writer()
    writer.event("init", {"name": "n", "config": {}, "attempt": 1})
    bucket.add(*logged(run, writer, 1), *run.shard_paths("events"))
    copy = mirror()
    until(is_in("following", copy))
    with trackio.Api(copy.folder) as api:
        assert len(api.runs("p")) == 1
        bucket.delete(*run.shard_paths(), *run.shard_paths("events"))
        until(lambda: api.projects() == [])
    until(lambda: not (copy.folder / "p").exists())


def test_a_disk_that_refuses_is_said_and_got_over(hub, bucket, mirror, run, tmp_path):
    bucket.add(*logged(run, run.writer(), 1))
    blocked = tmp_path / "mirror"
    blocked.write_text("a file lies where the folder should be")
    copy = mirror()
    with pytest.raises(OSError, match="mirror"):
        copy.wait(20)
    assert copy.progress().state == "waiting"
    blocked.unlink()
    until(is_whole(hub, copy))


@pytest.mark.parametrize(
    ("status", "error"), [(403, RemoteRefusedError), (404, RemoteMissingError), (503, RemoteUnavailableError)]
)
def test_who_waits_is_told_of_what_lasts(hub, bucket, mirror, status, error):
    hub.fail("/api/buckets", kind="status", status=status, times=None)
    copy = mirror()
    with pytest.raises(error, match="me/rows"):
        copy.wait(30)


def test_a_mirror_without_a_token_reads_what_is_public_and_nothing_else(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), 1))
    source = BucketSource(access=lambda: HubAccess(endpoint=hub.endpoint), bucket_id=BUCKET)
    hub.clear_requests()
    copy = mirror(source=source)
    copy.wait(20)
    assert read_bytes(copy.folder) == hub.bucket_files(BUCKET)
    assert {record.account for record in hub.requests} == {"anonymous"}
