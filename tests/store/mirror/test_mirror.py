"""A copy of a bucket or dataset: complete, kept up, cheap when idle, and never less than it was."""

from __future__ import annotations

import threading
import time

import pytest

import trackio_like as trackio
from tests.flow.conftest import until
from tests.store.recording import Recorded
from trackio_like.errors import RemoteError, RemoteMissingError
from trackio_like.hub.access import HubAccess
from trackio_like.store.mirror.mirror import Mirror
from trackio_like.store.mirror.sources import BucketSource, DatasetSource, EitherSource, FolderSource
from trackio_like.store.source import open_source

BUCKET = "me/rows"


@pytest.fixture
def run(tmp_path):
    return Recorded(tmp_path / "source")


@pytest.fixture
def bucket(hub):
    """Puts files of a source folder into the bucket, and takes them away."""
    hub.api("me").create_bucket(BUCKET)

    class Bucket:
        def add(self, *paths, root, content=None):
            files = [(content or str(path), path.relative_to(root).as_posix()) for path in paths]
            hub.api("me").batch_bucket_files(BUCKET, add=files)

        def delete(self, *names):
            hub.api("me").batch_bucket_files(BUCKET, delete=list(names))

    return Bucket()


@pytest.fixture
def mirror(hub, tmp_path):
    """Makes and starts a mirror; closed with the test."""
    made = []

    def make(*, source=None, **options):
        source = source or BucketSource(access=HubAccess.from_login, bucket_id=BUCKET, probe_s=0.1)
        found = Mirror(source, tmp_path / "mirror", **{"retry_feed_s": 0.2, **options})
        made.append(found)
        found.start()
        return found

    yield make
    for each in made:
        each.close()


def logged(run, writer, *steps):
    """Logs some steps, seals them, and gives the shards that came."""
    before = set(run.shard_paths())
    for step in steps:
        run.log(writer, step, a=float(step))
    run.seal(writer)
    return sorted(set(run.shard_paths()) - before)


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")}


def read_bytes(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}


def is_in(state, mirror):
    return lambda: mirror.progress().state == state


def test_what_is_there_is_copied_and_what_comes_and_goes_follows_by_the_feed(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1, 2), root=run.root)
    copy = mirror()
    copy.wait(20)
    assert read_bytes(copy.folder) == hub.bucket_files(BUCKET)
    until(is_in("following", copy))
    hub.clear_requests()
    later = logged(run, writer, 3)
    bucket.add(*later, root=run.root)
    until(lambda: read_bytes(copy.folder) == hub.bucket_files(BUCKET))
    assert not [record for record in hub.requests if "/tree" in record.path]
    bucket.delete(later[0].relative_to(run.root).as_posix())
    until(lambda: files_in(copy.folder) == set(hub.bucket_files(BUCKET)))
    assert hub.leaks == []


def test_a_copy_that_follows_costs_no_request_however_often_it_is_read(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), 1), root=run.root)
    copy = mirror()
    until(is_in("following", copy))
    hub.clear_requests()
    for _ in range(20):
        with trackio.Api(copy.folder) as api:
            assert len(api.runs("p")) == 1
        assert copy.progress().num_done == 1
    assert hub.requests == []


def test_a_restart_fetches_nothing_again_and_drops_what_is_gone(hub, bucket, mirror, run):
    writer = run.writer()
    gone, kept = logged(run, writer, 1), logged(run, writer, 2)
    bucket.add(*gone, *kept, root=run.root)
    first = mirror()
    first.wait(20)
    first.close()
    bucket.delete(gone[0].relative_to(run.root).as_posix())
    hub.clear_requests()
    second = mirror()
    second.wait(20)
    assert not [record for record in hub.requests if record.group == "resolvers"]
    # Seen to be gone by one listing only; the second one, a little later, deletes it.
    assert files_in(second.folder) >= set(hub.bucket_files(BUCKET))


@pytest.mark.parametrize("event", ["reset", "reconnect"])
def test_a_feed_that_ends_is_taken_up_again_without_a_gap(hub, bucket, mirror, run, event):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1), root=run.root)
    copy = mirror()
    until(is_in("following", copy))
    hub.tell_feed(BUCKET, event)
    bucket.add(*logged(run, writer, 2), root=run.root)
    until(lambda: files_in(copy.folder) == set(hub.bucket_files(BUCKET)))
    until(is_in("following", copy))


def test_without_a_feed_changes_are_found_by_probing(hub, bucket, mirror, run):
    hub.fail("/events", kind="status", status=501, times=1000)
    writer = run.writer()
    bucket.add(*logged(run, writer, 1), root=run.root)
    copy = mirror()
    until(is_in("probing", copy))
    bucket.add(*logged(run, writer, 2), root=run.root)
    until(lambda: files_in(copy.folder) == set(hub.bucket_files(BUCKET)))


def test_an_outage_keeps_what_is_here_and_says_why_and_heals(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1), root=run.root)
    copy = mirror()
    until(is_in("following", copy))
    before = files_in(copy.folder)
    hub.down()
    until(lambda: copy.progress().state == "waiting" and copy.progress().message)
    assert files_in(copy.folder) == before
    hub.up()
    bucket.add(*logged(run, writer, 2), root=run.root)
    until(lambda: files_in(copy.folder) == set(hub.bucket_files(BUCKET)), timeout_s=40)


def test_a_cut_download_is_fetched_again_and_never_shown(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), *range(50)), root=run.root)
    hub.fail("/resolve/|/cdn|/blob|/file", kind="truncate", times=2)
    copy = mirror()
    until(lambda: read_bytes(copy.folder) == hub.bucket_files(BUCKET))


def test_a_listing_that_lacks_a_file_does_not_delete_it_at_once(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1), root=run.root)
    copy = mirror(compare_every_s=0.3)
    until(is_in("following", copy))
    bucket.add(*logged(run, writer, 2), root=run.root)
    until(lambda: len(files_in(copy.folder)) == 2)
    lag = hub.fail("/tree", kind="lag", operations=1, times=1)
    until(lambda: lag.hits == 1)
    until(lambda: files_in(copy.folder) == set(hub.bucket_files(BUCKET)))


def test_a_damaged_file_is_left_out_and_the_smaller_ones_that_it_covers_are_used(hub, bucket, mirror, run, caplog):
    writer = run.writer()
    small = [*logged(run, writer, 1), *logged(run, writer, 2)]
    run.compact(writer)
    [merged] = set(run.shard_paths()) - set(small)
    bucket.add(*small, root=run.root)
    bucket.add(merged, root=run.root, content=b"PAR1 this is not Parquet")
    copy = mirror()
    copy.wait(20)
    assert files_in(copy.folder) == {path.relative_to(run.root).as_posix() for path in small}
    assert caplog.text.count("is left out") == 1


def test_covered_shards_are_neither_fetched_nor_kept(hub, bucket, mirror, run):
    writer = run.writer()
    small = [*logged(run, writer, 1), *logged(run, writer, 2)]
    bucket.add(*small, root=run.root)
    copy = mirror()
    until(is_in("following", copy))
    run.compact(writer)
    [merged] = set(run.shard_paths()) - set(small)
    bucket.add(merged, root=run.root)
    until(lambda: files_in(copy.folder) == {merged.relative_to(run.root).as_posix()})


def test_names_that_are_not_ours_never_reach_the_disk(hub, bucket, mirror, tmp_path):
    stranger = tmp_path / "stranger"
    for name in ["README.md", "p/r/metrics/notes.txt", "p/.hidden/metrics/w-1-1-1.parquet", "p/r/journal/w.1.journal"]:
        (stranger / name).parent.mkdir(parents=True, exist_ok=True)
        (stranger / name).write_bytes(b"x")
    bucket.add(*[path for path in stranger.rglob("*") if path.is_file()], root=stranger)
    copy = mirror()
    copy.wait(20)
    assert [path for path in copy.folder.rglob("*") if path.is_file() and path.name != ".whole"] == []


def test_a_dataset_is_copied_at_one_commit(hub, mirror, run):
    hub.api("me").create_repo("me/set", repo_type="dataset")
    paths = logged(run, run.writer(), 1)
    for path in paths:
        hub.api("me").upload_file(
            path_or_fileobj=str(path),
            path_in_repo=path.relative_to(run.root).as_posix(),
            repo_id="me/set",
            repo_type="dataset",
        )
    copy = mirror(source=DatasetSource(access=HubAccess.from_login, dataset_id="me/set", probe_s=0.1))
    copy.wait(20)
    assert files_in(copy.folder) == {path.relative_to(run.root).as_posix() for path in paths}


def test_a_mounted_folder_is_read_where_no_token_may_and_the_lag_is_said(hub, bucket, mirror, run, tmp_path):
    paths = logged(run, run.writer(), 1)
    nobody = HubAccess(endpoint=hub.endpoint)
    source = EitherSource(BucketSource(access=lambda: nobody, bucket_id="other/secret"), FolderSource(folder=run.root))
    copy = mirror(source=source)
    copy.wait(20)
    assert files_in(copy.folder) == {path.relative_to(run.root).as_posix() for path in paths}
    assert "lags" in copy.progress().message


def test_what_cannot_be_read_is_an_error_of_api_that_names_it(hub):
    hub.api("other").create_bucket("other/secret", private=True)
    began = time.monotonic()
    with pytest.raises(RemoteError, match="other/secret"):
        trackio.Api(bucket_id="other/secret")
    with pytest.raises(RemoteMissingError, match="me/nowhere"):
        trackio.Api(bucket_id="me/nowhere")
    assert time.monotonic() - began < 50


def test_two_readers_share_one_copy_and_the_second_takes_over(hub, bucket, run, tmp_path):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1), root=run.root)
    first, second = (open_source(bucket_id=BUCKET, cache_folder=tmp_path / "cache") for _ in range(2))
    assert first.root == second.root
    with first:
        first.wait(20)
        with second:
            second.wait(20)
            assert "Another program" in second.progress().message
            first.close()
            until(lambda: second.progress().message == "" and second.progress().state == "following")
            bucket.add(*logged(run, writer, 2), root=run.root)
            until(lambda: files_in(second.root) == set(hub.bucket_files(BUCKET)))


def test_closing_does_not_wait_for_a_hub_that_hangs(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), 1), root=run.root)
    hub.fail("/resolve/", kind="hang", times=100)
    copy = mirror()
    until(lambda: copy.progress().num_files == 1)
    copy.close(timeout_s=5)
    assert not [thread for thread in threading.enumerate() if thread.name == "trackio-like-mirror"]
    hub.clear_faults()  # what hangs is cut, and ends the threads that wait for it


def test_a_cold_start_of_two_thousand_files_shows_how_far_it_is(hub, bucket, mirror, run, tmp_path):
    [path] = logged(run, run.writer(), 1)
    content = path.read_bytes()
    names = [f"p/run{i // 20}/metrics/w-1-{i}-{i}.parquet" for i in range(1, 2001)]
    for start in range(0, len(names), 900):
        hub.api("me").batch_bucket_files(BUCKET, add=[(content, name) for name in names[start : start + 900]])
    copy = mirror()
    seen = set()
    until(lambda: seen.add(copy.progress().num_done) or copy.progress().num_done == 2000, timeout_s=50)
    assert len(seen) > 2
    assert copy.progress().num_files == 2000
    assert files_in(copy.folder) == set(names)
