"""The journal's frames: length, checksum, msgpack payload."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

MAGIC: Final = b"TKJ1\n"
FORMAT: Final = 1
MAX_PAYLOAD_BYTES: Final = 1 << 30
"""A longer length can only be damage."""

HEAD = struct.Struct("<II")


class Code(IntEnum):
    """First item of a payload: what the record is."""

    HEADER = 0
    KEYS = 1
    METRICS = 2
    SYSTEM = 3
    MIXED = 4
    EVENT = 5


def frame(payload: bytes) -> bytes:
    """One frame, ready to be appended.

    Raises:
        ValueError: the payload is longer than a reader takes.
    """
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"One call may not be longer than {MAX_PAYLOAD_BYTES} bytes.")
    return HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def split_frames(data: bytes | memoryview, *, start: int = 0) -> Iterator[tuple[int, memoryview | None]]:
    """The whole frames from `start` on; a frame cut short at the end is left for a later read.

    Args:
        data: journal bytes.
        start: where a frame begins.

    Yields:
        Where the frame ends, and its payload, or None where its checksum is wrong.
    """
    view = memoryview(data)
    size = len(view)
    unpack, crc32, head = HEAD.unpack_from, zlib.crc32, HEAD.size
    while start + head <= size:
        length, checksum = unpack(view, start)
        end = start + head + length
        # Length 0 is what a power cut leaves where the file grew but its pages did not reach the disk.
        if length == 0 or length > MAX_PAYLOAD_BYTES or end > size:
            return
        payload = view[start + head : end]
        if crc32(payload) == checksum:
            yield end, payload
        elif end == size:
            return  # the last frame is still being written, or was torn by a crash
        else:
            yield end, None
        start = end


__all__ = ["FORMAT", "HEAD", "MAGIC", "MAX_PAYLOAD_BYTES", "Code", "frame", "split_frames"]
