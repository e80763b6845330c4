"""All rows of a run as one table, in the order of the calls: sealed or not, every row once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from trackio_like.format.records import ScalarKind
from trackio_like.query.load import LOAD_ERRORS, exact_paths, open_cursor
from trackio_like.store.blocks import Batch, Block
from trackio_like.store.faults import Faults
from trackio_like.store.follow import RunFollower
from trackio_like.store.shard_files import ShardRead

_COLUMNS: Final = "writer, seq, attempt, step, time, key, value, value_int"
_FILES: Final = "read_parquet(?, hive_partitioning = false)"
_SCHEMA: Final = pa.schema(
    [
        ("writer", pa.string()),
        ("seq", pa.int64()),
        ("attempt", pa.int32()),
        ("step", pa.int64()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("key", pa.string()),
        ("value", pa.float64()),
        ("value_int", pa.int64()),
    ]
)
_MAX_TRIES: Final = 3


def read_history(run_folder: Path, kind: ScalarKind, *, keys: Sequence[str] | None = None, faults: Faults) -> pa.Table:
    """Every row of a kind, as of now.

    Args:
        run_folder: the run's folder.
        kind: metrics or system.
        keys: only these; None for all.
        faults: where skipped files are noted.

    Returns:
        Columns writer, seq, attempt, step, time, key, value, value_int; in the order of attempt, time, writer, call and
        key. `value_int` is the exact integer where a double cannot hold it.
    """
    for _ in range(_MAX_TRIES):
        reads, tail = _look(run_folder, kind, faults)
        try:
            return _query(reads, tail, keys)
        except LOAD_ERRORS:
            continue  # a shard was compacted away in between
    # The same files fail each time: leave out those that are to blame.
    reads, tail = _look(run_folder, kind, faults)
    return _query([read for read in reads if _is_readable(read, faults)], tail, keys)


def _look(run_folder: Path, kind: ScalarKind, faults: Faults) -> tuple[list[ShardRead], pa.Table]:
    """The shards to read, and the rows that are in none."""
    delta = RunFollower(run_folder, faults=faults, kinds=[kind]).advance()
    return delta.reads, _tail_table(delta.batches, kind, delta.seen[kind])


def _is_readable(read: ShardRead, faults: Faults) -> bool:
    try:
        _query([read], _SCHEMA.empty_table(), None)
    except LOAD_ERRORS as error:
        faults.add(read.shard.path, error)
        return False
    return True


def _query(reads: Sequence[ShardRead], tail: pa.Table, keys: Sequence[str] | None) -> pa.Table:
    parts = [f"SELECT {_COLUMNS} FROM tail"]  # noqa: S608 - only column names are put in
    params: list[Any] = []
    whole = exact_paths([read for read in reads if read.is_whole])
    if whole:
        parts.append(f"SELECT {_COLUMNS} FROM {_FILES}")  # noqa: S608
        params.append(whole)
    for read in reads:
        if not read.is_whole:
            parts.append(f"SELECT {_COLUMNS} FROM {_FILES} WHERE seq > ?")  # noqa: S608
            params += [exact_paths([read]), read.after]
    where = ""
    if keys is not None:
        where = "WHERE list_contains(?, key)"
        params.append(list(keys))
    sql = f"""
        SELECT {_COLUMNS} FROM ({" UNION ALL ".join(parts)}) {where}
        ORDER BY attempt, time, writer, seq, key
    """  # noqa: S608 - column names and question marks only
    with open_cursor() as cursor:
        cursor.register("tail", tail)
        return cursor.sql(sql, params=params).to_arrow_table().cast(_SCHEMA)


def _tail_table(batches: Sequence[Batch], kind: ScalarKind, seen: dict[str, int]) -> pa.Table:
    tables = []
    for batch in batches:
        for block in batch.blocks:
            new = block.after(seen.get(batch.header.writer, 0)) if block.kind == kind else None
            if new is not None:
                tables.append(_block_table(batch.header.writer, batch.header.attempt, new))
    return pa.concat_tables(tables) if tables else _SCHEMA.empty_table()


def _block_table(writer: str, attempt: int, block: Block) -> pa.Table:
    num_calls, num_keys = block.value_CK.shape
    num_rows = num_calls * num_keys
    value_int = np.zeros(num_rows, np.int64)
    is_null = np.ones(num_rows, np.bool_)
    for call, key, value in block.big_ints:
        value_int[call * num_keys + key] = value
        is_null[call * num_keys + key] = False
    step = pa.nulls(num_rows, pa.int64()) if block.step_C is None else pa.array(np.repeat(block.step_C, num_keys))
    positions = pa.array(np.tile(np.arange(num_keys, dtype=np.int32), num_calls))
    return pa.table(
        {
            "writer": pa.repeat(writer, num_rows),
            "seq": np.repeat(block.seq_C, num_keys),
            "attempt": np.full(num_rows, attempt, np.int32),
            "step": step,
            "time": pa.array(np.repeat(block.time_C, num_keys)).cast(pa.timestamp("us", tz="UTC")),
            "key": pa.DictionaryArray.from_arrays(positions, pa.array(block.keys, pa.string())).cast(pa.string()),
            "value": block.value_CK.ravel(),
            "value_int": pa.array(value_int, mask=is_null),
        },
        schema=_SCHEMA,
    )


__all__ = ["read_history"]
