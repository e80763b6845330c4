"""A run's shards of one kind: which there are, and what their footers say."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trackio_like.format.names import Kind, ShardName
from trackio_like.format.schemas import parse_footer
from trackio_like.store.faults import Faults


@dataclass(slots=True, kw_only=True)
class Shard:
    """A shard whose footer was read; only `take_summary` changes it."""

    path: Path
    name: ShardName
    kind: Kind
    attempt: int
    """The writer's attempt, from 1."""
    rank: int
    """The writer's rank in a distributed job, 0 alone."""
    num_rows: int
    keys: frozenset[str]
    """The keys of its rows; empty for kinds without scalars."""
    summary: dict[str, list[Any]] | None
    """`SUMMARY_COLUMNS`, each as long as there are keys; None once taken, for thousands of keys take megabytes."""

    def take_summary(self) -> dict[str, list[Any]]:
        """The summary, which is then no longer held; read again from the file where it was taken before."""
        summary, self.summary = self.summary, None
        if summary is None:
            document = parse_footer(pq.read_metadata(self.path).metadata)
            summary = {} if document is None else document["summary"]
        return summary


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRead:
    """Rows of one shard."""

    shard: Shard
    after: int
    """Only rows whose seq is larger."""

    @property
    def is_whole(self) -> bool:
        """Whether every row is wanted, so that the footer's summary describes them."""
        return self.after < self.shard.name.first

    def count_rows(self) -> int:
        """How many rows they are; a file that is gone or damaged counts as none, for nobody will read it."""
        if self.is_whole:
            return self.shard.num_rows
        try:
            seq_R = pq.read_table(self.shard.path, columns=["seq"], partitioning=None)["seq"].to_numpy()
        except (OSError, pa.ArrowException):
            return 0
        return int((seq_R > self.after).sum())


def parse_shard_names(names: Iterable[str]) -> list[ShardName]:
    """The shards among a folder's file names; drafts and strangers are passed over."""
    return [shard for shard in map(ShardName.parse, names) if shard is not None]


def open_shard(path: Path, kind: Kind, name: ShardName, *, faults: Faults) -> Shard | None:
    """Reads a shard's footer.

    Returns:
        None where the file is damaged, foreign or of a newer version: a fault is noted then.

    Raises:
        FileNotFoundError: it is gone: list again.
    """
    try:
        document = parse_footer(pq.read_metadata(path).metadata)
        if document is None or document["kind"] != kind:
            faults.add(path, f"it is not a shard of kind {kind}")
            return None
        return Shard(
            path=path,
            name=name,
            kind=kind,
            attempt=document["attempt"],
            rank=document["rank"],
            num_rows=document["num_rows"],
            keys=_shared(frozenset(map(sys.intern, document["summary"].get("key", ())))),
            summary=document["summary"],
        )
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        faults.add(path, error)
        return None


@lru_cache(maxsize=4096)
def _shared(keys: frozenset[str]) -> frozenset[str]:
    """One object for equal sets: the shards of a run mostly have the same keys."""
    return keys


__all__ = ["Shard", "ShardRead", "open_shard", "parse_shard_names"]
