"""One writer's journal: every call is one `os.write`, so what returned survives SIGKILL."""

from __future__ import annotations

import errno
import os
import time
import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from trackio_like.format.durable import sync_folder
from trackio_like.format.names import JournalName
from trackio_like.format.records import Header
from trackio_like.journal.frames import HEAD, MAGIC, Code, frame
from trackio_like.journal.reader import header_document

SEGMENT_BYTES: Final = 16 << 20
"""A segment is closed at this size: what one sealing pass holds in memory at most."""
MAX_KEY_SETS: Final = 4096
"""Key sets a segment may name before a new one is begun: bounds the memory of a writer whose keys never repeat."""
MAX_BACKLOG_BYTES: Final = 64 << 20
"""What waits in memory while the disk refuses writes; beyond it the newest calls are dropped and counted."""

_pack, _crc32, _write, _monotonic_ns = HEAD.pack, zlib.crc32, os.write, time.monotonic_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFault:
    """Why calls wait in memory."""

    error: OSError
    num_waiting: int
    num_dropped: int
    """Calls lost for good since the journal began; more than 0 only once the backlog was full."""


class JournalWriter:
    """Appends the calls of one process to its journal.

    Not thread-safe: its owner holds a lock around every call. Never raises for a disk that is full, read-only or
    gone: calls then wait in memory, in order, up to `MAX_BACKLOG_BYTES`, and are written when the disk takes them.
    """

    def __init__(self, folder: Path, header: Header, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Opens the first segment.

        Args:
            folder: the run's journal folder; made where it is missing.
            header: who writes; `segment` and `first_seq` are kept up by the writer.
            segment_bytes: size at which a segment is closed.

        Raises:
            OSError: the folder or the first segment cannot be written.
        """
        self.header = header
        self.folder = folder
        self.seq = header.first_seq - 1
        """Sequence number of the last call."""
        self.fault: WriteFault | None = None
        """Why calls wait in memory, or None while the disk takes them."""
        self._segment_bytes = segment_bytes
        self._encode = msgspec.msgpack.Encoder().encode
        self._key_ids: dict[tuple[str, ...], int] = {}
        self._backlog: deque[bytes] = deque()
        self._backlog_bytes = 0
        self._num_dropped = 0
        self._fd = -1
        self._size = 0
        self._synced = 0
        self._clock_base_ns = time.time_ns() - _monotonic_ns()
        self._open_segment()

    # -- the clock -----------------------------------------------------------------------------------------------

    def now_us(self) -> int:
        """Microseconds since the epoch; never goes back, whatever the wall clock does."""
        return (self._clock_base_ns + _monotonic_ns()) // 1000

    def follow_wall_clock(self, *, tolerance_ns: int = 1_000_000_000) -> None:
        """Moves forward to the wall clock where that is ahead (a suspended laptop); never back."""
        ahead_ns = time.time_ns() - _monotonic_ns() - self._clock_base_ns
        if ahead_ns > tolerance_ns:
            self._clock_base_ns += ahead_ns

    # -- records -------------------------------------------------------------------------------------------------

    def metrics(self, step: int, keys: tuple[str, ...], values: Sequence[float | int | bool]) -> None:
        """Appends one call of plain scalars: the hot path.

        Args:
            step: int64.
            keys: [K] the keys.
            values: [K] a number for each key, within int64 where it is an int.
        """
        self.seq = seq = self.seq + 1
        keys_id = self._key_ids.get(keys)
        time_us = (self._clock_base_ns + _monotonic_ns()) // 1000
        if keys_id is None:
            self._append(self._named(keys, lambda id_: [Code.METRICS, seq, step, time_us, id_, values]))
            return
        payload = self._encode((2, seq, step, time_us, keys_id, values))
        self._append(_pack(len(payload), _crc32(payload)) + payload)

    def system(self, keys: tuple[str, ...], values: Sequence[float | int | bool]) -> None:
        """Appends one call of system metrics, which have a time and no step."""
        self.seq = seq = self.seq + 1
        time_us = self.now_us()
        self._append(self._named(keys, lambda id_: [Code.SYSTEM, seq, time_us, id_, values]))

    def mixed(
        self,
        step: int,
        keys: tuple[str, ...],
        values: Sequence[float | int | bool],
        objects: Sequence[tuple[str, str, Any, str | None]],
    ) -> None:
        """Appends one call that holds objects too, under one sequence number.

        Args:
            step: int64.
            keys: [K] the keys of the scalars; may be empty.
            values: [K] the scalars.
            objects: (key, type, payload, media path or None) of each object.
        """
        self.seq = seq = self.seq + 1
        time_us = self.now_us()
        # One frame for the whole call: a reader that looks while it is written sees all of it or nothing.
        self._append(self._named(keys, lambda id_: [Code.MIXED, seq, step, time_us, id_, values, objects]))

    def event(self, type_: str, payload: dict[str, Any]) -> None:
        """Appends one event.

        Args:
            type_: the event's type.
            payload: only what msgpack holds, with str keys.
        """
        self.seq = seq = self.seq + 1
        self._append(frame(self._encode([Code.EVENT, seq, self.now_us(), type_, payload])))

    def _named(self, keys: tuple[str, ...], record: Any) -> bytes:
        """The record's frame, behind the frame that names its keys where this segment has none yet."""
        keys_id = self._key_ids.get(keys)
        if keys_id is not None:
            return frame(self._encode(record(keys_id)))
        if len(self._key_ids) >= MAX_KEY_SETS:
            self._rotate()
        keys_id = len(self._key_ids)
        data = frame(self._encode([Code.KEYS, keys_id, keys])) + frame(self._encode(record(keys_id)))
        self._key_ids[keys] = keys_id  # only now: a key that cannot be encoded must not count as named
        return data

    def names_key(self, key: str) -> bool:
        """Whether this segment names the key among its scalars."""
        return any(key in keys for keys in self._key_ids)

    # -- the file ------------------------------------------------------------------------------------------------

    def _append(self, data: bytes) -> None:
        if self._backlog:
            self._wait(data)
            self.flush()
            return
        try:
            written = _write(self._fd, data)
        except OSError as error:
            self._refuse(error, data)
            return
        if written != len(data):
            self._finish_write(data, written)
            return
        self._size += written
        if self._size >= self._segment_bytes:
            self._rotate()

    def _finish_write(self, data: bytes, written: int) -> None:
        """Writes what a short write left; takes the torn frame back where the disk refuses the rest."""
        done = written
        try:
            while done < len(data):
                done += _write(self._fd, data[done:])
        except OSError as error:
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                self._close_fd()  # the torn frame stays at the end of this segment; go on in another
            self._refuse(error, data)
            return
        self._size += done

    def _refuse(self, error: OSError, data: bytes) -> None:
        self._wait(data)
        self.fault = WriteFault(error=error, num_waiting=len(self._backlog), num_dropped=self._num_dropped)

    def _wait(self, data: bytes) -> None:
        if self._backlog_bytes + len(data) > MAX_BACKLOG_BYTES:
            self._num_dropped += 1
            # The dropped call may have been the one that names its keys: the next segment names all of them again.
            self._close_fd()
            return
        self._backlog.append(data)
        self._backlog_bytes += len(data)

    def flush(self) -> bool:
        """Writes what waits in memory.

        Returns:
            Whether nothing waits any more.
        """
        try:
            if self._fd < 0:
                self._open_segment()
            while self._backlog:
                data = self._backlog[0]
                done = _write(self._fd, data)
                if done != len(data):
                    os.ftruncate(self._fd, self._size)
                    raise OSError(errno.ENOSPC, "No space left on device")
                self._size += done
                self._backlog.popleft()
                self._backlog_bytes -= done
        except OSError as error:
            if error.errno in (errno.ESTALE, errno.EBADF):
                self._close_fd()  # the file is gone from a network file system: the next try opens another
            self.fault = WriteFault(error=error, num_waiting=len(self._backlog), num_dropped=self._num_dropped)
            return False
        self.fault = None
        return True

    def check_file(self) -> bool:
        """Whether the segment still has a name; begins a new one where somebody deleted it under us."""
        if self._fd >= 0 and os.fstat(self._fd).st_nlink > 0:
            return True
        self._rotate()
        return False

    def sync(self) -> None:
        """Asks the disk to hold what was written: what a power cut can lose is bounded by the time between calls.

        May run beside the owner's lock: it takes a descriptor of its own.
        """
        fd, size = self._fd, self._size
        if fd < 0 or size == self._synced:
            return
        try:
            duplicate = os.dup(fd)
        except OSError:
            return
        try:
            (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(duplicate)
            if self._synced == 0:
                sync_folder(self.folder)
            self._synced = size
        except OSError:
            pass  # some file systems cannot; the write itself already survives the process
        finally:
            os.close(duplicate)

    def _open_segment(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        header = replace(self.header, first_seq=self.header.first_seq if self._backlog else max(self.seq, 1))
        name = JournalName(writer=header.writer, segment=header.segment)
        flags = (
            os.O_WRONLY
            | os.O_CREAT
            | os.O_EXCL
            | os.O_APPEND
            | getattr(os, "O_CLOEXEC", 0)
            | getattr(os, "O_BINARY", 0)
        )
        fd = os.open(self.folder / str(name), flags, 0o666)
        start = MAGIC + frame(self._encode([Code.HEADER, header_document(header)]))
        # A waiting call may use key sets that only an earlier segment names.
        for keys, keys_id in self._key_ids.items() if self._backlog else ():
            start += frame(self._encode([Code.KEYS, keys_id, keys]))
        try:
            if os.write(fd, start) != len(start):
                raise OSError(errno.ENOSPC, "No space left on device")
        except OSError:
            os.close(fd)
            os.unlink(self.folder / str(name))
            raise
        self._fd, self._size, self._synced = fd, len(start), 0
        self.header = header

    def _rotate(self) -> None:
        """Closes the segment and begins the next; calls wait in memory where that cannot be opened."""
        self.sync()
        self._close_fd()
        if not self._backlog:
            self._key_ids = {}
        try:
            self._open_segment()
        except OSError as error:
            self.fault = WriteFault(error=error, num_waiting=len(self._backlog), num_dropped=self._num_dropped)

    def _close_fd(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self.header = replace(self.header, segment=self.header.segment + 1)

    def abandon(self) -> None:
        """Closes this process's copy of the descriptor and nothing else: for a forked child."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Writes what waits, syncs, and closes; idempotent."""
        if self._backlog:
            self.flush()
        self.sync()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


__all__ = ["MAX_BACKLOG_BYTES", "SEGMENT_BYTES", "JournalWriter", "WriteFault"]
