"""Rows out of shards: DuckDB for points and tables, explicit file lists, a cursor per call."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from trackio_like.query.points import Points
from trackio_like.query.records import Event
from trackio_like.store.blocks import Floats, Ints
from trackio_like.store.shard_files import ShardRead

_FEW_FILES: Final = 4
_FEW_FILES_AT_FIRST: Final = 100
"""As long as no database is started: that takes as long as to open so many files."""
LOAD_ERRORS: Final = (duckdb.Error, OSError, pa.ArrowException, ValueError, LookupError)
"""What reading a file that is gone or damaged raises: a flipped bit may leave what is no text, or a wrong index."""

_GLOB: Final = re.compile(r"[\[*?]")

_lock = threading.Lock()
_base: list[duckdb.DuckDBPyConnection] = []
_of_parents: list[duckdb.DuckDBPyConnection] = []
"""Databases from before a fork: their threads are not here, so that even closing them would wait forever."""


def _forget_database() -> None:
    """In a forked child: the next question starts a database of its own."""
    global _lock  # noqa: PLW0603 - the parent's may be held by a thread that is not here
    _lock = threading.Lock()
    _of_parents.extend(_base)
    _base.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_database)


def open_cursor() -> duckdb.DuckDBPyConnection:
    """A DuckDB cursor of this process's database, for one caller; it never leaves this machine."""
    with _lock:
        if not _base:
            con = duckdb.connect()
            con.execute("SET autoinstall_known_extensions = false")
            con.execute("SET autoload_known_extensions = false")
            # Statistics leave NaN out, so that without this a filter may skip it.
            con.execute("SET parquet_can_have_nan = true")
            con.execute("SET TimeZone = 'UTC'")
            con.execute("SET memory_limit = '2GB'")
            con.execute("SET lock_configuration = true")
            _base.append(con)
        return _base[0].cursor()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Points of one shard and key, in the order of their sequence numbers; [N] each."""

    seq_N: Ints
    step_N: Ints
    """Zeros where the kind has no steps."""
    time_N: Ints
    """Microseconds since the epoch."""
    value_N: Floats

    def to_points(self) -> Points:
        """As arrays that can grow."""
        return Points(self.seq_N, self.step_N, self.time_N, self.value_N)


def load_points(reads: Sequence[ShardRead], keys: Sequence[str]) -> dict[tuple[int, str], Columns]:
    """The points of some keys in some shards.

    Args:
        reads: shards of one kind; others' rows are never read twice.
        keys: distinct.

    Returns:
        The points by position in `reads` and key; pairs without points are left out.

    Raises:
        duckdb.Error: a file is gone or damaged.
        OSError: the same.
        pa.ArrowException: a file is damaged.
    """
    if not reads or not keys:
        return {}
    load = load_few if len(reads) <= (_FEW_FILES if _base else _FEW_FILES_AT_FIRST) else load_many
    return load(reads, keys)


def load_many(reads: Sequence[ShardRead], keys: Sequence[str]) -> dict[tuple[int, str], Columns]:
    """As `load_points`, by DuckDB: five times faster over hundreds of files."""
    wanted = ", ".join(["?"] * len(keys))
    sql = f"""
        SELECT file_index::BIGINT AS file, list_position(?, key)::BIGINT AS key, seq,
               coalesce(step, 0) AS step, epoch_us(time) AS time, value
        FROM read_parquet(?, hive_partitioning = false) WHERE key IN ({wanted})
    """  # noqa: S608 - only question marks are put in
    with open_cursor() as cursor:
        table = cursor.sql(sql, params=[list(keys), exact_paths(reads), *keys]).to_arrow_table()
    file_N, key_N, seq_N, step_N, time_N = (_numbers(table.column(i), np.int64) for i in range(5))
    value_N = _numbers(table.column(5), np.float64)
    result: dict[tuple[int, str], Columns] = {}
    for group, rows in _groups(file_N * len(keys) + (key_N - 1)):
        file, key = divmod(group, len(keys))
        columns = Columns(seq_N=seq_N[rows], step_N=step_N[rows], time_N=time_N[rows], value_N=value_N[rows])
        _put(result, file, keys[key], columns, reads[file], is_alone=False)
    return result


def load_few(reads: Sequence[ShardRead], keys: Sequence[str]) -> dict[tuple[int, str], Columns]:
    """As `load_points`, by pyarrow: no database to start, which takes longer than to read a file or two."""
    result: dict[tuple[int, str], Columns] = {}
    for number, read in enumerate(reads):
        with pq.ParquetFile(read.shard.path, read_dictionary=["key"]) as file:
            names = ["seq", "step", "time", "value", "key"]
            table = file.read_row_groups(_groups_with(file.metadata, keys), columns=names, use_threads=False)
        seq_N, step_N, time_N = (_numbers(table.column(name), np.int64) for name in names[:3])
        value_N = _numbers(table.column("value"), np.float64)
        for key, rows in _groups(_key_positions(table.column("key"), keys)):
            if key >= 0:
                columns = Columns(seq_N=seq_N[rows], step_N=step_N[rows], time_N=time_N[rows], value_N=value_N[rows])
                _put(result, number, keys[key], columns, read, is_alone=len(columns.seq_N) == len(seq_N))
    return result


def _put(
    result: dict[tuple[int, str], Columns],
    number: int,
    key: str,
    columns: Columns,
    read: ShardRead,
    *,
    is_alone: bool,
) -> None:
    part = _by_seq(columns, after=0 if read.is_whole else read.after, is_alone=is_alone)
    if len(part.seq_N):
        result[number, key] = part


def _groups_with(metadata: Any, keys: Sequence[str]) -> list[int]:
    """The row groups that may hold one of the keys, by their statistics."""
    column = next(i for i in range(metadata.num_columns) if metadata.schema.column(i).name == "key")
    found = []
    for group in range(metadata.num_row_groups):
        known = metadata.row_group(group).column(column).statistics
        if known is None or not known.has_min_max or any(known.min <= key <= known.max for key in keys):
            found.append(group)
    return found


def _key_positions(column: pa.ChunkedArray, keys: Sequence[str]) -> npt.NDArray[np.int32]:
    """[N] where each row's key is among the keys, -1 for others."""
    position = {key: number for number, key in enumerate(keys)}
    parts = [np.empty(0, np.int32)]
    for chunk in column.chunks:
        codes = chunk.indices
        code_N = np.frombuffer(codes.buffers()[1], np.int32, count=len(codes), offset=4 * codes.offset)
        of_code = np.array([position.get(key, -1) for key in chunk.dictionary.to_pylist()], np.int32)
        parts.append(of_code[code_N])
    return np.concatenate(parts)


def exact_paths(reads: Sequence[ShardRead]) -> list[str]:
    """The shards' files for `read_parquet`, which would take `*`, `?` and `[` in a folder's name for a pattern.

    Say `hive_partitioning = false` too: a folder named `key=1` would otherwise take the place of a column.
    """
    return [_GLOB.sub(r"[\g<0>]", str(read.shard.path)) for read in reads]


def _groups(group_N: Ints | npt.NDArray[np.int32]) -> list[tuple[int, slice | Ints]]:
    """The rows of each group."""
    if len(group_N) == 0:
        return []
    if (group_N[1:] >= group_N[:-1]).all():
        if group_N[0] == group_N[-1]:
            return [(int(group_N[0]), slice(0, len(group_N)))]
        order = None
    else:
        order = np.argsort(group_N, kind="stable")
        group_N = group_N[order]
    starts = [0, *(np.flatnonzero(group_N[1:] != group_N[:-1]) + 1).tolist()]
    stops = [*starts[1:], len(group_N)]
    return [
        (int(group_N[start]), slice(start, stop) if order is None else order[start:stop])
        for start, stop in zip(starts, stops, strict=True)
    ]


def _by_seq(columns: Columns, *, after: int, is_alone: bool) -> Columns:
    """In the order of calls, behind a sequence number: shards are sorted by step.

    Args:
        columns: in any order.
        after: only points with a larger seq.
        is_alone: whether the arrays hold nothing else; a part of larger ones is copied, or it would keep all of it.
    """
    seq_N = columns.seq_N
    rows: slice | npt.NDArray[np.intp]
    if (seq_N[1:] > seq_N[:-1]).all():
        start = int(np.searchsorted(seq_N, after, side="right"))
        if is_alone and start == 0:
            return columns
        rows = slice(start, None)
    else:
        order = np.argsort(seq_N, kind="stable")
        rows = order[seq_N[order] > after]
    return Columns(
        seq_N=seq_N[rows].copy(),
        step_N=columns.step_N[rows].copy(),
        time_N=columns.time_N[rows].copy(),
        value_N=columns.value_N[rows].copy(),
    )


def load_events(read: ShardRead) -> list[Event]:
    """The events of one shard.

    Raises:
        OSError: the file is gone.
        pa.ArrowException: it is damaged.
    """
    columns = ["writer", "seq", "attempt", "type", "payload"]
    table = read_columns(read, [*columns, "time"])
    times = _numbers(table.column("time"), np.int64).tolist()
    rows = zip(*(table.column(name).to_pylist() for name in columns), times, strict=True)
    return [
        Event(time_us=time_us, writer=writer, seq=seq, attempt=attempt, type=type_, payload=_map(payload))
        for writer, seq, attempt, type_, payload, time_us in rows
        if seq > read.after
    ]


def read_columns(read: ShardRead, columns: Sequence[str]) -> pa.Table:
    """Some columns of a small shard.

    Raises:
        OSError: the file is gone.
        pa.ArrowException: it is damaged.
    """
    # Not `read_table`, whose first call imports the datasets of pyarrow for a third of a second.
    with pq.ParquetFile(read.shard.path) as file:
        return file.read(columns=list(columns), use_threads=False)


def load_time_span(read: ShardRead) -> tuple[int, int]:
    """When the first and the last row of a shard were logged, in microseconds since the epoch.

    Raises:
        OSError: the file is gone.
        pa.ArrowException: it is damaged.
        ValueError: it has no row.
    """
    times = _numbers(read_columns(read, ["time"]).column("time"), np.int64)
    return int(times.min()), int(times.max())


def _numbers(column: pa.ChunkedArray, dtype: type[np.int64 | np.float64]) -> npt.NDArray[Any]:
    """A column of 8-byte numbers or times; zeros where it is null.

    Not by `to_numpy` and `cast`, whose first calls import pandas and all of pyarrow's functions: 50 MB and 0.3 s.
    """
    chunks = [
        np.frombuffer(chunk.buffers()[1], dtype, count=len(chunk), offset=8 * chunk.offset)
        if chunk.null_count == 0
        else np.zeros(len(chunk), dtype)  # steps of a kind that has none
        for chunk in column.chunks
        if len(chunk)
    ]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0, dtype), *chunks])


def _map(text: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


__all__ = [
    "LOAD_ERRORS",
    "Columns",
    "exact_paths",
    "load_events",
    "load_few",
    "load_many",
    "load_points",
    "load_time_span",
    "open_cursor",
    "read_columns",
]
