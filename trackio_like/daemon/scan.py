"""Which files the runs of a target have here, looking only where something may have changed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like.daemon.plan import LocalFile
from trackio_like.format.names import RunFolder, encode_name
from trackio_like.format.targets import TargetFolder
from trackio_like.format.tombstones import Tombstone

JOURNAL_FOLDER: Final = "journal"
FULL_SCAN_PASSES: Final = 20
"""In so many passes every bound run is looked at once; in the others those that changed a while ago."""
RECENT_PASSES: Final = 240
"""For so many passes a run that changed is looked at in each."""
SETTLED_S: Final = 2.0
"""The coarsest tick of a file system's clock, FAT's: of two files that come in one tick the second changes no time."""


def run_key(folder: RunFolder) -> str:
    """`<project>/<run id>` as the folders are named: what the ledger knows a run by."""
    return f"{folder.project_folder or encode_name(folder.project)}/{encode_name(folder.run_id)}"


def run_key_of(tombstone: Tombstone) -> str:
    """The same of a run that was purged."""
    return f"{encode_name(tombstone.project)}/{encode_name(tombstone.run_id)}"


@dataclass(slots=True)
class _Folder:
    """One folder's own files, as last listed."""

    mtime_ns: int = -1
    settled_s: float = float("inf")
    """From when on a listing holds all that came in the tick of `mtime_ns`."""
    is_settled: bool = False
    """Whether the last listing was one of those, so that the folder changed only where its time did."""
    files: tuple[LocalFile, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(slots=True)
class _Run:
    folder: RunFolder
    bound_s: float = 0.0
    changed_pass: int = 0
    listed: dict[str, _Folder] = field(default_factory=dict)


class RunScanner:
    """The files of a target's bound runs, pass by pass. Not thread-safe."""

    def __init__(self, target: TargetFolder, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Has seen nothing.

        Args:
            target: whose runs.
            clock: seconds that never go backward.
        """
        self._target = target
        self._clock = clock
        self._runs: dict[str, _Run] = {}
        self._passes = 0

    def changed_runs(self, *, is_full: bool = False) -> Iterator[tuple[str, tuple[LocalFile, ...]]]:
        """The runs whose files changed since the last call, each with all the files that it has; all at first.

        Args:
            is_full: look at every bound run, whenever it changed.

        Raises:
            OSError: a folder may not be read.
        """
        is_full = is_full or self._passes % FULL_SCAN_PASSES == 0
        self._passes += 1
        self._note_bindings()
        for key, run in list(self._runs.items()):
            is_recent = self._passes - run.changed_pass <= RECENT_PASSES
            if (is_full or is_recent) and self._list(run, run.folder.path, key):
                run.changed_pass = self._passes
                yield key, tuple(file for folder in run.listed.values() for file in folder.files)

    def bound_s(self, key: str) -> float:
        """When a run was bound to the target, seconds since the epoch; 0 for a run that is not."""
        run = self._runs.get(key)
        return 0.0 if run is None else run.bound_s

    def look_again(self, key: str) -> None:
        """Counts a run as changed once more, for what was found of it was not made use of."""
        run = self._runs.get(key)
        if run is not None:
            run.listed.clear()
            run.changed_pass = self._passes

    def _note_bindings(self) -> None:
        for folder in self._target.bound_runs():
            key = run_key(folder)
            if key not in self._runs:
                self._runs[key] = _Run(folder, changed_pass=self._passes)
            with contextlib.suppress(OSError):
                bound_s = os.stat(self._target.path / "runs" / key).st_mtime
                if bound_s != self._runs[key].bound_s:  # a run that is resumed is bound anew
                    self._runs[key].bound_s = bound_s
                    self._runs[key].changed_pass = self._passes

    def _list(self, run: _Run, path: Path, relative: str) -> bool:
        """Brings a folder and those in it up to date; whether anything changed."""
        known = run.listed.setdefault(relative, _Folder())
        try:
            mtime_ns = os.stat(path).st_mtime_ns
            has_changed = False
            if mtime_ns != known.mtime_ns or not known.is_settled:
                # Read before the listing: what comes during it may be missed by it.
                now_s = self._clock()
                settled_s = known.settled_s if mtime_ns == known.mtime_ns else now_s + SETTLED_S
                files, folders = _entries(path, relative)
                has_changed = (files, folders) != (known.files, known.folders)
                for gone in set(known.folders) - set(folders):
                    self._forget(run, f"{relative}/{gone}")
                run.listed[relative] = known = _Folder(mtime_ns, settled_s, now_s >= settled_s, files, folders)
        except (FileNotFoundError, NotADirectoryError):
            self._forget(run, relative)
            return bool(known.files or known.folders)
        for name in known.folders:
            has_changed |= self._list(run, path / name, f"{relative}/{name}")
        return has_changed

    def _forget(self, run: _Run, relative: str) -> None:
        for name in [name for name in run.listed if name == relative or name.startswith(f"{relative}/")]:
            del run.listed[name]


def _entries(path: Path, relative: str) -> tuple[tuple[LocalFile, ...], tuple[str, ...]]:
    """A folder's files and folders by name, without hidden ones (drafts) and journals."""
    files: list[LocalFile] = []
    folders: list[str] = []
    is_run = relative.count("/") == 1
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            with contextlib.suppress(FileNotFoundError):  # compacted just now
                if entry.is_dir(follow_symlinks=False):
                    if not (is_run and entry.name == JOURNAL_FOLDER):
                        folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat()
                    files.append(
                        LocalFile(
                            path=f"{relative}/{entry.name}", num_bytes=status.st_size, mtime_ns=status.st_mtime_ns
                        )
                    )
    return tuple(sorted(files, key=lambda file: file.path)), tuple(sorted(folders))


def list_run(folder: RunFolder) -> tuple[LocalFile, ...]:
    """All files of one run that are ever sent, by path within each folder.

    Raises:
        OSError: a folder may not be read.
    """
    found: list[LocalFile] = []
    waiting = [(folder.path, run_key(folder))]
    while waiting:
        path, relative = waiting.pop()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            files, folders = _entries(path, relative)
            found += files
            waiting += [(path / name, f"{relative}/{name}") for name in folders]
    return tuple(found)


__all__ = ["FULL_SCAN_PASSES", "JOURNAL_FOLDER", "SETTLED_S", "RunScanner", "list_run", "run_key"]
