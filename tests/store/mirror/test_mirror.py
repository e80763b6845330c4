"""A copy of a bucket or dataset: complete, kept up, cheap when idle, and never less than it was."""

from __future__ import annotations

import os

import trackio_like as trackio
from tests.flow.conftest import until
from tests.store.mirror.conftest import BUCKET, files_in, is_in, logged, read_bytes
from trackio_like.hub.access import HubAccess
from trackio_like.store.mirror.sources import BucketSource, DatasetSource, EitherSource, FolderSource


def test_what_is_there_is_copied_and_what_comes_and_goes_follows_by_the_feed(hub, bucket, mirror, run):
    writer = run.writer()
    bucket.add(*logged(run, writer, 1, 2))
    copy = mirror()
    copy.wait(20)
    assert read_bytes(copy.folder) == hub.bucket_files(BUCKET)
    until(is_in("following", copy))
    hub.clear_requests()
    later = logged(run, writer, 3)
    bucket.add(*later)
    until(lambda: read_bytes(copy.folder) == hub.bucket_files(BUCKET))
    assert not [record for record in hub.requests if "/tree" in record.path]
    bucket.delete(*later)
    until(lambda: files_in(copy.folder) == set(hub.bucket_files(BUCKET)))
    assert hub.leaks == []


def test_a_copy_that_follows_costs_no_request_however_often_it_is_read(hub, bucket, mirror, run):
    bucket.add(*logged(run, run.writer(), 1))
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
    bucket.add(*gone, *kept)
    first = mirror()
    first.wait(20)
    first.close()
    bucket.delete(*gone)
    hub.clear_requests()
    second = mirror()
    second.wait(20)
    assert not [record for record in hub.requests if record.group == "resolvers"]
    # It came lately, and only one listing lacks it; the second one, a little later, deletes it.
    assert files_in(second.folder) >= set(hub.bucket_files(BUCKET))
    until(lambda: files_in(second.folder) == set(hub.bucket_files(BUCKET)))


def test_what_went_while_nobody_looked_is_gone_at_the_first_look(hub, bucket, mirror, run):
    writer = run.writer()
    gone, kept = logged(run, writer, 1), logged(run, writer, 2)
    bucket.add(*gone, *kept)
    first = mirror()
    first.wait(20)
    first.close()
    bucket.delete(*gone)
    for path in first.folder.rglob("*.parquet"):
        os.utime(path, (0, 0))
    second = mirror(look_again_s=600.0)
    second.wait(20)
    assert files_in(second.folder) == set(hub.bucket_files(BUCKET))


def test_covered_shards_are_neither_fetched_nor_kept(hub, bucket, mirror, run):
    writer = run.writer()
    small = [*logged(run, writer, 1), *logged(run, writer, 2)]
    bucket.add(*small)
    copy = mirror()
    until(is_in("following", copy))
    run.compact(writer)
    [merged] = set(run.shard_paths()) - set(small)
    bucket.add(merged)
    until(lambda: files_in(copy.folder) == {merged.relative_to(run.root).as_posix()})


def test_names_that_are_not_ours_never_reach_the_disk(hub, bucket, mirror):
    names = ["README.md", "p/r/metrics/notes.txt", "p/.hidden/metrics/w-1-1.parquet", "p/r/journal/w.1.journal"]
    bucket.put(dict.fromkeys(names, b"x"))
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


def test_a_cold_start_of_two_thousand_files_shows_how_far_it_is(hub, bucket, mirror, run):
    [path] = logged(run, run.writer(), 1)
    content = path.read_bytes()
    names = [f"p/run{i // 20}/metrics/w-1-{i}-{i}.parquet" for i in range(1, 2001)]
    for start in range(0, len(names), 900):
        bucket.put(dict.fromkeys(names[start : start + 900], content))
    copy = mirror()
    seen = set()
    until(lambda: seen.add(copy.progress().num_done) or copy.progress().num_done == 2000, timeout_s=50)
    assert len(seen) > 2
    assert copy.progress().num_files == 2000
    assert files_in(copy.folder) == set(names)
