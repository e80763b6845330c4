"""Journal records as Arrow tables, sorted as the shards are, with the summary for their footer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyPoints:
    """[N] the points of one key, by (step, seq)."""

    seq_N: IntArray
    step_N: IntArray
    time_N: IntArray
    value_N: FloatArray
    exact: dict[int, int]
    """Row -> exact integer, where a double is short."""


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
    places: dict[str, list[tuple[_Block, int]]] = {}
    for block in blocks:
        columns = _Block(block)
        for index, key in enumerate(block.keys):
            places.setdefault(key, []).append((columns, index))
    keys = sorted(places)
    parts = [_key_points(places[key]) for key in keys]
    summary: Summary = {column: [] for column in SUMMARY_COLUMNS}
    for key, part in zip(keys, parts, strict=True):
        _summarise(summary, key, part)
    code_R = np.repeat(np.arange(len(keys), dtype=np.int32), [len(part.seq_N) for part in parts])
    seq_R = np.concatenate([part.seq_N for part in parts])
    is_system = kind == "system"
    table = pa.table(
        {
            **_identity(header, seq_R),
            "step": pa.nulls(len(seq_R), pa.int64()) if is_system else _joined(part.step_N for part in parts),
            "time": pa.array(np.concatenate([part.time_N for part in parts]), pa.timestamp("us", tz="UTC")),
            "key": pa.DictionaryArray.from_arrays(pa.array(code_R), pa.array(keys, pa.string())),
            "value": _joined(part.value_N for part in parts),
            "value_int": _exact_integers(parts, len(seq_R)),
        }
    )
    return table, summary


def _joined(arrays: Iterable[npt.NDArray[Any]]) -> pa.Array:
    return pa.array(np.concatenate(list(arrays)))


def _exact_integers(parts: Sequence[_KeyPoints], num_rows: int) -> pa.Array:
    exact_R = np.zeros(num_rows, dtype=np.int64)
    is_null_R = np.ones(num_rows, dtype=bool)
    start = 0
    for part in parts:
        for row, exact in part.exact.items():
            exact_R[start + row], is_null_R[start + row] = exact, False
        start += len(part.seq_N)
    return pa.array(exact_R, mask=is_null_R)


def _key_points(places: list[tuple[_Block, int]]) -> _KeyPoints:
    seq_N = np.concatenate([block.seq_C for block, _ in places])
    step_N = np.concatenate([block.step_C for block, _ in places])
    time_N = np.concatenate([block.time_C for block, _ in places])
    value_N = np.concatenate([block.value_CK[:, column] for block, column in places])
    exact: dict[int, int] = {}
    start = 0
    for block, column in places:
        exact.update((start + row, value) for row, value in block.big.get(column, ()))
        start += len(block.seq_C)
    if not bool(np.all(step_N[1:] > step_N[:-1])):
        order_N = np.lexsort((seq_N, step_N))
        place_N = np.argsort(order_N)
        exact = {int(place_N[row]): value for row, value in exact.items()}
        seq_N, step_N, time_N, value_N = seq_N[order_N], step_N[order_N], time_N[order_N], value_N[order_N]
    return _KeyPoints(seq_N=seq_N, step_N=step_N, time_N=time_N, value_N=value_N, exact=exact)


def _summarise(summary: Summary, key: str, part: _KeyPoints) -> None:
    first, last = int(np.argmin(part.seq_N)), int(np.argmax(part.seq_N))
    finite_N = part.value_N[np.isfinite(part.value_N)]
    row = (
        key,
        len(part.value_N),
        len(part.value_N) - len(finite_N),
        float(finite_N.min()) if len(finite_N) else None,
        float(finite_N.max()) if len(finite_N) else None,
        part.exact.get(last, float(part.value_N[last])),
        int(part.step_N[last]),
        int(part.seq_N[last]),
        int(part.time_N[last]),
        int(part.step_N[first]),
        int(part.time_N[first]),
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
