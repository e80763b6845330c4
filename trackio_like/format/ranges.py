"""Which shards to read, so that every row is read once: pure, so every case is a unit test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trackio_like.format.names import ShardName


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One shard of a reading plan."""

    shard: ShardName
    after: int
    """Take only rows whose seq is larger; 0 where the whole shard is wanted."""

    @property
    def is_whole(self) -> bool:
        """Whether every row of the shard is wanted."""
        return self.after < self.shard.first


def plan_reads(shards: Iterable[ShardName]) -> list[Read]:
    """The fewest shards that together hold every row once, by writer and then range.

    A larger range covers the smaller ones in it. Where two ranges overlap in part (two daemons sealed the same journal
    at once), the second gives only what lies behind the first.

    Args:
        shards: one kind's shards of one run, of any writers, in any order.
    """
    plan: list[Read] = []
    covered: dict[str, int] = {}
    for shard in sorted(shards, key=lambda s: (s.writer, s.first, -s.last)):
        after = covered.get(shard.writer, 0)
        if shard.last <= after:
            continue
        plan.append(Read(shard=shard, after=after))
        covered[shard.writer] = shard.last
    return plan


def covered_seqs(shards: Iterable[ShardName]) -> dict[str, int]:
    """The largest sequence number that shards hold, by writer.

    A writer's shards leave no gap that a journal still fills, for they are sealed in order.
    """
    covered: dict[str, int] = {}
    for shard in shards:
        covered[shard.writer] = max(covered.get(shard.writer, 0), shard.last)
    return covered


__all__ = ["Read", "covered_seqs", "plan_reads"]
