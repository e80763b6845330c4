"""Journal records as Arrow tables, sorted as the shards are, with the summary for their footer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trackio_like.format.records import EventRecord, Header, ObjectRecord, ScalarBlock
from trackio_like.format.schemas import SCHEMAS, SUMMARY_COLUMNS

# C calls of a block, K keys, N points of one key, R rows of the table.
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

EXACT_LIMIT: Final = 2.0**53
"""From here on a double cannot hold every integer."""
Summary = dict[str, list[Any]]


class _Block:
    """A block's columns as arrays, so that a key's points are slices of it."""

    def __init__(self, block: ScalarBlock) -> None:
        self.seq_C = np.array(block.seqs, dtype=np.int64)
        # System metrics have no step; 0 stands in while sorting and is written as null.
        self.step_C = np.array([step or 0 for step in block.steps], dtype=np.int64)
        self.time_C = np.array(block.times_us, dtype=np.int64)
        self.value_CK = np.array(block.values, dtype=np.float64)
        self.big: dict[int, list[tuple[int, int]]] = {}
        """By column: (row, exact integer) of the values that a double cannot hold."""
        with np.errstate(invalid="ignore"):
            rows, columns = np.nonzero(np.abs(self.value_CK) >= EXACT_LIMIT)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            exact = block.values[row][column]
            if isinstance(exact, int) and int(float(exact)) != exact:
                self.big.setdefault(column, []).append((row, exact))


def scalar_table(header: Header, kind: str, blocks: Sequence[ScalarBlock]) -> tuple[pa.Table, Summary]:
    """The rows of one kind of scalars, sorted by key, step and seq.

    Args:
        header: whose rows they are.
        kind: "metrics" or "system".
        blocks: in the order they were read; together at least one row.

    Returns:
        The table in the kind's schema, its string columns dictionary-coded, and the summary of each key.
    """
    arrays = [_Block(block) for block in blocks]
    places: dict[str, list[tuple[_Block, int]]] = {}
    for block, columns in zip(blocks, arrays, strict=True):
        for index, key in enumerate(block.keys):
            places.setdefault(key, []).append((columns, index))
    keys = sorted(places)
    summary: Summary = {column: [] for column in SUMMARY_COLUMNS}
    parts = [_key_columns(places[key]) for key in keys]
    for key, part in zip(keys, parts, strict=True):
        _summarise(summary, key, part)
    counts = [len(part[0]) for part in parts]
    seq_R, step_R, time_R, value_R = (np.concatenate([part[i] for part in parts]) for i in range(4))
    key_R = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(len(keys), dtype=np.int32), counts)), pa.array(keys, pa.string())
    )
    big_R = np.zeros(len(seq_R), dtype=np.int64)
    is_exact_R = np.ones(len(seq_R), dtype=bool)
    start = 0
    for part, count in zip(parts, counts, strict=True):
        for row, exact in part[4]:
            big_R[start + row], is_exact_R[start + row] = exact, False
        start += count
    steps = pa.nulls(len(seq_R), pa.int64()) if kind == "system" else pa.array(step_R)
    columns = {
        **_identity(header, seq_R),
        "step": steps,
        "time": pa.array(time_R).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC")),
        "key": key_R,
        "value": pa.array(value_R),
        "value_int": pa.array(big_R, mask=is_exact_R),
    }
    return pa.table(columns), summary


def _key_columns(
    places: list[tuple[_Block, int]],
) -> tuple[IntArray, IntArray, IntArray, FloatArray, list[tuple[int, int]]]:
    """[N] seq, step, time and value of one key by (step, seq), and (row, exact integer) where a double is short."""
    seq_N = np.concatenate([block.seq_C for block, _ in places])
    step_N = np.concatenate([block.step_C for block, _ in places])
    time_N = np.concatenate([block.time_C for block, _ in places])
    value_N = np.concatenate([block.value_CK[:, column] for block, column in places])
    exact: dict[int, int] = {}
    start = 0
    for block, column in places:
        exact.update((start + row, value) for row, value in block.big.get(column, ()))
        start += len(block.seq_C)
    if bool(np.all(step_N[1:] > step_N[:-1])):
        return seq_N, step_N, time_N, value_N, list(exact.items())
    order_N = np.lexsort((seq_N, step_N))
    moved = [(int(np.flatnonzero(order_N == row)[0]), value) for row, value in exact.items()]
    return seq_N[order_N], step_N[order_N], time_N[order_N], value_N[order_N], moved


def _summarise(
    summary: Summary, key: str, part: tuple[IntArray, IntArray, IntArray, FloatArray, list[tuple[int, int]]]
) -> None:
    seq_N, step_N, time_N, value_N, _ = part
    first, last = int(np.argmin(seq_N)), int(np.argmax(seq_N))
    finite_N = value_N[np.isfinite(value_N)]
    row = (
        key,
        len(value_N),
        len(value_N) - len(finite_N),
        float(finite_N.min()) if len(finite_N) else None,
        float(finite_N.max()) if len(finite_N) else None,
        float(value_N[last]),
        int(step_N[last]),
        int(seq_N[last]),
        int(time_N[last]),
        int(step_N[first]),
        int(time_N[first]),
    )
    for column, item in zip(SUMMARY_COLUMNS, row, strict=True):
        summary[column].append(item)


def merge_summaries(summaries: Iterable[Summary]) -> Summary:
    """One summary for shards of one writer, from theirs.

    Args:
        summaries: by rising sequence number, of ranges that do not overlap.
    """
    rows: dict[str, dict[str, Any]] = {}
    for summary in summaries:
        for values in zip(*(summary[column] for column in SUMMARY_COLUMNS), strict=True):
            new = dict(zip(SUMMARY_COLUMNS, values, strict=True))
            old = rows.get(new["key"])
            if old is not None:
                new["count"] += old["count"]
                new["num_non_finite"] += old["num_non_finite"]
                new["min"] = _extreme(min, old["min"], new["min"])
                new["max"] = _extreme(max, old["max"], new["max"])
                new["first_step"], new["first_time_us"] = old["first_step"], old["first_time_us"]
            rows[new["key"]] = new
    return {column: [rows[key][column] for key in sorted(rows)] for column in SUMMARY_COLUMNS}


def _extreme(pick: Any, one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    chosen: float = pick(one, other)
    return chosen


def event_table(header: Header, events: Sequence[EventRecord]) -> pa.Table:
    """Events as rows, in call order."""
    seq_R = np.array([event.seq for event in events], dtype=np.int64)
    columns = {
        **_identity(header, seq_R),
        "time": pa.array([event.time_us for event in events], pa.timestamp("us", tz="UTC")),
        "type": pa.array([event.type for event in events], pa.string()),
        "payload": pa.array([to_json(event.payload) for event in events], pa.string()),
    }
    return pa.table(columns, schema=SCHEMAS["events"])


def object_table(header: Header, objects: Sequence[ObjectRecord]) -> pa.Table:
    """Objects as rows, in call order."""
    seq_R = np.array([item.seq for item in objects], dtype=np.int64)
    columns = {
        **_identity(header, seq_R),
        "step": pa.array([item.step for item in objects], pa.int64()),
        "time": pa.array([item.time_us for item in objects], pa.timestamp("us", tz="UTC")),
        "key": pa.array([item.key for item in objects], pa.string()),
        "type": pa.array([item.type for item in objects], pa.string()),
        "payload": pa.array([to_json(item.payload) for item in objects], pa.string()),
        "media": pa.array([item.media for item in objects], pa.string()),
    }
    return pa.table(columns, schema=SCHEMAS["objects"])


def to_json(payload: Any) -> str:
    """A payload as text; NaN and infinities as the bare words that `json.loads` reads."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _identity(header: Header, seq_R: IntArray) -> dict[str, pa.Array]:
    count = len(seq_R)
    return {
        "project": pa.repeat(pa.scalar(header.project, pa.string()), count),
        "run_id": pa.repeat(pa.scalar(header.run_id, pa.string()), count),
        "writer": pa.repeat(pa.scalar(header.writer, pa.string()), count),
        "seq": pa.array(seq_R),
        "attempt": pa.repeat(pa.scalar(header.attempt, pa.int32()), count),
    }


__all__ = ["Summary", "event_table", "merge_summaries", "object_table", "scalar_table", "to_json"]
