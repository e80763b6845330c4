"""What a target holds, as far as this host knows: a text file that is only appended to, and that may be deleted.

Each line is a checksum and a JSON array:

* `["+", seconds, bytes, path]`: the target was seen to take a path; `["-", path]`: to lose it.
* `["!", path, reason]`: it will never take it; `["?"]`: try again what it would not take.
* `["made", seconds]`: the target was made, or found; `["compared", seconds]`: what stands above came from a listing.
* `["ledger", random]`: the first line, which tells one file from another that took its place.

A line that a crash cut short fails its checksum and is skipped. Imports nothing heavy: a training process reads it
while it waits in `finish()`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

REWRITE_LINES: Final = 1000
"""A file of fewer lines is never written anew."""
_REWRITE_FACTOR: Final = 3
"""It is written anew when it has so many times the lines that it needs."""
_HEAD_BYTES: Final = 64
_TOP: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One file that the target holds."""

    num_bytes: int
    stored_s: float
    """When it was first known to be there, seconds since the epoch, by this host's clock."""


class Ledger:
    """A view of the file that `refresh()` brings up to date. Thread-safe; several processes may append."""

    def __init__(self, path: Path) -> None:
        """Reads nothing yet.

        Args:
            path: the file; its folder must exist before anything is written.
        """
        self.path = path
        self._lock = threading.RLock()
        self._head = b""
        self._offset = 0
        self._forget()

    def _forget(self) -> None:
        self._runs: dict[str, dict[str, Stored]] = {}
        self._rejected: dict[str, dict[str, str]] = {}
        self._num_paths = self._num_lines = 0
        self.made_s: float | None = None
        """When the target was made, or found to exist; None where it never was, as far as known."""
        self.compared_s: float | None = None
        """When this was last made from a listing; None where it never was."""

    # -- reading -------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Reads what was appended since, or everything where the file is another one; whether anything was new.

        Raises:
            OSError: the file is there and cannot be read.
        """
        with self._lock:
            try:
                with open(self.path, "rb") as file:
                    # Not its inode: a file system gives the one of a replaced file to the next.
                    head = file.read(_HEAD_BYTES).partition(b"\n")[0]
                    size = os.fstat(file.fileno()).st_size
                    is_another = head != self._head or size < self._offset
                    if not is_another and size == self._offset:
                        return False
                    if is_another:
                        self._forget()
                        self._head, self._offset = head, 0
                    file.seek(self._offset)
                    return self._read(file.read()) or is_another
            except FileNotFoundError:
                was_there = self._offset > 0
                self._forget()
                self._head, self._offset = b"", 0
                return was_there

    def _read(self, text: bytes) -> bool:
        """Takes whole lines; a last one without its end may still be in the act of being written."""
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._num_lines += 1
            record = _parse(line)
            if record is not None:
                self._apply(record)
        return bool(whole)

    def _apply(self, record: list[Any]) -> None:
        match record:
            case ["+", float() | int() as stored_s, int(num_bytes), str(path)]:
                run = self._runs.setdefault(run_of(path), {})
                self._num_paths += path not in run
                run[path] = Stored(num_bytes=num_bytes, stored_s=float(stored_s))
                self._rejected.get(run_of(path), {}).pop(path, None)
            case ["-", str(path)]:
                if self._runs.get(run_of(path), {}).pop(path, None) is not None:
                    self._num_paths -= 1
            case ["!", str(path), str(reason)]:
                self._rejected.setdefault(run_of(path), {})[path] = reason
            case ["?"]:
                self._rejected.clear()
            case ["made", float() | int() as made_s]:
                self.made_s = float(made_s)
            case ["compared", float() | int() as compared_s]:
                self.compared_s = float(compared_s)
            case _:
                pass  # a newer version's

    def run(self, run: str) -> Mapping[str, Stored]:
        """What the target holds of a run, by path; do not keep it.

        Args:
            run: `<project>/<run id>` as the folders are named.
        """
        return self._runs.get(run, {})

    def rejected(self, run: str) -> Mapping[str, str]:
        """What the target will never take of a run, and why; do not keep it."""
        return self._rejected.get(run, {})

    @property
    def num_rejected(self) -> int:
        """Files that are set aside."""
        return len(self.all_rejected())

    def all_rejected(self) -> dict[str, str]:
        """Everything that is set aside, and why."""
        with self._lock:
            return {path: why for run in self._rejected.values() for path, why in run.items()}

    def paths(self) -> Iterator[tuple[str, Stored]]:
        """Everything that the target holds, in no order."""
        with self._lock:
            everything = [item for run in self._runs.values() for item in run.items()]
        return iter(everything)

    def __len__(self) -> int:
        return self._num_paths

    # -- writing -------------------------------------------------------------------------------------------------

    def note_made(self, now_s: float) -> None:
        """Remembers that the target exists.

        Raises:
            OSError: the file cannot be written; so for all that write.
        """
        self._append([["made", now_s]])

    def note(
        self,
        *,
        stored: Mapping[str, int] | None = None,
        lost: Iterable[str] = (),
        rejected: Mapping[str, str] | None = None,
        now_s: float,
    ) -> None:
        """Remembers what became of a batch.

        Args:
            stored: paths that the target took, and their sizes in bytes.
            lost: paths that it no longer holds.
            rejected: paths that it will never take, and why.
            now_s: seconds since the epoch.
        """
        records: list[list[Any]] = [["+", now_s, size, path] for path, size in (stored or {}).items()]
        records += [["-", path] for path in lost]
        records += [["!", path, reason] for path, reason in (rejected or {}).items()]
        if records:
            self._append(records)
            self._rewrite_where_long()

    def try_rejected_again(self) -> None:
        """Forgets what was set aside."""
        if self.num_rejected:
            self._append([["?"]])

    def compare(self, listing: Iterable[tuple[str, int]], *, now_s: float) -> tuple[int, int]:
        """Takes a listing of the target for what it holds.

        Args:
            listing: every path and its size in bytes.
            now_s: seconds since the epoch.

        Returns:
            How many paths were not known, and how many were thought to be there and are not.
        """
        with self._lock:
            self.refresh()
            known = dict(self.paths())
            held: dict[str, dict[str, Stored]] = {}
            num_new = num_paths = 0
            for path, num_bytes in listing:
                before = known.pop(path, None)
                num_new += before is None
                num_paths += 1
                # A file of another size under a known name is not the one that was sent.
                is_same = before is not None and before.num_bytes == num_bytes
                stored_s = before.stored_s if before is not None and is_same else now_s
                held.setdefault(run_of(path), {})[path] = Stored(num_bytes=num_bytes, stored_s=stored_s)
            self._runs, self._num_paths = held, num_paths
            self.made_s = now_s if self.made_s is None else self.made_s
            self.compared_s = now_s
            self._rewrite()
            return num_new, len(known)

    def _append(self, records: Iterable[list[Any]]) -> None:
        with self._lock:
            self.refresh()
            text = b"".join(_format(record) for record in records)
            with open(self.path, "ab") as file:
                size = os.fstat(file.fileno()).st_size
                if size == 0:
                    text = _first_line() + text
                elif size > self._offset:
                    text = b"\n" + text  # a crash cut the last line short: ours begins one of its own
                file.write(text)
            self.refresh()

    def _rewrite_where_long(self) -> None:
        with self._lock:
            num_needed = self._num_paths + self.num_rejected
            if self._num_lines > max(REWRITE_LINES, _REWRITE_FACTOR * num_needed):
                self._rewrite()

    def _rewrite(self) -> None:
        records: list[list[Any]] = [] if self.made_s is None else [["made", self.made_s]]
        if self.compared_s is not None:
            records.append(["compared", self.compared_s])
        records += [["+", stored.stored_s, stored.num_bytes, path] for path, stored in self.paths()]
        records += [["!", path, why] for path, why in self.all_rejected().items()]
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            draft.write_bytes(_first_line() + b"".join(_format(record) for record in records))
            os.replace(draft, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
        self.refresh()


def run_of(path: str) -> str:
    """The run that a path belongs to, `<project>/<run id>`; empty for a file beside the projects."""
    first, _, rest = path.partition("/")
    second, slash, _ = rest.partition("/")
    return f"{first}/{second}" if slash else _TOP


def _first_line() -> bytes:
    return _format(["ledger", secrets.token_hex(8)])


def _format(record: list[Any]) -> bytes:
    body = json.dumps(record, separators=(",", ":")).encode("ascii")
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _parse(line: bytes) -> list[Any] | None:
    head, _, body = line.partition(b" ")
    if head != b"%08x" % zlib.crc32(body):
        return None
    try:
        record = json.loads(body)
    except ValueError:
        return None
    return record if isinstance(record, list) else None


__all__ = ["Ledger", "Stored", "run_of"]
