"""What a mirror is to hold and what it holds: takes what a listing or the feed says, and makes the files here so."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Final

from trackio_like.hub.feed import FileChange
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import RemoteFile
from trackio_like.store.mirror.copying import copy_files
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.mirror.plan import FolderPlan, Wanted, in_order, plan_folder
from trackio_like.store.mirror.progress import Amounts
from trackio_like.store.mirror.shelf import Shelf
from trackio_like.store.mirror.sources import Source

_LAG_S: Final = 60.0
"""How old a listing may be: longer than any that was seen."""


class Stock:
    """One thread changes it; any may ask for `amounts` and `left_out`."""

    def __init__(self, source: Source, shelf: Shelf) -> None:
        """Wants nothing yet."""
        self._source = source
        self._shelf = shelf
        self._wanted: dict[str, dict[str, Wanted]] = {}
        self._damaged: dict[str, str] = {}
        """Files that are left out by path, with their hash: another content gets another chance."""
        self._missed: set[str] = set()
        """Files that came lately and that the last listing lacked."""
        self._doubtful: set[str] = set()
        """Those of them that no earlier listing lacked: they stay for now."""
        self._lock = threading.Lock()
        self._totals: dict[str, tuple[int, int]] = {}
        self._left: dict[str, int] = {}
        self._num_placed = 0

    @property
    def has_missed(self) -> bool:
        """Whether files are here that came lately and that the last listing lacked."""
        return bool(self._missed)

    @property
    def num_wanted(self) -> int:
        """Files of ours that the source has, the covered ones too."""
        return sum(map(len, self._wanted.values()))

    @property
    def num_placed(self) -> int:
        """Files that were copied since the start."""
        return self._num_placed

    def amounts(self) -> Amounts:
        """How much is to be here, and how much is."""
        with self._lock:
            num_files = sum(total[0] for total in self._totals.values())
            num_bytes = sum(total[1] for total in self._totals.values())
            return Amounts(
                num_files=num_files,
                num_done=num_files - len(self._left),
                num_bytes=num_bytes,
                num_bytes_done=num_bytes - sum(self._left.values()),
            )

    def left_out(self) -> list[str]:
        """The paths of the damaged files that the source has."""
        with self._lock:
            return sorted(self._damaged)

    def take_listing(self, listing: Iterable[RemoteFile]) -> None:
        """Wants what a listing names, from now on."""
        wanted: dict[str, dict[str, Wanted]] = {}
        for file in listing:
            place = parse_path(file.path)
            if place is not None:
                wanted.setdefault(place.folder, {})[place.name] = Wanted(file=file, place=place)
        self._wanted = wanted
        with self._lock:
            self._damaged = {path: hash_ for path, hash_ in self._damaged.items() if _names(wanted, path)}
        lately_s = time.time() - _LAG_S
        lacking = {
            f"{folder}/{name}"
            for folder in self._shelf.folders
            for name in self._shelf.names(folder) - wanted.get(folder, {}).keys()
            if self._shelf.placed_s(folder, name) > lately_s
        }
        # Believed once two listings lack it: one alone may be older than what the feed told.
        self._doubtful = lacking - self._missed
        self._missed = lacking

    def take_changes(self, changes: Iterable[FileChange]) -> set[str] | None:
        """Wants what the feed says.

        Returns:
            The folders that this concerns; None where it is not enough to go by.
        """
        folders = set()
        for change in changes:
            place = parse_path(change.path)
            if place is None:
                continue
            folders.add(place.folder)
            self._doubtful.discard(change.path)
            self._missed.discard(change.path)
            names = self._wanted.setdefault(place.folder, {})
            if change.is_deleted:
                names.pop(place.name, None)
                with self._lock:
                    self._damaged.pop(change.path, None)
                continue
            if change.num_bytes is None:
                return None
            file = RemoteFile(
                path=change.path,
                num_bytes=change.num_bytes,
                content_hash=change.content_hash or "",
                uploaded=change.uploaded,
            )
            names[place.name] = Wanted(file=file, place=place)
        return folders

    def all_folders(self) -> set[str]:
        """The folders of what is wanted and of what is here."""
        return self._wanted.keys() | self._shelf.folders

    def make_so(self, folders: Iterable[str], *, version: str, hangup: Hangup) -> bool:
        """Fetches and deletes in some folders.

        Args:
            folders: which.
            version: of the source, at which files are fetched.
            hangup: ends it early.

        Returns:
            False where a file was gone when it was fetched, so that the source has to be listed again.

        Raises:
            RemoteError: a file cannot be had now.
            OSError: the disk refuses.
        """
        plans = {folder: self._plan(folder) for folder in sorted(folders)}
        items = in_order(plans)
        with self._lock:
            for folder, plan in plans.items():
                self._totals[folder] = (plan.num_files, plan.num_bytes)
            self._left = {path: size for path, size in self._left.items() if _folder_of(path) not in plans}
            self._left |= {item.file.path: item.file.num_bytes for item in items}
        try:
            copied = copy_files(
                self._source, self._shelf, items, version=version, hangup=hangup, on_done=self._note_done
            )
        finally:
            if not hangup.is_over:
                self._delete(plans)
        with self._lock:
            self._damaged |= {item.file.path: item.file.content_hash for item in copied.damaged}
        # The smaller shards that a damaged one covered may still be there; of what went, a listing names the successor.
        damaged = {item.place.folder for item in copied.damaged}
        is_whole = (not damaged or self.make_so(damaged, version=version, hangup=hangup)) and not copied.gone
        if copied.failed is not None:
            raise copied.failed
        return is_whole

    def _note_done(self, item: Wanted) -> None:
        with self._lock:
            self._left.pop(item.file.path, None)
            self._damaged.pop(item.file.path, None)
            self._num_placed += 1

    def _plan(self, folder: str) -> FolderPlan:
        wanted = self._wanted.get(folder, {})
        have = {name for name in self._shelf.names(folder) if name not in wanted or self._is_here(wanted[name])}
        skipped = {name for name, item in wanted.items() if self._damaged.get(item.file.path) == item.file.content_hash}
        doubtful = {name for name in have if f"{folder}/{name}" in self._doubtful}
        return plan_folder(wanted.values(), have=have, skipped=skipped, doubtful=doubtful)

    def _is_here(self, item: Wanted) -> bool:
        file, place = item.file, item.place
        return self._shelf.has(place.folder, place.name, num_bytes=file.num_bytes, content_hash=file.content_hash)

    def _delete(self, folders: Iterable[str]) -> None:
        for folder in folders:
            for name in self._plan(folder).delete:
                self._shelf.delete(folder, name)
                self._missed.discard(f"{folder}/{name}")


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _names(wanted: Mapping[str, Mapping[str, Wanted]], path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in wanted.get(folder, {})


__all__ = ["Stock"]
