"""Reading journals while they are written: whole records only, from where the last read ended."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import msgspec

from trackio_like.format.names import JournalName
from trackio_like.format.records import Chunk, EventRecord, Header, ObjectRecord, ScalarBlock
from trackio_like.journal.frames import FORMAT, MAGIC, Code, split_frames

READ_BYTES: Final = 4 << 20
"""How much one read takes at most; a longer frame is still read whole."""

# Plain numbers: a million rows compare them, and an enum's members are looked up each time.
_KEYS: Final = int(Code.KEYS)
_METRICS: Final = int(Code.METRICS)
_decode = msgspec.msgpack.Decoder().decode


class JournalTail:
    """Follows one journal segment by byte offset.

    Not thread-safe. Opens the file for each read, so that hundreds of tails hold no descriptors.
    """

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        """Starts at the beginning.

        Args:
            path: the segment.
            offset: where an earlier tail of the same segment ended; records before it are read for their keys only.
        """
        self.path = path
        self.header: Header | None = None
        self.offset = 0
        """Where the next read starts: always the end of a whole frame."""
        self._skip_to = offset
        self._keys: dict[int, tuple[str, ...]] = {}

    def has_grown(self) -> bool:
        """Whether the file is longer than what was read; False where it is gone."""
        try:
            return os.stat(self.path).st_size > self.offset
        except FileNotFoundError:
            return False

    def read(self, *, max_bytes: int = READ_BYTES) -> Chunk | None:
        """The next whole records.

        Args:
            max_bytes: stop after about so many bytes; call again for the rest.

        Returns:
            None where there is no whole record yet (also where the header is not there yet).

        Raises:
            FileNotFoundError: the segment was sealed and deleted.
            ValueError: the file is not a journal, or one of a newer version.
        """
        while True:
            before = self.offset
            data = self._load(max_bytes)
            chunk = self._take(data)
            # What an earlier tail had read fills whole reads; only the end, or a frame cut short, ends the search.
            if chunk is not None or len(data) < max_bytes or self.offset == before:
                return chunk

    def _take(self, data: bytes) -> Chunk | None:
        """The records in the bytes from `offset` on; moves `offset` behind them."""
        start = 0
        if self.offset == 0:
            if len(data) < len(MAGIC):
                return None
            if not data.startswith(MAGIC):
                raise ValueError(f"This is not a journal, or one of a newer version: {self.path}")
            start = len(MAGIC)
        chunk: Chunk | None = None
        blocks: dict[tuple[int, int], ScalarBlock] = {}
        end = start
        first_new = self._skip_to - self.offset
        for end, payload in split_frames(data, start=start):
            record = _decode(payload) if payload is not None else None
            if record is not None and record[0] <= _KEYS:
                self._take_names(record)
            elif self.header is not None and end > first_new:
                if chunk is None:
                    chunk = Chunk(header=self.header)
                if record is None:
                    chunk.num_damaged += 1
                else:
                    self._add(chunk, blocks, record)
        self.offset += end
        return chunk

    def _take_names(self, record: list[Any]) -> None:
        if record[0] == _KEYS:
            self._keys[record[1]] = tuple(record[2])
        else:
            self.header = parse_header(record[1])

    def _load(self, max_bytes: int) -> bytes:
        with open(self.path, "rb") as file:
            # Only what is there: a buffer of the largest size costs more than reading a live run's second of rows.
            waiting = os.fstat(file.fileno()).st_size - self.offset
            file.seek(self.offset)
            data = file.read(min(max_bytes, max(waiting, 0)))
            if len(data) == max_bytes and not _has_whole_frame(data, is_start=self.offset == 0):
                data += file.read()
        return data

    def _add(self, chunk: Chunk, blocks: dict[tuple[int, int], ScalarBlock], record: list[Any]) -> None:
        code, seq = record[0], record[1]
        if code == _METRICS:
            _, _, step, time_us, keys_id, values = record
        elif code == Code.SYSTEM:
            _, _, time_us, keys_id, values = record
            step = None
        elif code == Code.MIXED:
            _, _, step, time_us, keys_id, values, objects = record
            code = _METRICS
            for key, type_, payload, media in objects:
                chunk.objects.append(
                    ObjectRecord(seq=seq, step=step, time_us=time_us, key=key, type=type_, payload=payload, media=media)
                )
        else:
            self._add_event(chunk, record)
            return
        block = blocks.get((code, keys_id))
        if block is None:
            keys = self._keys.get(keys_id)
            if keys is None:  # the frame that named them is damaged
                chunk.num_damaged += 1
                return
            block = ScalarBlock(kind="metrics" if code == _METRICS else "system", keys=keys)
        if len(values) != len(block.keys):
            chunk.num_damaged += 1
            return
        if not block.seqs:
            blocks[code, keys_id] = block
            if block.keys:
                chunk.scalars.append(block)
        block.steps.append(step)
        block.seqs.append(seq)
        block.times_us.append(time_us)
        block.values.append(values)
        chunk.last_seq = seq
        chunk.num_records += 1

    @staticmethod
    def _add_event(chunk: Chunk, record: list[Any]) -> None:
        if record[0] != Code.EVENT:
            chunk.num_damaged += 1
            return
        _, seq, time_us, type_, payload = record
        chunk.events.append(EventRecord(seq=seq, time_us=time_us, type=type_, payload=payload))
        chunk.last_seq = seq
        chunk.num_records += 1


def _has_whole_frame(data: bytes, *, is_start: bool) -> bool:
    return next(split_frames(data, start=len(MAGIC) if is_start else 0), None) is not None


def parse_header(document: dict[str, Any]) -> Header:
    """The header that a journal's first frame holds.

    Raises:
        ValueError: the journal was written by a newer version.
    """
    fields = dict(document)
    version = fields.pop("format")
    if version > FORMAT:
        raise ValueError(
            f"The journal has format {version}, this trackio_like reads up to {FORMAT}. "
            "Nothing is lost: update trackio_like to read it."
        )
    return Header(**fields)


def header_document(header: Header) -> dict[str, Any]:
    """What the first frame of a segment holds: the inverse of `parse_header`."""
    return {"format": FORMAT, **asdict(header)}


def read_header(path: Path) -> Header | None:
    """A segment's header alone, or None where it is not written yet.

    Raises:
        FileNotFoundError: the segment is gone.
        ValueError: as `JournalTail.read`.
    """
    tail = JournalTail(path)
    tail.read(max_bytes=4096)
    return tail.header


def list_segments(folder: Path) -> list[JournalName]:
    """The journal segments in a run's journal folder, by writer and segment; empty where there is no folder."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name for name in map(JournalName.parse, names) if name is not None)


__all__ = ["READ_BYTES", "JournalTail", "header_document", "list_segments", "parse_header", "read_header"]
