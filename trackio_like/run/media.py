"""Writes the file of a logged object: there whole or not at all, and before the row that names it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from trackio_like.format.durable import sync_folder
from trackio_like.format.names import new_media_path

_DRAFT_SUFFIX: Final = ".tmp"


def write_media(run_folder: Path, step: int, data: bytes, extension: str) -> str:
    """Writes a file beside its place and renames it there, durably.

    Args:
        run_folder: the run's folder; made where it is missing.
        step: the object's step.
        data: what is in it.
        extension: what its name ends in, without the dot.

    Returns:
        Where it is now, relative to the run's folder, with `/`.

    Raises:
        OSError: the disk refuses; nothing is left behind.
    """
    media = new_media_path(step, extension)
    target = run_folder / media
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}{_DRAFT_SUFFIX}")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        for folder in (target.parent, target.parent.parent):  # where they are empty: made for this file alone
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise
    for folder in (target.parent, target.parent.parent, run_folder):
        sync_folder(folder)
    return media


__all__ = ["write_media"]
