"""Shard files: written whole or not at all, with the encodings that measured smallest."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from trackio_like.format.durable import sync_folder
from trackio_like.format.names import Kind, ShardName
from trackio_like.format.schemas import SCHEMAS, footer, parse_footer

ROW_GROUP_ROWS: Final = 1 << 17
DRAFT_SUFFIX: Final = ".tmp"

_REPEATING = ["project", "run_id", "writer", "attempt", "key", "type", "media"]
_SHARED_CLOCK_KEYS: Final = 3
"""From so many keys on, the same call times stand in the file so often that compressing the repeats wins."""
_SHARED_CLOCK_ROWS: Final = 1 << 15
"""Rows a key may have for its repeats to lie within one page, which is what zstd sees at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo:
    """What a shard says of itself in its footer."""

    attempt: int
    rank: int
    num_rows: int
    summary: dict[str, list[Any]]
    """`SUMMARY_COLUMNS`; empty for kinds without scalars."""


def write_shard(
    folder: Path,
    name: ShardName,
    kind: Kind,
    table: pa.Table,
    *,
    info: ShardInfo,
    compression_level: int,
    mtime_ns: int | None = None,
) -> Path:
    """Writes a shard beside its place and renames it there, durably.

    Args:
        folder: the kind's folder; made where it is missing.
        name: the shard's name; a file of that name is replaced (it holds the same rows).
        kind: the kind, which gives the schema.
        table: rows in the kind's schema; string columns may be dictionary-coded.
        info: what the footer says.
        compression_level: zstd level.
        mtime_ns: modification time to give the file, nanoseconds since the epoch; now where None.

    Returns:
        Where the shard is now.

    Raises:
        OSError: the disk refuses; nothing is left behind.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{name}.{secrets.token_hex(4)}{DRAFT_SUFFIX}"
    schema = _file_schema(table, kind)
    metadata = footer(kind, attempt=info.attempt, rank=info.rank, num_rows=info.num_rows, summary=info.summary)
    try:
        with open(draft, "wb") as sink:
            writer = pq.ParquetWriter(
                sink,
                schema,
                compression="zstd",
                compression_level=compression_level,
                use_dictionary=[column for column in _REPEATING if column in schema.names],
                column_encoding=_encodings(table, kind, info),
                store_schema=False,
                write_page_index=True,
            )
            with writer:
                writer.write_table(table.cast(schema), row_group_size=ROW_GROUP_ROWS)
                writer.add_key_value_metadata(metadata)
            sink.flush()
            os.fsync(sink.fileno())
        if mtime_ns is not None:
            os.utime(draft, ns=(mtime_ns, mtime_ns))
        target = folder / str(name)
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    sync_folder(folder)
    return target


def _file_schema(table: pa.Table, kind: Kind) -> pa.Schema:
    """The kind's schema, with the table's dictionary coding kept: it is the same Parquet, and faster to write."""
    fields = []
    for field in SCHEMAS[kind]:
        type_ = table.schema.field(field.name).type
        fields.append(field.with_type(type_) if pa.types.is_dictionary(type_) else field)
    return pa.schema(fields)


def _encodings(table: pa.Table, kind: Kind, info: ShardInfo) -> Mapping[str, str]:
    if kind not in ("metrics", "system"):
        return {"seq": "DELTA_BINARY_PACKED", "time": "DELTA_BINARY_PACKED"}
    num_keys = len(info.summary.get("key", ())) or 1
    shares_clock = num_keys >= _SHARED_CLOCK_KEYS and table.num_rows // num_keys <= _SHARED_CLOCK_ROWS
    return {
        "seq": "DELTA_BINARY_PACKED",
        "step": "DELTA_BINARY_PACKED",
        "time": "PLAIN" if shares_clock else "DELTA_BINARY_PACKED",
        "value": "BYTE_STREAM_SPLIT",
        "value_int": "DELTA_BINARY_PACKED",
    }


def read_info(path: Path) -> ShardInfo:
    """What a shard's footer says.

    Raises:
        FileNotFoundError: the shard is gone (compacted).
        ValueError: the file is no shard of ours, damaged, or of a newer version.
    """
    try:
        metadata = pq.read_metadata(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"This is not a whole Parquet file: {path}") from error
    document = parse_footer(metadata.metadata)
    if document is None:
        raise ValueError(f"This Parquet file is not a shard of trackio_like: {path}")
    return ShardInfo(
        attempt=document["attempt"],
        rank=document["rank"],
        num_rows=document["num_rows"],
        summary=document["summary"],
    )


__all__ = ["DRAFT_SUFFIX", "ShardInfo", "read_info", "write_shard"]
