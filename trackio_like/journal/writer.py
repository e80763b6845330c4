"""One writer's journal: every call is one `os.write`, so what returned survives SIGKILL."""

from __future__ import annotations

import contextlib
import errno
import os
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
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

_NO_SEGMENT: Final = 1 << 62
"""Size where no segment is open, so that the next call begins one."""
_FILE_IS_LOST: Final = (errno.ESTALE, errno.EBADF)
"""The file is gone from a network file system, or somebody closed our descriptor: only another file helps."""

_pack, _crc32, _write, _monotonic_ns = HEAD.pack, zlib.crc32, os.write, time.monotonic_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFault:
    """Why calls wait in memory."""

    error: OSError
    num_waiting: int
    num_dropped: int
    """Calls lost for good since the journal began; more than 0 only once the backlog was full."""


class ClosedJournalError(ValueError):
    """A call came after the journal was closed; it is not stored."""


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
        self._num_ids = 0
        self._is_busy = False
        self._is_closed = False
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

    # A signal handler that logs runs in the middle of any call, on the same thread and so within the same lock.
    # Each call therefore makes its frame first; `_append` refuses it where another call came between.

    def metrics(self, step: int, keys: tuple[str, ...], values: Sequence[float | int | bool]) -> None:
        """Appends one call of plain scalars: the hot path.

        Args:
            step: int64.
            keys: [K] the keys.
            values: [K] a number for each key, within int64 where it is an int.
        """
        seq = self.seq + 1
        keys_id = self._key_ids.get(keys)
        if keys_id is not None and self._size < self._segment_bytes:
            time_us = (self._clock_base_ns + _monotonic_ns()) // 1000
            payload = self._encode((2, seq, step, time_us, keys_id, values))
            if self._append(seq, _pack(len(payload), _crc32(payload)) + payload):
                return
        self._record(keys, lambda seq, time_us, id_: [Code.METRICS, seq, step, time_us, id_, values])

    def system(self, keys: tuple[str, ...], values: Sequence[float | int | bool]) -> None:
        """Appends one call of system metrics, which have a time and no step."""
        self._record(keys, lambda seq, time_us, id_: [Code.SYSTEM, seq, time_us, id_, values])

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
        # One frame for the whole call: a reader that looks while it is written sees all of it or nothing.
        self._record(keys, lambda seq, time_us, id_: [Code.MIXED, seq, step, time_us, id_, values, objects])

    def event(self, type_: str, payload: dict[str, Any]) -> None:
        """Appends one event.

        Args:
            type_: the event's type.
            payload: only what msgpack holds, with str keys.
        """
        is_stored = False
        while not is_stored:
            seq = self.seq + 1
            is_stored = self._append(seq, frame(self._encode([Code.EVENT, seq, self.now_us(), type_, payload])))

    def _record(self, keys: tuple[str, ...], make: Callable[[int, int, int], list[Any]]) -> None:
        """Appends a record, behind the frame that names its keys where this segment has none yet.

        Args:
            keys: the record's keys.
            make: gives the record from its sequence number, its time and the id of its keys.
        """
        is_stored = False
        while not is_stored:
            seq, num_dropped, is_alone = self.seq + 1, self._num_dropped, not self._is_busy
            names_more = keys not in self._key_ids and len(self._key_ids) >= MAX_KEY_SETS
            if (names_more or self._size >= self._segment_bytes) and is_alone and not self._backlog:
                self._rotate()
            # Within the opening of a segment nobody knows what it names.
            keys_id = self._key_ids.get(keys) if is_alone else None
            naming = b""
            is_new = keys_id is None
            if keys_id is None:
                self._num_ids = keys_id = self._num_ids + 1
                naming = frame(self._encode([Code.KEYS, keys_id, keys]))
            is_stored = self._append(seq, naming + frame(self._encode(make(seq, self.now_us(), keys_id))))
            # Only now: a key that cannot be encoded or whose call was dropped is not named, nor is one in a segment
            # that a call in between has closed.
            if is_stored and is_new and is_alone and self.seq == seq and num_dropped == self._num_dropped:
                self._key_ids[keys] = keys_id

    def names_key(self, key: str) -> bool:
        """Whether this segment names the key among its scalars."""
        return any(key in keys for keys in list(self._key_ids))

    # -- the file ------------------------------------------------------------------------------------------------

    def _append(self, seq: int, data: bytes) -> bool:
        """Stores the frames of one call; False where another call took its sequence number meanwhile.

        CPython looks for signals as a function begins and behind calls: from the comparison to the write, or to the
        end of what waits, there is neither, so that what is stored follows what was stored before.
        """
        size = len(data)
        if self.seq + 1 != seq:
            return False
        self.seq = seq
        if self._backlog:
            if self._backlog_bytes + size > MAX_BACKLOG_BYTES:
                self._num_dropped += 1
            else:
                self._backlog_bytes += size
                self._backlog.append(data)
            self.flush()
            return True
        try:
            written = _write(self._fd, data)
        except OSError as error:
            if self._is_closed:
                raise ClosedJournalError(f"This journal is closed: {self.folder}") from error
            self._backlog_bytes = size
            self._backlog.append(data)
            self._note_fault(error)
            return True
        if written == size:
            self._size += size
        else:
            # A full disk took a part: that goes back, and the whole call waits.
            self._is_busy = True
            self._backlog_bytes = size
            self._backlog.append(data)
            try:
                self._take_back(written)
            finally:
                self._is_busy = False
            self.flush()
        return True

    def _take_back(self, num_bytes: int) -> None:
        """Cuts a torn frame off the end of the segment."""
        try:
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - num_bytes)
        except BaseException as error:
            self._close_fd()  # the torn frame stays at the end of this segment; go on in another
            if not isinstance(error, OSError):
                raise

    def _note_fault(self, error: OSError) -> None:
        if error.errno in _FILE_IS_LOST:
            self._close_fd()
        self.fault = WriteFault(error=error, num_waiting=len(self._backlog), num_dropped=self._num_dropped)

    def flush(self) -> bool:
        """Writes what waits in memory.

        Returns:
            Whether nothing waits any more.
        """
        if self._is_busy:
            return False  # a signal handler's call: what it interrupted writes that too
        self._is_busy = True
        try:
            if self._fd < 0:
                self._open_segment()
            while self._backlog:
                self._write_whole(self._backlog[0])
                data = self._backlog.popleft()
                self._backlog_bytes = self._backlog_bytes - len(data) if self._backlog else 0
        except OSError as error:
            self._note_fault(error)
            return False
        finally:
            self._is_busy = False
        self.fault = None
        return True

    def _write_whole(self, data: bytes) -> None:
        """Writes a frame, or takes back what was written of it."""
        start = os.fstat(self._fd).st_size
        done = 0
        try:
            while done < len(data):
                done += _write(self._fd, data[done:])
        except BaseException:
            with contextlib.suppress(OSError):
                self._take_back(os.fstat(self._fd).st_size - start)
            raise
        self._size = start + done

    def check_file(self) -> bool:
        """Whether the segment still has a name; begins a new one where somebody deleted it under us."""
        with contextlib.suppress(OSError):
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
        fd, header = self._create_file(header)
        path = self.folder / str(JournalName(writer=header.writer, segment=header.segment))
        try:
            start = MAGIC + frame(self._encode([Code.HEADER, header_document(header)]))
            # A waiting call may use key sets that only an earlier segment names.
            for keys, keys_id in list(self._key_ids.items()) if self._backlog else ():
                start += frame(self._encode([Code.KEYS, keys_id, keys]))
            if os.write(fd, start) != len(start):
                raise OSError(errno.ENOSPC, "No space left on device")
        except BaseException:
            os.close(fd)
            os.unlink(path)
            raise
        self._fd, self._size, self._synced = fd, len(start), 0
        self.header = header

    def _create_file(self, header: Header) -> tuple[int, Header]:
        flags = (
            os.O_WRONLY
            | os.O_CREAT
            | os.O_EXCL
            | os.O_APPEND
            | getattr(os, "O_CLOEXEC", 0)
            | getattr(os, "O_BINARY", 0)
        )
        while True:
            path = self.folder / str(JournalName(writer=header.writer, segment=header.segment))
            try:
                return os.open(path, flags, 0o666), header
            except FileExistsError:  # an opening that was interrupted left it
                header = replace(header, segment=header.segment + 1)

    def _rotate(self) -> None:
        """Closes the segment and begins the next; calls wait in memory where that cannot be opened."""
        self._is_busy = True
        try:
            self.sync()
            self._close_fd()
            if not self._backlog:
                self._key_ids = {}
            self._open_segment()
        except OSError as error:
            self._note_fault(error)
            return
        finally:
            self._is_busy = False
        if self._backlog:
            self.flush()

    def _close_fd(self) -> None:
        fd, self._fd, self._size = self._fd, -1, _NO_SEGMENT
        if fd >= 0:
            self.header = replace(self.header, segment=self.header.segment + 1)
            # Not ours any more where somebody closed all descriptors of the process.
            with contextlib.suppress(OSError):
                os.close(fd)

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
        self._is_closed = True
        self._close_fd()


__all__ = ["MAX_BACKLOG_BYTES", "SEGMENT_BYTES", "ClosedJournalError", "JournalWriter", "WriteFault"]
