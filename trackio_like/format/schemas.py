"""The Parquet schema of each kind and the shard's footer: what pandas, polars, DuckDB and the Hub's viewer see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from trackio_like.format.names import Kind

SCHEMA_VERSION: Final = 1
FOOTER_KEY: Final = b"trackio_like"

_TIME = pa.timestamp("us", tz="UTC")
_IDENTITY = [
    pa.field("project", pa.string(), nullable=False),
    pa.field("run_id", pa.string(), nullable=False),
    pa.field("writer", pa.string(), nullable=False),
    pa.field("seq", pa.int64(), nullable=False),
    pa.field("attempt", pa.int32(), nullable=False),
]
_SCALARS = pa.schema(
    [
        *_IDENTITY,
        pa.field("step", pa.int64()),
        pa.field("time", _TIME, nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("value_int", pa.int64()),
    ]
)
SCHEMAS: Final[Mapping[Kind, pa.Schema]] = {
    "metrics": _SCALARS,
    "system": _SCALARS,
    "events": pa.schema(
        [
            *_IDENTITY,
            pa.field("time", _TIME, nullable=False),
            pa.field("type", pa.string(), nullable=False),
            pa.field("payload", pa.string(), nullable=False),
        ]
    ),
    "objects": pa.schema(
        [
            *_IDENTITY,
            pa.field("step", pa.int64()),
            pa.field("time", _TIME, nullable=False),
            pa.field("key", pa.string(), nullable=False),
            pa.field("type", pa.string(), nullable=False),
            pa.field("payload", pa.string(), nullable=False),
            pa.field("media", pa.string()),
        ]
    ),
}

SUMMARY_COLUMNS: Final = (
    "key",
    "count",
    "num_non_finite",
    "min",
    "max",
    "last",
    "last_step",
    "last_seq",
    "last_time_us",
    "first_step",
    "first_time_us",
)
"""The columns of the footer's per-key summary.

min and max are null where no value is finite; last is an integer where a double cannot hold it.
"""


def footer(
    kind: Kind, *, attempt: int, rank: int, num_rows: int, summary: Mapping[str, list[Any]]
) -> dict[bytes, bytes]:
    """The key-value metadata of a shard's footer.

    Args:
        kind: the shard's kind.
        attempt: the writer's attempt, from 1.
        rank: the writer's rank in a distributed job, 0 alone.
        num_rows: rows in the shard.
        summary: `SUMMARY_COLUMNS`, each as long as there are keys; empty for kinds without scalars.
    """
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "attempt": attempt,
        "rank": rank,
        "num_rows": num_rows,
        "summary": dict(summary),
    }
    # NaN and Infinity stay bare words: only our own reader parses this, and a last value may be one.
    return {FOOTER_KEY: json.dumps(document, separators=(",", ":")).encode()}


def parse_footer(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any] | None:
    """The footer's document, or None where the file is not one of ours.

    Raises:
        ValueError: the shard was written by a newer version than this one can read.
    """
    if not metadata or FOOTER_KEY not in metadata:
        return None
    document: dict[str, Any] = json.loads(metadata[FOOTER_KEY])
    if document["schema_version"] > SCHEMA_VERSION:
        raise ValueError(
            f"The shard has schema version {document['schema_version']}, this trackio_like reads up to "
            f"{SCHEMA_VERSION}. Nothing is lost: update trackio_like to read it."
        )
    return document


__all__ = ["FOOTER_KEY", "SCHEMAS", "SCHEMA_VERSION", "SUMMARY_COLUMNS", "footer", "parse_footer"]
