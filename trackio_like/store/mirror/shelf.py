"""A mirror's files on this disk: there whole or not at all, and known without looking."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path
from typing import Final

from trackio_like.errors import DamagedFileError
from trackio_like.store.mirror.paths import Place, parse_path

DRAFTS: Final = ".drafts"
_WHOLE: Final = ".whole"
_MAGIC: Final = b"PAR1"


class Shelf:
    """The folder of one mirror. One thread changes it; any may read its files."""

    def __init__(self, folder: Path) -> None:
        """Knows nothing yet: `scan` looks."""
        self.folder = folder
        self._sizes: dict[str, dict[str, int]] = {}
        self._hashes: dict[tuple[str, str], str] = {}
        """Of what this process put in place, as the source named them."""
        self._placed_s: dict[tuple[str, str], float] = {}

    def scan(self) -> None:
        """Looks at what an earlier process left, and removes its drafts.

        Raises:
            OSError: the folder cannot be read or made.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / _WHOLE).unlink(missing_ok=True)
        shutil.rmtree(self.folder / DRAFTS, ignore_errors=True)
        (self.folder / DRAFTS).mkdir(exist_ok=True)
        self._sizes, self._hashes, self._placed_s = {}, {}, {}
        waiting = [""]
        while waiting:
            inner = waiting.pop()
            with os.scandir(self.folder / inner) as entries:
                for entry in entries:
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    elif (place := parse_path(path)) is not None:
                        self._note(place, entry.stat())

    def mark_whole(self) -> None:
        """Tells other processes that everything was compared and copied once.

        Raises:
            OSError: the disk refuses.
        """
        (self.folder / _WHOLE).touch()

    @property
    def folders(self) -> set[str]:
        """The folders that hold a file."""
        return {folder for folder, names in self._sizes.items() if names}

    def names(self, folder: str) -> set[str]:
        """The names of the files in one folder."""
        return set(self._sizes.get(folder, ()))

    def has(self, folder: str, name: str, *, num_bytes: int, content_hash: str) -> bool:
        """Whether a file is here as the source has it; of what an earlier process left, the size decides.

        Args:
            folder: its folder.
            name: its name.
            num_bytes: how long it is at the source.
            content_hash: its hash there; empty where that is not known.
        """
        if self._sizes.get(folder, {}).get(name) != num_bytes:
            return False
        known = self._hashes.get((folder, name), "")
        return not (known and content_hash) or known == content_hash

    def placed_s(self, folder: str, name: str) -> float:
        """When a file came here, in Unix seconds; 0 where it is not here."""
        return self._placed_s.get((folder, name), 0.0)

    def _note(self, place: Place, status: os.stat_result) -> None:
        self._sizes.setdefault(place.folder, {})[place.name] = status.st_size
        self._placed_s[place.folder, place.name] = status.st_mtime

    def draft(self) -> Path:
        """A place to write a file to that nobody reads."""
        return self.folder / DRAFTS / secrets.token_hex(8)

    def publish(self, draft: Path, place: Place, *, content_hash: str = "") -> None:
        """Puts a draft where readers find it; the draft is gone in any case.

        Args:
            draft: a whole file, from `draft`.
            place: where it belongs.
            content_hash: its hash at the source, where that is known.

        Raises:
            DamagedFileError: it is no whole Parquet file, though its name says so.
            OSError: the disk refuses.
        """
        try:
            if place.shard is not None:
                _check_parquet(draft)
            target = self.folder / place.folder / place.name
            target.parent.mkdir(parents=True, exist_ok=True)
            status = draft.stat()
            os.replace(draft, target)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
        self._note(place, status)
        self._hashes[place.folder, place.name] = content_hash

    def delete(self, folder: str, name: str) -> None:
        """Removes a file, and the folders that are empty then; idempotent.

        Raises:
            OSError: the disk refuses.
        """
        with contextlib.suppress(FileNotFoundError):
            (self.folder / folder / name).unlink()
        self._sizes.get(folder, {}).pop(name, None)
        self._hashes.pop((folder, name), None)
        self._placed_s.pop((folder, name), None)
        if self._sizes.get(folder):
            return
        self._sizes.pop(folder, None)
        inner = folder
        with contextlib.suppress(OSError):  # somebody else's file lies there
            while inner:
                (self.folder / inner).rmdir()
                inner = inner.rpartition("/")[0]


def is_whole(folder: Path) -> bool:
    """Whether the process that keeps this copy up has compared and copied everything since it began."""
    return (folder / _WHOLE).exists()


def _check_parquet(path: Path) -> None:
    """Looks at both ends, and whether the footer fits between them: what is cut or padded is found without reading it.

    Raises:
        DamagedFileError: it is no whole Parquet file.
    """
    # https://parquet.apache.org/docs/file-format/: magic, row groups, footer, its length (4 bytes), magic.
    with open(path, "rb") as file:
        head = file.read(4)
        num_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, num_bytes - 8))
        tail = file.read(8)
    footer_bytes = int.from_bytes(tail[:4], "little")
    is_whole_file = head == _MAGIC and tail[4:] == _MAGIC and 0 < footer_bytes <= num_bytes - 12
    if not is_whole_file:
        raise DamagedFileError("it is not a whole Parquet file")


__all__ = ["DRAFTS", "Shelf", "is_whole"]
