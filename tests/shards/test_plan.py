"""Which shards are merged and which deleted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.format.names import ShardName
from trackio_like.shards.plan import (
    FAN_IN,
    MAX_SHARD_BYTES,
    MAX_SHARD_ROWS,
    SizedShard,
    covered_by_others,
    covering_name,
    plan_merges,
    size_class,
)


def shard(first, last, writer="w"):
    return ShardName(writer=writer, first=first, last=last)


def row_of(*sizes):
    return [
        SizedShard(name=shard(10 * i + 1, 10 * i + 10), num_bytes=size, num_rows=10) for i, size in enumerate(sizes)
    ]


def test_fresh_shards_wait_until_there_are_enough_of_them():
    assert plan_merges(row_of(*[1000] * (FAN_IN - 1)), is_closed=False) == []
    (group,) = plan_merges(row_of(*[1000] * FAN_IN), is_closed=False)
    assert len(group) == FAN_IN


def test_a_large_shard_is_left_alone_by_fresh_ones():
    (group,) = plan_merges(row_of(10 << 20, *[1000] * FAN_IN), is_closed=False)
    assert group[0] == shard(11, 20)


def test_shards_of_many_rows_that_take_few_bytes_stay_apart():
    """A merge holds its rows in memory, and a value that never changes takes next to no bytes."""
    many = [
        SizedShard(name=shard(i, i), num_bytes=1000, num_rows=MAX_SHARD_ROWS // FAN_IN + 1)
        for i in range(1, 2 * FAN_IN + 1)
    ]
    assert plan_merges(many, is_closed=False) == []
    groups = plan_merges(many, is_closed=True)
    assert [len(group) for group in groups] == [FAN_IN - 1, FAN_IN - 1, 2]


def test_full_classes_merge_into_the_next():
    (group,) = plan_merges(row_of(*[1 << 20] * FAN_IN), is_closed=False)
    assert len(group) == FAN_IN


def test_fresh_shards_in_front_of_a_full_class_do_not_keep_it_from_merging():
    (group,) = plan_merges(row_of(*[1 << 20] * FAN_IN, 1000, 1000), is_closed=False)
    assert group[0] == shard(1, 10)


def test_a_closed_writer_is_left_with_as_few_shards_as_the_size_allows():
    half = MAX_SHARD_BYTES // 2
    groups = plan_merges(row_of(half, half, 1000, 1000, half), is_closed=True)
    assert [(group[0].first, group[-1].last) for group in groups] == [(1, 20), (21, 50)]
    assert plan_merges(row_of(1000), is_closed=True) == []


@given(st.lists(st.integers(1, 1 << 26), max_size=40), st.booleans())
def test_groups_are_neighbours_within_the_size(sizes, is_closed):
    shards = row_of(*sizes)
    by_name = {s.name: s.num_bytes for s in shards}
    order = sorted(by_name)
    for group in plan_merges(shards, is_closed=is_closed):
        start = order.index(group[0])
        assert list(group) == order[start : start + len(group)]
        assert len(group) >= 2
        assert sum(by_name[name] for name in group) <= MAX_SHARD_BYTES


@given(st.integers(1, 300))
def test_a_row_is_rewritten_a_few_times_only(num_shards):
    """Merging as shards of 100 kB arrive rewrites each a logarithmic number of times."""
    shards, rewritten = [], 0
    for i in range(num_shards):
        shards.append(SizedShard(name=shard(i + 1, i + 1), num_bytes=100_000, num_rows=10))
        while groups := plan_merges(shards, is_closed=False):
            (group,) = groups
            size = sum(s.num_bytes for s in shards if s.name in group)
            rewritten += size
            shards = [s for s in shards if s.name not in group]
            shards.append(SizedShard(name=covering_name(group), num_bytes=size, num_rows=10))
    assert rewritten <= 4 * num_shards * 100_000
    assert len(shards) <= 3 * FAN_IN


def test_size_classes_grow_by_the_fan_in():
    assert [size_class(n) for n in (1, 128 << 10, (128 << 10) + 1, 2 << 20, 16 << 20)] == [0, 0, 1, 2, 3]


def test_a_group_of_two_writers_is_refused():
    with pytest.raises(ValueError, match="one writer"):
        covering_name([shard(1, 2, "a"), shard(3, 4, "b")])


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 10)), max_size=10))
def test_only_shards_within_a_larger_one_are_covered(pairs):
    names = {shard(first, first + length) for first, length in pairs}
    covered = covered_by_others(names)
    for name, by in covered.items():
        assert by.first <= name.first
        assert name.last <= by.last
        assert by not in covered
    kept = {seq for name in names - covered.keys() for seq in range(name.first, name.last + 1)}
    assert kept == {seq for name in names for seq in range(name.first, name.last + 1)}
