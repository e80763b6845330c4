"""Sending once: what waits goes, nothing goes twice, and what is lost there is found."""

import os

import pytest

from tests.daemon.sending import Time, courier_of, log, make_run, make_target, rows_in, truth
from tests.hub_server.fixtures import hub, hub_home, hub_server
from trackio_like.daemon.once import sync_once
from trackio_like.errors import RemoteRefusedError
from trackio_like.format.targets import bind_run
from trackio_like.run.hostlock import HostLock, private_folder

__all__ = ["hub", "hub_home", "hub_server"]

BOTH = pytest.mark.parametrize("kind", ["bucket", "dataset"])
A, B = "w-1-aa", "w-2-bb"


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def sync(root, time):
    def sync(**options):
        return sync_once(root, clocks=time.clocks, wait=time.pass_by, **options)

    return sync


@BOTH
def test_the_second_call_sends_nothing_and_says_so(hub, root, sync, kind):
    target = make_target(hub, kind)
    folder, _ = make_run(root, target)
    log(folder, A, range(5))
    told = []
    (first,) = sync(on_progress=told.append)
    (second,) = sync()
    assert (first.num_files, first.is_complete) == (1, True)
    assert first.num_bytes > 0
    assert told[-1].num_files == 1
    assert (second.num_files, second.num_bytes, second.is_complete) == (0, 0, True)
    assert len(rows_in(truth(hub, target))) == 5


def test_a_dry_run_lists_what_would_be_sent_and_asks_nobody(hub, root, sync):
    folder, _ = make_run(root, make_target(hub, "bucket"))
    log(folder, A, [1])
    (report,) = sync(is_dry_run=True)
    assert report.paths == (f"p/r/metrics/{A}-1-1.parquet",)
    assert report.num_files == 1
    assert hub.requests == []


@BOTH
def test_what_was_deleted_there_is_sent_again_after_a_comparison_only(hub, root, sync, kind):
    target = make_target(hub, kind)
    folder, _ = make_run(root, target)
    log(folder, A, [1])
    log(folder, B, [1])
    sync()
    path = f"p/r/metrics/{A}-1-1.parquet"
    if kind == "bucket":
        hub.api("me").batch_bucket_files(target.id, delete=[path])
    else:
        hub.api("me").delete_file(path, target.id, repo_type="dataset")
    assert sync()[0].num_files == 0
    assert path not in truth(hub, target)
    assert sync(verify=True)[0].num_files == 1
    assert path in truth(hub, target)


def test_a_failed_listing_is_not_taken_for_an_empty_target(hub, root, sync):
    target = make_target(hub, "bucket")
    folder, known = make_run(root, target)
    log(folder, A, [1])
    sync()
    before = known.ledger.read_bytes()
    hub.fail("/tree", kind="status", status=500, times=None)
    hub.clear_requests()
    sync(verify=True, patience_s=10.0)
    assert known.ledger.read_bytes() == before
    assert not [record for record in hub.requests if record.path.endswith("/batch")]


@BOTH
def test_a_target_that_is_gone_is_made_again_where_it_is_named(hub, root, sync, kind):
    target = make_target(hub, kind)
    folder, _ = make_run(root, target)
    log(folder, A, [1])
    sync()
    if kind == "bucket":
        hub.api("me").delete_bucket(target.id)
    else:
        hub.api("me").delete_repo(target.id, repo_type="dataset")
    log(folder, B, [1])
    (unasked,) = sync()
    assert unasked.num_files_waiting == 1
    assert "makes it anew" in unasked.message
    (asked,) = sync(target=target)
    assert (asked.num_files, asked.is_complete) == (2, True)
    assert len(rows_in(truth(hub, target))) == 2


def test_one_target_of_two_is_sent_to_where_it_is_named_and_an_unbound_one_is_an_error(hub, root, sync):
    first, second = make_target(hub, "bucket"), make_target(hub, "bucket")
    folder, _ = make_run(root, first)
    bind_run(second, folder)
    log(folder, A, [1])
    (report,) = sync(target=second)
    assert report.target == second
    assert hub.bucket_ids() == [second.id]
    with pytest.raises(FileNotFoundError, match="No run below"):
        sync(target=make_target(hub, "bucket"))


def test_a_refused_token_ends_it_at_once_with_the_reason(hub, root, sync):
    folder, _ = make_run(root, make_target(hub, "bucket"))
    log(folder, A, [1])
    hub.expire(os.environ["HF_TOKEN"])
    (report,) = sync()
    assert report.num_files_waiting == 1
    assert isinstance(report.error, RemoteRefusedError)
    assert "Nothing is lost" in report.message


def test_an_outage_is_waited_out_and_a_long_one_is_given_up(hub, root, sync):
    target = make_target(hub, "bucket")
    folder, _ = make_run(root, target)
    log(folder, A, [1])
    hub.fail("/api/", kind="status", status=503, times=3)
    assert sync()[0].is_complete
    log(folder, B, [1])
    hub.fail("/batch$", kind="status", status=503, times=None)
    (report,) = sync(patience_s=60.0)
    assert report.num_files_waiting == 1
    assert "cannot be reached" in report.message


def test_who_sends_beside_another_process_waits_for_it_and_gives_up_with_a_reason(hub, root, sync):
    target = make_target(hub, "bucket")
    folder, _ = make_run(root, target)
    log(folder, A, [1])
    lock = HostLock(private_folder() / f"send-{target.key}.lock")
    assert lock.acquire()
    (report,) = sync(patience_s=5.0)
    assert report.num_files_waiting == 1
    assert "Another process sends" in report.message
    lock.release()
    assert sync()[0].is_complete


def test_what_was_set_aside_is_tried_again(hub, root, sync, time):
    target = make_target(hub, "dataset")
    folder, known = make_run(root, target)
    secret = folder.path / "media" / "1" / "x.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("hf_" + "x" * 34)
    log(folder, A, [1])
    courier = courier_of(known, time)
    courier.step()
    assert courier.state.num_rejected == 1
    hub.limits.scan_secrets = False
    time.pass_by(100)
    (report,) = sync()
    assert (report.num_files, report.rejected) == (1, {})
    assert "p/r/media/1/x.txt" in truth(hub, target)
