"""What people may change of a run, and how a folder takes it: an event each, and for a purge the end of the files."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, Self

from trackio_like.format.durable import sync_folder
from trackio_like.format.names import KINDS, JournalName, RunFolder, ShardName, decode_name, encode_name
from trackio_like.format.tombstones import PURGED_FOLDER, bury
from trackio_like.shards.events import write_event

MAX_NAME_CHARS: Final = 500
MAX_TAGS: Final = 100
MAX_TAG_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a run, checked."""

    type: str
    payload: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, type_: str, payload: Mapping[str, Any]) -> Self:
        """A change that was asked for.

        Args:
            type_: rename, tags, group, delete or restore.
            payload: as docs/http_api.md says for the type; what else is in it is left out.

        Raises:
            ValueError: there is no such change, or its payload is not one; the message says what would be.
        """
        check = _CHECKS.get(type_)
        if check is None:
            raise ValueError(f"type={type_!r} is unknown; choose one of {', '.join(_CHECKS)}.")
        return cls(type=type_, payload=check(payload))


def _rename(payload: Mapping[str, Any]) -> dict[str, Any]:
    name = payload.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_CHARS:
        raise ValueError(f"A run's name must have 1 to {MAX_NAME_CHARS} characters that can be seen.")
    return {"name": _text(name)}


def _tags(payload: Mapping[str, Any]) -> dict[str, Any]:
    tags = payload.get("tags")
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError('Tags must be a list of texts, such as ["baseline"].')
    if len(tags) > MAX_TAGS or any(not 0 < len(tag) <= MAX_TAG_CHARS for tag in tags):
        raise ValueError(f"At most {MAX_TAGS} tags of 1 to {MAX_TAG_CHARS} characters each are allowed.")
    return {"tags": list(dict.fromkeys(map(_text, tags)))}


def _group(payload: Mapping[str, Any]) -> dict[str, Any]:
    group = payload.get("group")
    if group is not None and (not isinstance(group, str) or not 0 < len(group) <= MAX_NAME_CHARS):
        raise ValueError(f"A group must have 1 to {MAX_NAME_CHARS} characters, or be None for no group.")
    return {"group": None if group is None else _text(group)}


def _nothing(_payload: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _text(text: str) -> str:
    """A text that Parquet can hold: half a surrogate becomes a question mark."""
    return text.encode("utf-8", errors="replace").decode()


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "rename": _rename,
    "tags": _tags,
    "group": _group,
    "delete": _nothing,
    "restore": _nothing,
}


class Changes(Protocol):
    """Where changes are written: a folder, or a bucket or dataset together with its copy here."""

    def change(self, folder: RunFolder, change: Change, *, time_us: int) -> None:
        """Writes a change down; it shows at the reader's next look.

        Raises:
            OSError: the disk refuses.
            RemoteError: the Hub refuses; nothing has changed then.
        """

    def purge(self, folder: RunFolder) -> None:
        """Removes the files of a run for good; one that is gone is none to remove.

        Raises:
            OSError: the disk refuses; what is gone is gone.
            RemoteError: the Hub refuses.
        """


class FolderChanges:
    """Changes of runs in a folder of this machine. Needs no lock: nobody else writes these files."""

    def change(self, folder: RunFolder, change: Change, *, time_us: int) -> None:
        """As `Changes.change`.

        Raises:
            OSError: the disk refuses; nothing has changed.
        """
        write_event(folder, change.type, change.payload, time_us=time_us)

    def purge(self, folder: RunFolder) -> None:
        """As `Changes.purge`: it is remembered first, so that what is removed is not sent or taken again.

        Raises:
            OSError: the disk refuses; doing it again removes the rest.
        """
        bury(folder.root, folder.project, folder.run_id, writers_of(folder.path))
        _remove(folder.root, folder.path)
        with contextlib.suppress(OSError):
            os.rmdir(folder.path.parent)  # fails, as it should, where the project has other runs


def run_folder(root: Path, project: str, run_id: str, path: Path) -> RunFolder:
    """The folder of a run that was found at a path, which may be encoded for another file system."""
    plain = encode_name(project)
    name = path.parent.name
    assert decode_name(name) == project, "a run lies in its project's folder"
    return RunFolder(root=root, project=project, run_id=run_id, project_folder="" if name == plain else name)


def writers_of(path: Path) -> set[str]:
    """The writers of whom a run's folder holds a shard or a journal."""
    shards = (ShardName.parse(name) for kind in KINDS for name in _names(path / kind))
    journals = (JournalName.parse(name) for name in _names(path / "journal"))
    return {found.writer for found in (*shards, *journals) if found is not None}


def _remove(root: Path, path: Path) -> None:
    if os.path.islink(path):
        os.unlink(path)
        return
    # Moved first, so that no reader meets half a run; removing many files takes a while.
    aside = root / PURGED_FOLDER / f".{secrets.token_hex(8)}"
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return
    except OSError:  # another file system
        aside = path
    sync_folder(path.parent)
    shutil.rmtree(aside)


def remove_leftovers(root: Path) -> None:
    """Removes what an interrupted purge left."""
    for name in _names(root / PURGED_FOLDER):
        if name.startswith("."):
            shutil.rmtree(root / PURGED_FOLDER / name, ignore_errors=True)


def _names(path: Path) -> Iterable[str]:
    try:
        return os.listdir(path)
    except OSError:
        return ()


__all__ = ["Change", "Changes", "FolderChanges", "remove_leftovers", "run_folder", "writers_of"]
