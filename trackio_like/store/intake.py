"""Takes the files that a client sends: each is checked before it has its name, and is there whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from trackio_like.format.durable import sync_folder
from trackio_like.format.names import ShardName
from trackio_like.format.tombstones import bury, tombstone_of
from trackio_like.store.changes import writers_of
from trackio_like.store.shard_check import check_shard
from trackio_like.store.slots import Fault, IntakeError, Slot, is_slot, no_path

INCOMING_FOLDER: Final = ".incoming"
"""Where files are until they are checked: on the same file system, and hidden from every reader."""
OLD_DRAFT_S: Final = 24 * 3600


class Intake:
    """What comes into a root from outside. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        """Touches nothing yet.

        Args:
            root: the root; made with the first file.
        """
        self.root = root
        self._lock = threading.Lock()

    def begin(self, path: str, num_bytes: int) -> Draft:
        """Makes room for a file.

        Args:
            path: as `Slot.parse` reads it.
            num_bytes: how many bytes will come.

        Raises:
            IntakeError: it is not taken, whatever its content is.
            OSError: the disk refuses.
        """
        slot = Slot.parse(path)
        self._check_purged(slot)
        self._folder_of(slot)  # a link in it is found before a large body is waited for
        incoming = self.root / INCOMING_FOLDER
        incoming.mkdir(parents=True, exist_ok=True)
        draft = incoming / f"{secrets.token_hex(8)}.tmp"
        return Draft(self, slot, draft, num_bytes)

    def _check_purged(self, slot: Slot) -> None:
        stone = tombstone_of(self.root, slot.project, slot.run_id)
        if stone is not None and stone.buries(slot.name):
            raise IntakeError(Fault.PURGED, "This run was purged here; its files are not taken again.")

    def publish(self, slot: Slot, draft: Path, digest: str) -> bool:
        """Gives a checked file its name; for `Draft`.

        Returns:
            Whether it is new.

        Raises:
            IntakeError: the name holds other content, or the run was purged meanwhile.
            OSError: the disk refuses.
        """
        with self._lock:
            self._check_purged(slot)
            folder = self._folder_of(slot)
            target = folder / slot.name
            if os.path.lexists(target):
                if not os.path.islink(target) and digest == _digest_of(target):
                    return False
                raise IntakeError(Fault.TAKEN, f"{slot.name} is there already, with other content.")
            folder.mkdir(parents=True, exist_ok=True)
            os.replace(draft, target)
        sync_folder(folder)
        return True

    def _folder_of(self, slot: Slot) -> Path:
        """The folder, which need not exist; no part of it is a link, so that nothing is written elsewhere."""
        folder = self.root
        for name in slot.folders:
            folder = folder / name
            if os.path.islink(folder):
                raise no_path()
        return folder

    def remove(self, path: str, *, is_deleted: Callable[[str, str], bool]) -> bool:
        """Removes a file that no reader needs any more.

        Args:
            path: as `Slot.parse` reads it.
            is_deleted: whether the run of this project and id is deleted.

        Returns:
            Whether it was there.

        Raises:
            IntakeError: it is needed, or no file of a run has such a path.
            OSError: the disk refuses.
        """
        slot = Slot.parse(path)
        with self._lock:
            folder = self._folder_of(slot)
            target = folder / slot.name
            if not os.path.lexists(target):
                return False
            if not (_is_covered(folder, slot.shard) or self._is_purged(slot)):
                if not is_deleted(slot.project, slot.run_id):
                    raise IntakeError(
                        Fault.NEEDED, "No larger shard covers this one and its run is not deleted, so it stays."
                    )
                # Remembered first: the event that says so may be the next file to go.
                run = self.root / slot.folders[0] / slot.folders[1]
                bury(self.root, slot.project, slot.run_id, writers_of(run))
            os.unlink(target)
            for depth in range(len(slot.folders), 0, -1):
                with contextlib.suppress(OSError):
                    os.rmdir(self.root.joinpath(*slot.folders[:depth]))
        return True

    def _is_purged(self, slot: Slot) -> bool:
        stone = tombstone_of(self.root, slot.project, slot.run_id)
        if stone is None:
            return False
        return stone.buries(slot.name) or (
            slot.kind is None and writers_of(self.root / slot.folders[0] / slot.folders[1]) <= stone.writers
        )

    def files(self, *, prefix: str = "", after: str = "") -> Iterator[tuple[str, int]]:
        """Path and size of each file that came in or could have, in the order of their paths.

        Args:
            prefix: only paths that begin so.
            after: only paths behind this one.
        """
        return _walk(self.root, "", prefix, after)

    def remove_old_drafts(self) -> None:
        """Removes what a server that was killed left half-received."""
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.root / INCOMING_FOLDER):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > OLD_DRAFT_S:
                        os.unlink(entry.path)


class Draft:
    """A file that is coming in. Used by one thread at a time; ended by `finish` or `discard`."""

    def __init__(self, intake: Intake, slot: Slot, path: Path, num_bytes: int) -> None:
        """Made by `Intake.begin`."""
        self._intake = intake
        self._slot = slot
        self._path = path
        self._num_bytes = num_bytes
        self._num_written = 0
        self._hash = hashlib.sha256()
        self._file: BinaryIO = open(path, "xb")  # noqa: SIM115 - closed by finish and discard

    def write(self, part: bytes | bytearray) -> None:
        """Takes the next bytes.

        Raises:
            IntakeError: more come than were announced.
            OSError: the disk refuses.
        """
        self._num_written += len(part)
        if self._num_written > self._num_bytes:
            raise IntakeError(Fault.TORN, f"More than the announced {self._num_bytes} bytes came.")
        self._hash.update(part)
        self._file.write(part)

    def finish(self, sha256: str) -> bool:
        """Checks it and gives it its name.

        Args:
            sha256: what was announced, as small hex digits.

        Returns:
            Whether it is new: False where it was there with the same content.

        Raises:
            IntakeError: it is not taken.
            OSError: the disk refuses.
        """
        if self._num_written != self._num_bytes:
            raise IntakeError(Fault.TORN, f"{self._num_written} of the announced {self._num_bytes} bytes came.")
        digest = self._hash.hexdigest()
        if digest != sha256:
            raise IntakeError(Fault.TORN, "The bytes that came have another SHA-256 than announced.")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if self._slot.shard is not None and self._slot.kind is not None:
            check_shard(self._path, self._slot, self._slot.kind, self._slot.shard)
        is_new = self._intake.publish(self._slot, self._path, digest)
        self.discard()
        return is_new

    def discard(self) -> None:
        """Removes what came, where it has no name yet; idempotent."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _is_covered(folder: Path, shard: ShardName | None) -> bool:
    if shard is None:
        return False
    others = (ShardName.parse(name) for name in os.listdir(folder))
    return any(
        other is not None
        and other != shard
        and other.writer == shard.writer
        and other.first <= shard.first
        and shard.last <= other.last
        for other in others
    )


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _walk(folder: Path, path: str, prefix: str, after: str) -> Iterator[tuple[str, int]]:
    """The files below a folder in the order of their paths; folders that hold none of those wanted are not opened."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".") and not entry.is_symlink()]
    except OSError:
        return
    # A folder sorts as if its name ended in "/": the order of whole paths, whatever stands in the names.
    named = sorted((path + entry.name + ("/" if entry.is_dir() else ""), entry) for entry in found)
    for name, entry in named:
        if not (name.startswith(prefix) or prefix.startswith(name)):
            continue
        if name.endswith("/"):
            if name > after or after.startswith(name):
                yield from _walk(folder / entry.name, name, prefix, after)
        elif name > after and name.startswith(prefix) and is_slot(name):
            with contextlib.suppress(OSError):
                yield name, entry.stat().st_size


__all__ = ["INCOMING_FOLDER", "Draft", "Intake"]
