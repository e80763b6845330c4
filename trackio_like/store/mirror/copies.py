"""The folder of all copies of this user: which one belongs to a remote, who may read it, and which are old."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from trackio_like.errors import RemoteError
from trackio_like.hub.access import HubAccess
from trackio_like.run.hostlock import HostLock, private_folder

UNUSED_DAYS: Final = 30.0
"""A copy that nobody opened for so long is removed; it is fetched again when it is needed."""
_READERS: Final = ".readers"
_USED: Final = ".used"
_NAME: Final = re.compile(r"[0-9a-f]{20}")


def copy_folder(copies: Path, access: HubAccess, title: str, *, ask: Callable[[], object]) -> Path:
    """The folder of a remote's copy: one for all who may read the remote, however they are logged in.

    A token that never read this remote has to read it once before it is shown what another one copied; until then it
    has a copy of its own. A renewed token, or another account's, thus costs one API call, and not everything again.

    Args:
        copies: the folder of all copies.
        access: the endpoint and token.
        title: the remote, such as `the bucket me/board`.
        ask: reads the remote with that token.

    Raises:
        OSError: the disk refuses.
    """
    shared = copies / _digest(access.endpoint, title)
    reader = _digest(access.endpoint, title, access.token)
    if reader in _lines(shared / _READERS):
        return shared
    try:
        ask()
    except RemoteError:
        return copies / reader
    shared.mkdir(parents=True, exist_ok=True)
    with open(shared / _READERS, "a", encoding="ascii") as file:
        file.write(f"{reader}\n")
    return shared


def copy_lock(folder: Path) -> HostLock:
    """What the process that keeps a copy up holds.

    Raises:
        OSError: no folder for it.
    """
    digest = hashlib.sha256(str(folder.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return HostLock(private_folder() / f"mirror-{digest}.lock")


def note_use(folder: Path) -> None:
    """Makes a copy's folder, and says that it is used now.

    Raises:
        OSError: the disk refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _USED).touch()


def remove_unused(copies: Path, *, unused_s: float = UNUSED_DAYS * 86_400) -> list[Path]:
    """Removes the copies that nobody opened for long, and that nobody keeps up now.

    Args:
        copies: the folder of all copies; whatever else lies there stays.
        unused_s: seconds since it was opened.

    Returns:
        The folders that are gone.
    """
    gone = []
    for folder in _list(copies):
        try:
            is_old = time.time() - (folder / _USED).stat().st_mtime > unused_s
        except OSError:
            continue  # not one of ours, or one that is being made
        if is_old and _remove(folder):
            gone.append(folder)
    return gone


def _remove(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        lock = copy_lock(folder)
        if not lock.acquire():
            return False
        try:
            # Under another name first: whoever opens it meanwhile must not find half of it.
            doomed = folder.with_name(f".{folder.name}.{os.getpid()}")
            folder.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)
        finally:
            lock.release()
        return True
    return False


def _list(copies: Path) -> list[Path]:
    try:
        return sorted(path for path in copies.iterdir() if _NAME.fullmatch(path.name))
    except OSError:
        return []


def _lines(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="ascii").split())
    except (OSError, UnicodeError):
        return set()


def _digest(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:20]


__all__ = ["UNUSED_DAYS", "copy_folder", "copy_lock", "note_use", "remove_unused"]
