"""Which projects and runs a root holds, from folder names alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trackio_like.format.names import KINDS, decode_name

_RUN_FOLDERS: Final = frozenset({*KINDS, "journal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A run's folder."""

    project: str
    run_id: str
    path: Path


def list_projects(root: Path) -> dict[str, tuple[Path, ...]]:
    """The projects that have at least one run.

    Args:
        root: need not exist.

    Returns:
        The folders of each project by its name, sorted: several, where names were encoded for another file system.
    """
    found: dict[str, list[Path]] = {}
    for name, path in _named_folders(root):
        if next(_runs_in(name, path), None) is not None:
            found.setdefault(name, []).append(path)
    return {name: tuple(found[name]) for name in sorted(found)}


def project_folders(root: Path, project: str) -> tuple[Path, ...]:
    """The folders that decode to this project's name, whether or not they hold a run."""
    return tuple(path for name, path in _named_folders(root) if name == project)


def list_runs(project: str, folders: tuple[Path, ...]) -> dict[str, FoundRun]:
    """The runs in a project's folders, by id; a run with nothing below it is not there yet."""
    return {run.run_id: run for folder in folders for run in _runs_in(project, folder)}


def _runs_in(project: str, folder: Path) -> Iterator[FoundRun]:
    for run_id, path in _named_folders(folder):
        try:
            has_rows = not _RUN_FOLDERS.isdisjoint(os.listdir(path))
        except OSError:
            continue
        if has_rows:
            yield FoundRun(project=project, run_id=run_id, path=path)


def _named_folders(folder: Path) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and _is_folder(entry))
    except OSError:
        return
    for name in names:
        try:
            yield decode_name(name), folder / name
        except UnicodeDecodeError:
            continue  # a stranger's folder: no name encodes to it


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


__all__ = ["FoundRun", "list_projects", "list_runs", "project_folders"]
