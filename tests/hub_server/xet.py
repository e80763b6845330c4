"""The two binary formats of the Xet protocol that a server must read: xorbs and shards."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import lz4.frame  # type: ignore[import-untyped]

from tests.hub_server.state import Recipe, Term

CHUNK_HEADER_BYTES = 8
_FOOTER_IDENT = b"XETBLOB"
_SHARD_HEADER_BYTES = 48
_RECORD_BYTES = 48
_END_OF_FILES = b"\xff" * 32
_HAS_VERIFICATION = 1 << 31
_HAS_METADATA = 1 << 30


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """Where a chunk lies in its xorb."""

    start: int
    end: int
    """One past the last byte."""
    scheme: int
    """0 as it is, 1 LZ4 frame, 2 LZ4 frame of the bytes grouped by their place modulo four."""
    num_raw_bytes: int


def chunk_spans(xorb: bytes) -> list[ChunkSpan]:
    """The chunks in order.

    Raises:
        ValueError: The bytes are no row of whole chunks.
    """
    spans = []
    at = 0
    while at < len(xorb) and not xorb.startswith(_FOOTER_IDENT, at):
        header = xorb[at : at + CHUNK_HEADER_BYTES]
        if len(header) < CHUNK_HEADER_BYTES or header[0] != 0 or header[4] > 2:
            raise ValueError(f"no chunk header at byte {at}")
        num_bytes = int.from_bytes(header[1:4], "little")
        start = at + CHUNK_HEADER_BYTES
        at = start + num_bytes
        if at > len(xorb):
            raise ValueError(f"the chunk at byte {start} is cut short")
        spans.append(ChunkSpan(start, at, header[4], int.from_bytes(header[5:8], "little")))
    return spans


def unpack(xorb: bytes, span: ChunkSpan) -> bytes:
    """One chunk's content."""
    data = xorb[span.start : span.end]
    if span.scheme != 0:
        data = lz4.frame.decompress(data)
    if span.scheme == 2:
        data = _ungrouped(data)
    return data


def _ungrouped(grouped: bytes) -> bytes:
    out = bytearray(len(grouped))
    at = 0
    for place in range(4):
        num_bytes = (len(grouped) + 3 - place) // 4
        out[place::4] = grouped[at : at + num_bytes]
        at += num_bytes
    return bytes(out)


def hash_text(raw: bytes) -> str:
    """A hash as text: its four little-endian words in hexadecimal."""
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", raw))


def parse_shard(shard: bytes) -> list[tuple[str, Recipe, str | None]]:
    """The files that a shard describes: hash, recipe, and the SHA-256 where the client gave one.

    Raises:
        ValueError: The bytes are no shard.
    """
    files: list[tuple[str, Recipe, str | None]] = []
    at = _SHARD_HEADER_BYTES
    while True:
        record = shard[at : at + _RECORD_BYTES]
        if len(record) < _RECORD_BYTES:
            raise ValueError("the shard's list of files is cut short")
        if record[:32] == _END_OF_FILES:
            return files
        flags, num_terms = struct.unpack("<II", record[32:40])
        at += _RECORD_BYTES
        terms = []
        for place in range(num_terms):
            raw, _, num_bytes, start, end = struct.unpack_from("<32sIIII", shard, at + place * _RECORD_BYTES)
            terms.append(Term(xorb=hash_text(raw), start=start, end=end, num_bytes=num_bytes))
        at += num_terms * _RECORD_BYTES
        if flags & _HAS_VERIFICATION:
            at += num_terms * _RECORD_BYTES
        sha256 = None
        if flags & _HAS_METADATA:
            # Written like every hash of the format, though its text is the usual hexadecimal of the digest.
            sha256 = hash_text(shard[at : at + 32])
            at += _RECORD_BYTES
        recipe = Recipe(size=sum(term.num_bytes for term in terms), terms=terms)
        files.append((hash_text(record[:32]), recipe, sha256))
