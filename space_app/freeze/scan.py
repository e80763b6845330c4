"""Looks for tokens in what is about to be published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_SHAPES: Final = re.compile(
    rb"hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    rb"|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
    rb"|(?<![A-Za-z0-9])sk-(?:[A-Za-z0-9]{20,}|(?:proj|ant|or|svcacct|admin|live)-[A-Za-z0-9_-]{20,})"
    rb"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"
)
_BLOCK: Final = 1 << 20
_OVERLAP: Final = 256
"""Bytes of the block before that are looked at again: a token may lie across the edge of two."""


def find_tokens(folder: Path, *, own: Iterable[str] = ()) -> list[str]:
    """The files that hold something of the shape of a token.

    Args:
        folder: looked through with all below it.
        own: tokens of this machine, whatever their shape.

    Returns:
        Their paths relative to the folder, sorted; the tokens themselves are told to nobody.

    Raises:
        OSError: a file cannot be read.
    """
    known = [token.encode() for token in own if len(token) >= 8]
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in files if _holds_token(path, known))


def _holds_token(path: Path, known: list[bytes]) -> bool:
    blocks = _texts(path) if path.suffix == ".parquet" else _blocks(path)
    return any(_SHAPES.search(block) or any(token in block for token in known) for block in blocks)


def _blocks(path: Path) -> Iterator[bytes]:
    before = b""
    with open(path, "rb") as source:
        while block := source.read(_BLOCK):
            yield before + block
            before = block[-_OVERLAP:]


def _texts(path: Path) -> Iterator[bytes]:
    """The texts of a Parquet file, each once per block: compressed, they could not be found in its bytes."""
    with pq.ParquetFile(path) as file:
        names = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
        yield str(file.metadata.metadata).encode()
        for batch in file.iter_batches(columns=names):
            for column in batch.columns:
                yield "\n".join(text for text in pc.unique(column).to_pylist() if text is not None).encode()


__all__ = ["find_tokens"]
