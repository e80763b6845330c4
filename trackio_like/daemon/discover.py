"""Finds the journals of a root, looking only where something may have changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trackio_like.format.names import RunFolder, decode_name, encode_name

FULL_SCAN_PASSES: Final = 5
"""A resumed old run shows only in its own journal folder, so all are looked at once in so many passes."""
RECENT_PASSES: Final = 60
"""For so many passes a run whose journals changed is looked at in each."""


def run_folders(root: Path) -> Iterator[RunFolder]:
    """Every run's folder in a root, in no order; empty where there is no root."""
    for project in _folders(root):
        yield from _runs_in(root, project.name)


def run_folder(root: Path, project_entry: str, run_entry: str) -> RunFolder | None:
    """The run that two folder names stand for; None where they are a stranger's, which no name is encoded as."""
    try:
        folder = RunFolder(
            root=root,
            project=decode_name(project_entry),
            run_id=decode_name(run_entry),
            project_folder=project_entry,
        )
        encode_name(folder.run_id)
    except ValueError:
        return None
    return folder


def _runs_in(root: Path, project_entry: str) -> list[RunFolder]:
    """A project's runs; none where it was deleted just now or may not be read: others are looked at all the same."""
    try:
        entries = _folders(root / project_entry)
    except OSError:
        return []
    found = [run_folder(root, project_entry, entry.name) for entry in entries]
    return [folder for folder in found if folder is not None]


def _folders(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


class JournalFinder:
    """Which runs may have journals that nobody has seen yet. Not thread-safe."""

    def __init__(self, root: Path) -> None:
        """Has seen nothing."""
        self._root = root
        self._mtimes: dict[Path, int] = {}
        self._projects: dict[str, int | None] = {}
        self._recent: dict[Path, tuple[RunFolder, int]] = {}
        self._passes = 0

    def changed_runs(self) -> list[RunFolder]:
        """Runs whose journal folder changed since the last call; all of them at first."""
        is_full = self._passes % FULL_SCAN_PASSES == 0
        self._passes += 1
        looked_at: dict[Path, RunFolder] = {}
        for project in _folders(self._root):
            mtime = _mtime_ns(Path(project.path))
            if is_full or self._projects.get(project.name) != mtime:
                self._projects[project.name] = mtime
                looked_at.update({folder.journal: folder for folder in _runs_in(self._root, project.name)})
        # A run that was resumed once is likely to be resumed again, or joined by more processes.
        for journal, (folder, seen) in list(self._recent.items()):
            if self._passes - seen > RECENT_PASSES:
                del self._recent[journal]
            looked_at[journal] = folder
        changed = [folder for journal, folder in looked_at.items() if self._has_changed(journal)]
        self._recent.update({folder.journal: (folder, self._passes) for folder in changed})
        return changed

    def look_again(self, folder: RunFolder) -> None:
        """Counts a run as changed once more: its journals could not be listed."""
        self._mtimes.pop(folder.journal, None)

    def _has_changed(self, journal: Path) -> bool:
        mtime = _mtime_ns(journal)
        if mtime is None or self._mtimes.get(journal) == mtime:
            return False
        self._mtimes[journal] = mtime
        return True


def _mtime_ns(path: Path) -> int | None:
    """When a folder changed; None where it is gone, or where nobody may look."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


__all__ = ["JournalFinder", "run_folder", "run_folders"]
