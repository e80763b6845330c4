"""What remembers that a run was purged: its writers, so that a late copy of their files is not taken for a new run.

`<root>/.purged/<project>/<run_id>` is there whole or not at all. A run that is begun anew under the same id has other
writers, and is a run like any other.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trackio_like.format.durable import sync_folder
from trackio_like.format.names import ShardName, decode_name, encode_name

PURGED_FOLDER: Final = ".purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """One run that was purged."""

    project: str
    run_id: str
    writers: frozenset[str]
    """Whose files are gone, and not to come back."""

    def buries(self, path: str) -> bool:
        """Whether a file of the run is one of those that were purged.

        Args:
            path: relative to the run's folder, with `/`; media have no writer, and are not said to be.
        """
        shard = ShardName.parse(path.rpartition("/")[2])
        return shard is not None and shard.writer in self.writers


def bury(root: Path, project: str, run_id: str, writers: Iterable[str]) -> Tombstone:
    """Remembers that a run's files are to go; those of an earlier purge stay remembered.

    Raises:
        OSError: the root cannot be written.
    """
    earlier = tombstone_of(root, project, run_id)
    known = frozenset(writers) | (earlier.writers if earlier is not None else frozenset())
    path = _path(root, project, run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{secrets.token_hex(4)}.tmp")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({"writers": sorted(known)}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    sync_folder(path.parent)
    return Tombstone(project=project, run_id=run_id, writers=known)


def tombstone_of(root: Path, project: str, run_id: str) -> Tombstone | None:
    """What is remembered of a run's purge, or None where there was none."""
    try:
        text = _path(root, project, run_id).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        writers = json.loads(text)["writers"]
    except (ValueError, TypeError, KeyError):
        writers = []  # damaged: what it forbade may come back, which a person can purge again
    return Tombstone(project=project, run_id=run_id, writers=frozenset(map(str, writers)))


def tombstones(root: Path) -> Iterator[Tombstone]:
    """Every purged run of a root, by the names of their folders."""
    for project in _entries(root / PURGED_FOLDER):
        for run in _entries(root / PURGED_FOLDER / project):
            found = tombstone_of(root, decode_name(project), decode_name(run))
            if found is not None:
                yield found


def purges_stamp(root: Path) -> tuple[int, ...]:
    """Differs whenever a run was purged: times of the folders, so that nobody need read every tombstone to see that."""
    stamps = []
    for folder in (root / PURGED_FOLDER, *(root / PURGED_FOLDER / name for name in _entries(root / PURGED_FOLDER))):
        try:
            stamps.append(os.stat(folder).st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            stamps.append(-1)
    return tuple(stamps)


def _path(root: Path, project: str, run_id: str) -> Path:
    return root / PURGED_FOLDER / encode_name(project) / encode_name(run_id)


def _entries(path: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(path) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


__all__ = ["PURGED_FOLDER", "Tombstone", "bury", "purges_stamp", "tombstone_of", "tombstones"]
