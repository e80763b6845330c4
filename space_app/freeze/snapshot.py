"""The files of a root as of one moment, so that an export reads the same rows however long it takes."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from trackio_like.format.names import JournalName, ShardName
from trackio_like.store.catalog import list_projects, list_runs
from trackio_like.store.follow import FOLLOWED

_MAX_LISTINGS: Final = 20
"""How often a folder is listed again while its files vanish between listing and linking."""


def take_snapshot(root: Path, projects: Iterable[str], into: Path) -> dict[tuple[str, str], Path]:
    """Links every file that holds rows into another folder; where links cannot be made, copies.

    Args:
        root: folder of all projects; its files may be written, sealed and compacted meanwhile.
        projects: their names.
        into: the folder to become a root of its own.

    Returns:
        The folder of each run in `root`, by project and run id.

    Raises:
        OSError: the disk refuses.
    """
    folders = list_projects(root)
    found: dict[tuple[str, str], Path] = {}
    for project in projects:
        for run in list_runs(project, folders.get(project, ())).values():
            found[project, run.run_id] = run.path
            _take_run(run.path, into / run.path.parent.name / run.path.name)
    return found


def _take_run(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    # Journals first: what leaves one in between is in a shard by the time that shards are listed.
    for name in _names(source / "journal"):
        if JournalName.parse(name) is not None:
            (target / "journal").mkdir(exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                # A copy, for it may grow; what is cut off at its end is not a row yet.
                shutil.copyfile(source / "journal" / name, target / "journal" / name)
    for kind in FOLLOWED:
        for _ in range(_MAX_LISTINGS):
            if _take_shards(source / kind, target / kind):
                break


def _take_shards(source: Path, target: Path) -> bool:
    """Links the shards of one kind; False where one went meanwhile, for its rows are in a new one then."""
    is_whole = True
    for name in _names(source):
        if ShardName.parse(name) is None or (target / name).exists():
            continue
        target.mkdir(exist_ok=True)
        try:
            _link(source / name, target / name)
        except FileNotFoundError:
            is_whole = False
    return is_whole


def _link(source: Path, target: Path) -> None:
    if not source.is_symlink():
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copy2(source, target)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


__all__ = ["take_snapshot"]
