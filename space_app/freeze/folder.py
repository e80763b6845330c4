"""Puts a frozen dashboard in its place: all of it at once, and never over anything else."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any, Final

MARK: Final = "trackio_like.json"
APP: Final = "trackio_like"


def is_ours(mark: bytes | str) -> bool:
    """Whether the text of a mark file says that what it lies in is a frozen dashboard."""
    try:
        document: Any = json.loads(mark)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("app") == APP and document.get("is_static") is True


def check_folder(folder: Path) -> None:
    """Makes sure that a folder may be written: it is not there, empty, or a frozen dashboard.

    Raises:
        FileExistsError: there is something else.
    """
    with contextlib.suppress(FileNotFoundError):
        if folder.is_dir():
            mark = folder / MARK
            if not any(folder.iterdir()) or (mark.is_file() and is_ours(mark.read_bytes())):
                return
        else:
            folder.lstat()
        raise FileExistsError(
            f"Something that is not a frozen dashboard is there, and stays as it is; name another folder: {folder}"
        )


def draft_beside(folder: Path) -> Path:
    """A new folder on the same file system, from where `replace_folder` moves what is finished.

    Raises:
        OSError: the folder above cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.draft")
    draft.mkdir()
    return draft


def replace_folder(draft: Path, folder: Path) -> None:
    """Moves a finished draft to its place.

    Args:
        draft: of `draft_beside`; gone afterwards.
        folder: as `check_folder` allows; what was in it is gone afterwards.

    Raises:
        FileExistsError: there is something else; it stays as it is.
        OSError: the disk refuses; what was there stays.
    """
    check_folder(folder)
    if not folder.exists():
        os.replace(draft, folder)
        return
    old = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.draft")
    os.replace(folder, old)
    try:
        os.replace(draft, folder)
    except BaseException:
        os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


__all__ = ["APP", "MARK", "check_folder", "draft_beside", "is_ours", "replace_folder"]
