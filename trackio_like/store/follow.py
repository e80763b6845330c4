"""Follows one run: every row is handed over once, whether it is met in a journal or in a shard.

Journals are read first and shards listed after them: what left a journal in between is in a shard by then. `seq`
numbers all calls of a writer without a gap, so a batch that begins right behind what was seen before needs no shard.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like.format.names import Kind, ShardName
from trackio_like.format.ranges import Read, covered_seqs, plan_reads
from trackio_like.format.records import Header
from trackio_like.store.blocks import Batch
from trackio_like.store.faults import Faults
from trackio_like.store.shard_files import Shard, ShardRead, open_shard, parse_shard_names
from trackio_like.store.tails import JournalFollower
from trackio_like.store.watch import WatchedFolder

FOLLOWED: Final[tuple[Kind, ...]] = ("metrics", "system", "events", "objects")
_MAX_LISTINGS: Final = 5
"""How often a folder is listed again while its files vanish between listing and opening."""

Spans = dict[str, tuple[int, int]]
"""First and last sequence number, by writer."""


@dataclass(slots=True, kw_only=True)
class Delta:
    """What a run gained since the last look: first the shards' rows, then the batches'."""

    reads: list[ShardRead] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    seen: dict[Kind, dict[str, int]] = field(default_factory=dict)
    """Of a batch, only rows behind these sequence numbers are new, by kind and writer."""
    has_new_listing: bool = False
    """Whether shards came or went, so that rows may have moved from journals into shards."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all changed."""
        return not (self.reads or self.batches or self.has_new_listing)


class RunFollower:
    """One run's files; not thread-safe."""

    def __init__(self, path: Path, *, faults: Faults, kinds: Sequence[Kind] = FOLLOWED) -> None:
        """Starts with nothing seen: the first `advance` hands over all rows.

        Args:
            path: the run's folder.
            faults: where skipped files are noted.
            kinds: whose shards are followed; of others nothing is known but what journals hold.
        """
        self.path = path
        self._kinds = tuple(kinds)
        self._faults = faults
        self._journals = JournalFollower(path / "journal", faults=faults)
        self._folders: dict[Kind, WatchedFolder] = {kind: WatchedFolder(path / kind) for kind in self._kinds}
        self._shards: dict[Kind, dict[ShardName, Shard | None]] = {kind: {} for kind in self._kinds}
        self._plans: dict[Kind, list[Read]] = {kind: [] for kind in self._kinds}
        self._covered: dict[Kind, dict[str, int]] = {kind: {} for kind in self._kinds}
        self._seen: dict[Kind, dict[str, int]] = {kind: {} for kind in self._kinds}
        self._num_handed: dict[Kind, dict[str, int]] = {kind: {} for kind in self._kinds}
        self.has_late_rows = False
        """Whether shards hold rows that were passed over, so that the run must be read anew.

        A mirror may get a writer's later shard before an earlier one: rows are told apart by sequence numbers alone.
        """

    @property
    def headers(self) -> dict[str, Header]:
        """Who wrote each journal seen so far, by writer."""
        return self._journals.headers

    @property
    def num_journals(self) -> int:
        """How many journal segments are there now."""
        return self._journals.num_open

    def plan(self, kind: Kind) -> list[ShardRead]:
        """The shards that together hold each sealed row once, as of the last look.

        Raises:
            FileNotFoundError: one of them is gone: `relist` and `advance`.
        """
        # Shards whose rows were all met in journals are opened only now: a live run makes a new one every second.
        if None in self._shards[kind].values() and not self._open_new(kind, reach=None):
            raise FileNotFoundError(self._folders[kind].path)
        return [
            ShardRead(shard=shard, after=read.after)
            for read in self._plans[kind]
            if (shard := self._shards[kind][read.shard]) is not None
        ]

    def covered(self, kind: Kind) -> dict[str, int]:
        """How far the shards of a kind reach, by writer, as of the last look."""
        return self._covered[kind]

    def advance(self, *, look_at_shards: bool = True) -> Delta:
        """What is new since the last look.

        Args:
            look_at_shards: False saves a look into the shards' folders where the journals follow on from what was seen.
        """
        delta = Delta(batches=self._journals.read())
        spans = _contiguous_spans(delta.batches)
        if look_at_shards or self._journals.has_lost_tail or self._has_gap(delta.batches, spans):
            delta.has_new_listing = self._list_shards(spans)
        for kind in self._kinds:
            seen = self._seen[kind]
            if delta.has_new_listing:
                delta.reads += self._unseen(kind, spans)
                self.has_late_rows |= self._has_passed_over(kind)
            delta.seen[kind] = dict(seen)
            for batch in delta.batches:
                writer = batch.header.writer
                seen[writer] = max(seen.get(writer, 0), batch.last_seq)
        return delta

    def relist(self) -> None:
        """Forgets folder times, after a file that was listed turned out to be gone."""
        for kind in self._kinds:
            self._folders[kind] = WatchedFolder(self.path / kind)

    def _has_gap(self, batches: list[Batch], spans: Spans) -> bool:
        """Whether rows lie between what was seen and the batches."""
        if not batches:
            return False
        if any(batch.header.writer not in spans for batch in batches):
            return True
        return any(
            first > self._seen[kind].get(writer, 0) + 1 for writer, (first, _) in spans.items() for kind in self._kinds
        )

    def _list_shards(self, spans: Spans) -> bool:
        changed = False
        for kind in self._kinds:
            for _ in range(_MAX_LISTINGS):
                if not self._folders[kind].refresh():
                    break
                changed = True
                if self._open_new(kind, reach=_reach(self._seen[kind], spans)):
                    break
                # A file that vanished under us was compacted away just now: the next listing has its successor.
                self._folders[kind] = WatchedFolder(self.path / kind)
        return changed

    def _open_new(self, kind: Kind, *, reach: dict[str, int] | None) -> bool:
        """Takes over a listing.

        Args:
            kind: whose.
            reach: how far each writer's rows are known without shards: one that has a journal here and all of them
                within needs none opened now; None opens all.

        Returns:
            False where a file was gone before it could be opened.
        """
        folder, known = self._folders[kind], self._shards[kind]
        names = parse_shard_names(folder.names)
        plan, covered = plan_reads(names), covered_seqs(names)
        usable: dict[ShardName, Shard | None] = {}
        pending = [read.shard for read in plan]
        while pending:
            name = pending.pop()
            shard = known.get(name)
            reached = reach.get(name.writer, 0) if reach is not None and name.writer in self.headers else 0
            if shard is None and covered[name.writer] <= reached:
                usable[name] = None
                continue
            path = folder.path / str(name)
            try:
                if shard is None and path not in self._faults:
                    shard = open_shard(path, kind, name, faults=self._faults)
            except FileNotFoundError as error:
                if not os.path.islink(path):
                    return False
                self._faults.add(path, error)  # listed again it would still lead nowhere
            if shard is not None:
                usable[name] = shard
                continue
            # What a damaged shard would have covered may still be there in smaller ones.
            names.remove(name)
            plan = plan_reads(names)
            pending = [read.shard for read in plan if read.shard not in usable]
        self._plans[kind] = plan
        self._shards[kind] = {read.shard: usable[read.shard] for read in plan}
        self._covered[kind] = covered_seqs(self._shards[kind])
        return True

    def _unseen(self, kind: Kind, spans: Spans) -> list[ShardRead]:
        seen = self._seen[kind]
        unseen: dict[str, list[Read]] = {}
        for read in self._plans[kind]:
            if read.shard.last > max(read.after, seen.get(read.shard.writer, 0)):
                unseen.setdefault(read.shard.writer, []).append(read)
        reach = _reach(seen, spans)
        reads: list[ShardRead] = []
        for writer, own in unseen.items():
            last = own[-1].shard.last
            # All or nothing, because shards are taken in before batches: a part of each would be out of order.
            if last <= reach.get(writer, 0):
                continue
            before = seen.get(writer, 0)
            for read in own:
                shard = self._shards[kind][read.shard]
                assert shard is not None, "a writer's shards are passed over only where all its rows are known"
                reads.append(ShardRead(shard=shard, after=max(read.after, before)))
                if writer not in self.headers:
                    handed = self._num_handed[kind]
                    handed[writer] = handed.get(writer, 0) + reads[-1].count_rows()
            seen[writer] = last
        return reads

    def _has_passed_over(self, kind: Kind) -> bool:
        """Whether the shards of a writer that never had a journal here hold more rows than were handed over."""
        totals: dict[str, int] = {}
        for read in self._plans[kind]:
            shard = self._shards[kind][read.shard]
            if shard is not None and read.shard.writer not in self.headers:
                num_rows = ShardRead(shard=shard, after=read.after).count_rows()
                totals[read.shard.writer] = totals.get(read.shard.writer, 0) + num_rows
        handed = self._num_handed[kind]
        return any(total > handed.get(writer, 0) for writer, total in totals.items())


def _reach(seen: dict[str, int], spans: Spans) -> dict[str, int]:
    """How far each writer's rows are known without shards: what was seen before, and what follows without a gap."""
    reach = dict(seen)
    for writer, (first, last) in spans.items():
        if first <= reach.get(writer, 0) + 1:
            reach[writer] = max(reach.get(writer, 0), last)
    return reach


def _contiguous_spans(batches: list[Batch]) -> Spans:
    """First and last seq of each writer's batches, of those writers whose batches leave no gap among themselves."""
    spans: Spans = {}
    gapped: set[str] = set()
    for batch in batches:
        writer = batch.header.writer
        first, last = spans.get(writer, (batch.first_seq, batch.first_seq - 1))
        if batch.first_seq != last + 1:
            gapped.add(writer)
        spans[writer] = (first, batch.last_seq)
    return {writer: span for writer, span in spans.items() if writer not in gapped}


__all__ = ["FOLLOWED", "Delta", "RunFollower"]
