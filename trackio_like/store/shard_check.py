"""Checks that a Parquet file from outside is the shard that its path says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trackio_like.format.names import Kind, ShardName
from trackio_like.format.schemas import SCHEMAS, parse_footer
from trackio_like.store.slots import Fault, IntakeError, Slot

_BATCH_ROWS: Final = 1 << 16
"""Rows that are looked at at once: a large shard is never in memory as a whole."""


def check_shard(path: Path, slot: Slot, kind: Kind, name: ShardName) -> None:
    """Checks that a Parquet file holds the rows that its place says.

    Raises:
        IntakeError: it does not; the message says what it holds.
    """
    try:
        with pq.ParquetFile(path, read_dictionary=["project", "run_id", "writer"]) as file:
            document = parse_footer(file.metadata.metadata)
            if document is None or document["kind"] != kind or document["num_rows"] != file.metadata.num_rows:
                raise IntakeError(Fault.CONTENT, f"Its footer does not describe a shard of kind {kind}.")
            _check_schema(file.schema_arrow, kind)
            wanted = {"project": slot.project, "run_id": slot.run_id, "writer": name.writer}
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=[*wanted, "seq"]):
                _check_rows(batch, wanted, name)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise IntakeError(Fault.CONTENT, f"It is not a whole shard: {str(error)[:200]}") from error


def _check_schema(schema: pa.Schema, kind: Kind) -> None:
    plain = pa.schema(
        [field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema]
    )
    if not plain.equals(SCHEMAS[kind]):
        raise IntakeError(Fault.CONTENT, f"Its columns are not those of kind {kind}: {', '.join(schema.names)[:300]}")


def _check_rows(batch: pa.RecordBatch, wanted: dict[str, str], name: ShardName) -> None:
    for column, value in wanted.items():
        found = [item for item in pc.unique(batch[column].dictionary_decode()).to_pylist() if item != value]
        if found:
            text = str(found[0])[:100]
            raise IntakeError(Fault.CONTENT, f"Its {column} is {text!r}, but its path says {value[:100]!r}.")
    ends = pc.min_max(batch["seq"]).as_py()
    if batch.num_rows and not name.first <= ends["min"] <= ends["max"] <= name.last:
        raise IntakeError(
            Fault.CONTENT,
            f"It holds rows {ends['min']} to {ends['max']}, but its name says {name.first} to {name.last}.",
        )


__all__ = ["check_shard"]
