"""What is sent, what is deleted, and in which order."""

from trackio_like.daemon.ledger import Stored
from trackio_like.daemon.plan import Limits, LocalFile, RunPlan, choose_batch, plan_run, shard_of
from trackio_like.format.names import ShardName

GRACE_S = 300.0
EVERYTHING = Limits(num_files=1000, num_bytes=1 << 40, grace_s=GRACE_S)


def file(path, mtime=0, size=10):
    return LocalFile(path=path, num_bytes=size, mtime_ns=mtime)


def shard(first, last, *, kind="metrics", writer="w-1-aa", run="p/r"):
    return f"{run}/{kind}/{writer}-{first}-{last}.parquet"


def plan(local, remote=None, *, rejected=(), now_s=1000.0):
    stored = {path: Stored(num_bytes=10, stored_s=at) for path, at in (remote or {}).items()}
    return plan_run([file(path) for path in local], stored, rejected=set(rejected), now_s=now_s, grace_s=GRACE_S)


def sent(run_plan):
    return [file.path for file in run_plan.uploads]


def test_what_the_target_does_not_hold_is_sent():
    assert sent(plan([shard(1, 2), shard(3, 4), "p/r/media/1/x.png"], {shard(1, 2): 0.0})) == [
        "p/r/media/1/x.png",
        shard(3, 4),
    ]


def test_of_shards_only_those_that_no_larger_one_covers_are_sent():
    assert sent(plan([shard(1, 2), shard(3, 4), shard(1, 4), shard(5, 6)])) == [shard(1, 4), shard(5, 6)]
    assert sent(plan([shard(1, 2)], {shard(1, 4): 0.0})) == []


def test_shards_that_overlap_in_part_are_both_sent():
    assert sent(plan([shard(1, 4), shard(3, 6)])) == [shard(1, 4), shard(3, 6)]


def test_kinds_and_writers_do_not_cover_each_other():
    local = [shard(1, 9), shard(1, 2, kind="events"), shard(1, 2, writer="v-1-bb")]
    assert sorted(sent(plan(local))) == sorted(local)


def test_a_covered_shard_of_the_target_is_deleted_once_its_cover_has_been_there_for_the_grace():
    remote = {shard(1, 2): 0.0, shard(3, 4): 500.0, shard(1, 4): 800.0}
    waiting = plan([shard(1, 4)], remote, now_s=1099.0)
    assert waiting.deletes == ()
    assert waiting.next_delete_s == 1100.0
    due = plan([shard(1, 4)], remote, now_s=1100.0)
    assert due.deletes == (shard(1, 2), shard(3, 4))
    assert due.next_delete_s is None


def test_nothing_is_deleted_for_a_cover_that_is_only_here():
    assert plan([shard(1, 4)], {shard(1, 2): 0.0, shard(3, 4): 0.0}, now_s=1e6).deletes == ()


def test_shards_of_a_writer_that_is_not_here_are_left_to_whoever_has_them():
    other = {shard(1, 2, writer="v-1-bb"): 0.0, shard(1, 4, writer="v-1-bb"): 0.0}
    assert plan([shard(1, 4)], other, now_s=1e6).deletes == ()


def test_what_the_target_will_never_take_is_not_sent_and_stands_for_nothing():
    found = plan([shard(1, 2), shard(3, 4), shard(1, 4), "p/r/media/x"], rejected=[shard(1, 4), "p/r/media/x"])
    assert sent(found) == [shard(1, 2), shard(3, 4)]


def test_what_rows_point_to_goes_before_the_shard_that_holds_them():
    files = [file(shard(1, 1), mtime=5), file("p/r/media/1/a", mtime=5), file("p/r/media/2/b", mtime=9)]
    assert sent(plan_run(files, {}, now_s=0.0, grace_s=GRACE_S)) == ["p/r/media/1/a", shard(1, 1), "p/r/media/2/b"]


def test_a_file_in_a_media_folder_is_no_shard_whatever_its_name():
    uuid = "550e8400-e29b-41d4-4716-446655440000.parquet"
    assert ShardName.parse(uuid) is not None
    assert shard_of(f"p/r/media/{uuid}")[1] is None
    assert shard_of(f"p/r/media/3/{uuid}")[1] is None
    assert shard_of("README.md")[1] is None
    assert shard_of(shard(1, 2, kind="future")) == (
        "p/r/future",
        ShardName(writer="w-1-aa", first=1, last=2),
    )


def test_a_batch_takes_the_oldest_of_each_run_in_turn():
    plans = [
        RunPlan(uploads=tuple(file(f"p/a/{i}", mtime=i + 1) for i in range(4))),
        RunPlan(uploads=(file("p/b/0", mtime=0), file("p/b/1", mtime=9))),
    ]
    chosen = choose_batch(plans, Limits(num_files=3, num_bytes=1000, grace_s=0))
    assert [upload.path for upload in chosen.uploads] == ["p/b/0", "p/a/0", "p/b/1"]
    assert not chosen.is_all


def test_a_batch_is_bounded_by_bytes_but_takes_one_file_of_any_size():
    plans = [RunPlan(uploads=(file("p/a/0", size=50), file("p/a/1", size=60), file("p/a/2", size=1)))]
    chosen = choose_batch(plans, Limits(num_files=10, num_bytes=100, grace_s=0))
    assert [upload.path for upload in chosen.uploads] == ["p/a/0"]
    plans = [RunPlan(uploads=(file("p/a/1", size=600), file("p/a/2", size=1)))]
    assert [u.path for u in choose_batch(plans, Limits(num_files=9, num_bytes=100, grace_s=0)).uploads] == ["p/a/1"]


def test_a_batch_that_takes_everything_says_so():
    plans = [RunPlan(uploads=(file("p/a/0"),), deletes=("p/a/metrics/w-1-1.parquet",))]
    chosen = choose_batch(plans, EVERYTHING)
    assert chosen.is_all
    assert chosen.deletes == ("p/a/metrics/w-1-1.parquet",)
    assert not choose_batch(plans, Limits(num_files=1, num_bytes=100, grace_s=0)).is_all
    assert choose_batch([], EVERYTHING).is_all
