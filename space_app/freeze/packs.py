"""Parquet files of many series each, small enough to be fetched whole where a server cannot send parts of files.

The footer says which rows are which series, so one request tells a browser all about a small file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

FOOTER_KEY: Final = b"trackio_like"
PACK_ROWS: Final = 1 << 16
"""Rows from which on a file is full: about half a megabyte. A larger series has files of its own."""
MAX_PACK_ROWS: Final = 1 << 20
"""The most rows of a file: beyond, the runs of one key are spread over several."""
_ROW_GROUP_ROWS: Final = 1 << 17
_LEVEL: Final = 9
"""zstd: written once, fetched often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """One file that was written."""

    file: str
    """Its name."""
    num_bytes: int
    keys: tuple[str, ...]
    """The keys that it holds rows of, in order."""


@dataclass(slots=True)
class PackWriter:
    """Takes series in the order of their keys and writes files that are full; not thread-safe."""

    folder: Path
    stem: str
    """What the names of the files begin with."""
    encodings: dict[str, str]
    """Of the columns that are not dictionary-coded."""
    packs: list[Pack] = field(default_factory=list)
    _tables: list[pa.Table] = field(default_factory=list)
    _parts: list[list[Any]] = field(default_factory=list)
    _keys: dict[str, None] = field(default_factory=dict)
    _num_rows: int = 0

    def add(self, key: str, part: list[Any], table: pa.Table) -> None:
        """Takes the rows of one part of a series.

        Args:
            key: not smaller than the one before.
            part: what the footer says of these rows, beginning with the key; their number is added at its end.
            table: strings dictionary-coded.
        """
        is_other = key not in self._keys
        if (self._num_rows >= PACK_ROWS and is_other) or self._num_rows + len(table) > MAX_PACK_ROWS:
            self.flush()
        self._keys[key] = None
        self._parts.append([*part, len(table)])
        self._tables.append(table)
        self._num_rows += len(table)

    def flush(self) -> None:
        """Writes what is left.

        Raises:
            OSError: the disk refuses.
        """
        if not self._tables:
            return
        table = pa.concat_tables(self._tables).unify_dictionaries().combine_chunks()
        name = f"{self.stem}-{len(self.packs) + 1:04}.parquet"
        path = self.folder / name
        with pq.ParquetWriter(
            path,
            table.schema,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=[column for column in table.schema.names if column not in self.encodings],
            column_encoding=self.encodings,
            store_schema=False,
            write_page_index=True,
        ) as writer:
            writer.write_table(table, row_group_size=_ROW_GROUP_ROWS)
            writer.add_key_value_metadata({FOOTER_KEY: json.dumps({"parts": self._parts}, separators=(",", ":"))})
        self.packs.append(Pack(file=name, num_bytes=path.stat().st_size, keys=tuple(self._keys)))
        self._tables, self._parts, self._keys, self._num_rows = [], [], {}, 0


__all__ = ["FOOTER_KEY", "MAX_PACK_ROWS", "PACK_ROWS", "Pack", "PackWriter"]
