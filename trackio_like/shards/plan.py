"""Which shards to merge, and which to delete: pure, so every case is a unit test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from trackio_like.format.names import ShardName

MAX_SHARD_BYTES: Final = 64 << 20
"""A merged shard is not made larger than about this: what a reader holds while it reads one."""
MAX_SHARD_ROWS: Final = 2 << 20
"""Nor of more rows than about this: a merge takes some 200 bytes of memory for each, however few bytes it has here."""
FAN_IN: Final = 8
"""So many shards of one size class become one of the next: each row is rewritten a few times in all."""
_SMALLEST_CLASS_BYTES: Final = 128 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedShard:
    """A shard and its size."""

    name: ShardName
    num_bytes: int
    num_rows: int


def plan_merges(shards: Iterable[SizedShard], *, is_closed: bool) -> list[tuple[ShardName, ...]]:
    """Which shards of one writer and kind become one.

    Args:
        shards: that the others do not cover; in any order.
        is_closed: whether the writer writes no more: then as few shards as fit the size are left.

    Returns:
        Groups of at least two neighbours, by rising range.
    """
    ordered = sorted(shards, key=lambda shard: shard.name)
    if is_closed:
        return _merge_all(ordered)
    return _merge_classes(ordered)


def _merge_all(ordered: Sequence[SizedShard]) -> list[tuple[ShardName, ...]]:
    groups: list[list[SizedShard]] = []
    for shard in ordered:
        if groups and _fits(groups[-1], shard):
            groups[-1].append(shard)
        else:
            groups.append([shard])
    return [tuple(shard.name for shard in group) for group in groups if len(group) > 1]


def _fits(group: Sequence[SizedShard], shard: SizedShard) -> bool:
    num_bytes = shard.num_bytes + sum(s.num_bytes for s in group)
    num_rows = shard.num_rows + sum(s.num_rows for s in group)
    return num_bytes <= MAX_SHARD_BYTES and num_rows <= MAX_SHARD_ROWS


def _merge_classes(ordered: Sequence[SizedShard]) -> list[tuple[ShardName, ...]]:
    """The newest `FAN_IN` or more neighbours whose size class is not above that of any before them."""
    group: list[SizedShard] = []
    top = 0
    for shard in reversed(ordered):
        level = size_class(shard.num_bytes)
        if level > top and len(group) >= FAN_IN:
            break
        if level > top:
            # Fewer than a full class: they wait, and do not keep an older full class from merging.
            group, top = [], level
        if not _fits(group, shard):
            break
        group.append(shard)
    if len(group) < FAN_IN:
        return []
    return [tuple(shard.name for shard in reversed(group))]


def size_class(num_bytes: int) -> int:
    """0 for a fresh shard, one more for each factor of `FAN_IN`."""
    level = 0
    while num_bytes > _SMALLEST_CLASS_BYTES:
        num_bytes //= FAN_IN
        level += 1
    return level


def covering_name(group: Sequence[ShardName]) -> ShardName:
    """The name of the shard that stands for a group of neighbours."""
    for before, after in pairwise(group):
        if before.writer != after.writer or after.first < before.first:
            raise ValueError(f"Only neighbours of one writer can be merged, not {before} and {after}.")
    return ShardName(writer=group[0].writer, first=group[0].first, last=max(name.last for name in group))


def covered_by_others(names: Iterable[ShardName]) -> dict[ShardName, ShardName]:
    """The shards whose range lies within a larger one's, and which one that is."""
    covered: dict[ShardName, ShardName] = {}
    largest: ShardName | None = None
    for name in sorted(names, key=lambda n: (n.writer, n.first, -n.last)):
        if largest is not None and largest.writer == name.writer and name.last <= largest.last:
            covered[name] = largest
        else:
            largest = name
    return covered


__all__ = [
    "FAN_IN",
    "MAX_SHARD_BYTES",
    "SizedShard",
    "covered_by_others",
    "covering_name",
    "plan_merges",
    "size_class",
]
