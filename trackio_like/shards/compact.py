"""Compaction: small shards become one that covers them, while readers read."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trackio_like.format.names import Kind, ShardName
from trackio_like.format.ranges import plan_reads
from trackio_like.shards.files import DRAFT_SUFFIX, ShardInfo, read_info, write_shard
from trackio_like.shards.plan import SizedShard, covered_by_others, covering_name, plan_merges
from trackio_like.shards.tables import merge_summaries

GRACE_S: Final = 10.0
"""How long a covered shard stays for readers that have just planned to read it."""
_CONSTANT: Final = frozenset({"project", "run_id", "writer", "attempt"})
"""The same in every row of one writer's shards."""
_DRAFT_AGE_S: Final = 600.0
_MERGED_LEVEL: Final = 3
"""zstd level of merged shards: higher ones cost more time than they save bytes."""


def list_shards(folder: Path) -> dict[ShardName, os.stat_result]:
    """The shards in a kind's folder and their files' status; empty where there is no folder."""
    found: dict[ShardName, os.stat_result] = {}
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            name = ShardName.parse(entry.name)
            if name is not None:
                with contextlib.suppress(FileNotFoundError):
                    found[name] = entry.stat()
    return found


def compact_folder(folder: Path, kind: Kind, *, closed_writers: Iterable[str], own_writers: Iterable[str]) -> int:
    """Merges what is worth merging in one kind's folder of one run.

    Args:
        folder: the kind's folder.
        kind: the kind.
        closed_writers: those that write no more: their shards become as few as possible.
        own_writers: those whose shards may be touched at all, closed or not.

    Returns:
        How many shards were merged away.

    Raises:
        OSError: the disk refuses; every row stays where it was.
        ValueError: a shard is damaged; it stays as it is, and so do its neighbours.
    """
    closed, own = set(closed_writers), set(own_writers)
    shards = list_shards(folder)
    covered = covered_by_others(shards)
    num_merged = 0
    for writer in sorted({name.writer for name in shards} & own):
        sized = [
            SizedShard(name=name, num_bytes=status.st_size, num_rows=_num_rows(folder / str(name)))
            for name, status in shards.items()
            if name.writer == writer and name not in covered
        ]
        for group in plan_merges(sized, is_closed=writer in closed):
            merge_shards(folder, kind, group)
            num_merged += len(group)
    return num_merged


def _num_rows(path: Path) -> int:
    """Rows in a shard; 0 where that cannot be read: merging it will say why."""
    try:
        return _read_num_rows(path)
    except (OSError, ValueError):
        return 0


@functools.lru_cache(maxsize=4096)
def _read_num_rows(path: Path) -> int:
    num_rows: int = pq.read_metadata(path).num_rows
    return num_rows


def drop_covered(folder: Path, *, grace_s: float = GRACE_S, now_s: float | None = None) -> tuple[int, int]:
    """Deletes shards that a larger one has covered for a while, and drafts that a killed process left.

    Args:
        folder: a kind's folder of one run.
        grace_s: how long the covering shard must have been there.
        now_s: seconds since the epoch; the clock's where None.

    Returns:
        How many were deleted, and how many covered ones still wait for their grace to end.
    """
    now = time.time() if now_s is None else now_s
    shards = list_shards(folder)
    num_dropped = num_waiting = 0
    for name, by in covered_by_others(shards).items():
        # Its change time: a merged shard carries the modification time of its rows.
        if now - shards[by].st_ctime < grace_s:
            num_waiting += 1
            continue
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder / str(name))
            num_dropped += 1
    _drop_drafts(folder, now)
    return num_dropped, num_waiting


def _drop_drafts(folder: Path, now: float) -> None:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(DRAFT_SUFFIX):
                with contextlib.suppress(FileNotFoundError):
                    if now - entry.stat().st_mtime > _DRAFT_AGE_S:
                        os.unlink(entry.path)


def merge_shards(folder: Path, kind: Kind, group: Sequence[ShardName]) -> ShardName:
    """Writes the shard that covers some neighbours; these stay until `drop_covered`.

    Args:
        folder: the kind's folder.
        kind: the kind.
        group: neighbours of one writer, by rising range.

    Returns:
        The covering shard's name.

    Raises:
        FileNotFoundError: a shard is gone; nothing was written.
        OSError: the disk refuses; nothing was written.
        ValueError: a shard is damaged; nothing was written.
    """
    name = covering_name(group)
    tables, infos = [], []
    for read in plan_reads(group):
        table, info = _read_part(folder / str(read.shard), kind)
        if not read.is_whole:
            # Partly overlapping ranges come from two daemons at once; their summaries overlap too, so count anew.
            table = table.filter(pc.greater(table["seq"], read.after))
            info = replace(info, num_rows=table.num_rows, summary={})
        tables.append(table)
        infos.append(info)
    table = _sorted(pa.concat_tables(tables).unify_dictionaries().combine_chunks(), kind)
    merged = replace(infos[0], num_rows=table.num_rows, summary=_summary(table, kind, infos))
    # A shard's time says when its rows were sealed: an old run must not look active because it was compacted.
    mtime_ns = max(os.stat(folder / str(part)).st_mtime_ns for part in group)
    write_shard(folder, name, kind, table, info=merged, compression_level=_MERGED_LEVEL, mtime_ns=mtime_ns)
    return name


def _read_part(path: Path, kind: Kind) -> tuple[pa.Table, ShardInfo]:
    info = read_info(path)
    try:
        table = pq.read_table(path, read_dictionary=_dictionary_columns(kind), partitioning=None)
    except pa.ArrowInvalid as error:
        raise ValueError(f"This shard is damaged: {path}") from error
    return table, info


def _dictionary_columns(kind: Kind) -> list[str]:
    columns = ["project", "run_id", "writer"]
    return [*columns, "key"] if kind in ("metrics", "system") else columns


def _sorted(table: pa.Table, kind: Kind) -> pa.Table:
    if kind not in ("metrics", "system"):
        return table.sort_by("seq")
    keys = table["key"].combine_chunks()
    names = keys.dictionary.to_pylist()
    rank_K = np.empty(len(names), dtype=np.int64)
    rank_K[np.argsort(np.array(names, dtype=object))] = np.arange(len(names))
    code_R = rank_K[keys.indices.to_numpy()]
    seq_R = table["seq"].to_numpy()
    order_R = np.lexsort((seq_R, code_R) if kind == "system" else (seq_R, table["step"].to_numpy(), code_R))
    # Columns that hold one value throughout are the same in any order, and moving text is what costs.
    moved = {
        column: table[column] if column in _CONSTANT or table[column].null_count == table.num_rows
        else table[column].take(pa.array(order_R))
        for column in table.schema.names
    }  # fmt: skip
    return pa.table(moved)


def _summary(table: pa.Table, kind: Kind, infos: Sequence[ShardInfo]) -> dict[str, list[Any]]:
    if kind not in ("metrics", "system"):
        return {}
    if all(info.summary for info in infos):
        return merge_summaries(info.summary for info in infos)
    return summarise_table(table)


def summarise_table(table: pa.Table) -> dict[str, list[Any]]:
    """The footer's summary of rows of one writer, counted from the rows."""
    index = table.schema.get_field_index("key")
    by_seq = table.set_column(index, "key", pc.cast(table["key"], pa.string())).sort_by("seq")
    finite = pc.is_finite(by_seq["value"])
    rows = by_seq.append_column("finite", pc.if_else(finite, by_seq["value"], None)).append_column(
        "is_odd", pc.cast(pc.invert(finite), pa.int64())
    )
    ends = ["value", "step", "seq", "time"]
    grouped = (
        rows.group_by("key", use_threads=False)
        .aggregate(
            [
                ("value", "count"),
                ("is_odd", "sum"),
                ("finite", "min"),
                ("finite", "max"),
                *((column, "last") for column in ends),
                ("value_int", "last", pc.ScalarAggregateOptions(skip_nulls=False)),
                ("step", "first"),
                ("time", "first"),
            ]
        )
        .sort_by("key")
    )
    times = {f"time_{end}": pc.cast(grouped[f"time_{end}"], pa.int64()).to_pylist() for end in ("first", "last")}
    return {
        "key": grouped["key"].to_pylist(),
        "count": grouped["value_count"].to_pylist(),
        "num_non_finite": grouped["is_odd_sum"].to_pylist(),
        "min": grouped["finite_min"].to_pylist(),
        "max": grouped["finite_max"].to_pylist(),
        "last": [
            value if exact is None else exact
            for value, exact in zip(
                grouped["value_last"].to_pylist(), grouped["value_int_last"].to_pylist(), strict=True
            )
        ],
        "last_step": [step or 0 for step in grouped["step_last"].to_pylist()],
        "last_seq": grouped["seq_last"].to_pylist(),
        "last_time_us": times["time_last"],
        "first_step": [step or 0 for step in grouped["step_first"].to_pylist()],
        "first_time_us": times["time_first"],
    }


__all__ = [
    "GRACE_S",
    "compact_folder",
    "drop_covered",
    "list_shards",
    "merge_shards",
    "summarise_table",
]
