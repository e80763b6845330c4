"""Reading plans: every row once."""

from hypothesis import given
from hypothesis import strategies as st

from trackio_like.format.names import ShardName
from trackio_like.format.ranges import Read, covered_seqs, plan_reads


def shard(first, last, writer="w"):
    return ShardName(writer=writer, first=first, last=last)


ranges = st.tuples(st.integers(1, 60), st.integers(0, 20)).map(lambda pair: shard(pair[0], pair[0] + pair[1]))


def test_a_larger_range_covers_the_smaller_ones_in_it():
    plan = plan_reads([shard(1, 10), shard(11, 20), shard(1, 20), shard(21, 25)])
    assert plan == [Read(shard=shard(1, 20), after=0), Read(shard=shard(21, 25), after=20)]
    assert [read.is_whole for read in plan] == [True, True]


def test_a_range_that_overlaps_in_part_gives_only_what_lies_behind():
    assert plan_reads([shard(5, 15), shard(1, 10)]) == [
        Read(shard=shard(1, 10), after=0),
        Read(shard=shard(5, 15), after=10),
    ]


def test_writers_do_not_cover_each_other():
    assert len(plan_reads([shard(1, 20, "a"), shard(5, 10, "b")])) == 2


@given(st.lists(ranges, max_size=12))
def test_every_row_is_read_exactly_once_whatever_the_ranges(shards):
    wanted = {seq for name in shards for seq in range(name.first, name.last + 1)}
    read = [seq for r in plan_reads(shards) for seq in range(r.shard.first, r.shard.last + 1) if seq > r.after]
    assert sorted(read) == sorted(wanted)


@given(st.lists(ranges, max_size=12), st.randoms())
def test_a_plan_does_not_depend_on_the_order_of_the_listing(shards, random):
    shuffled = list(shards)
    random.shuffle(shuffled)
    assert plan_reads(shuffled) == plan_reads(shards)


def test_what_shards_hold_is_told_by_writer():
    assert covered_seqs([shard(1, 5, "a"), shard(6, 9, "a"), shard(1, 3, "b")]) == {"a": 9, "b": 3}
