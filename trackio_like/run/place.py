"""Where a run's files go: the root, or a private fallback where that cannot be written."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from trackio_like.run.guard import warn_user
from trackio_like.run.hostlock import private_folder


def writable_root(root: Path) -> Path:
    """The root if it can be written, else a folder of this user that can, with one warning.

    Writability is tested by writing: permission bits say nothing about a read-only mount or a full quota.

    Args:
        root: the folder that is wanted; made where it is missing.

    Raises:
        OSError: nothing can be written anywhere.
    """
    try:
        _try_writing(root)
    except OSError as error:
        fallback = _fallback()
        warn_user(
            f"{root} cannot be written ({error.strerror or error}); this run is stored in {fallback} instead. "
            f"Nothing is lost: open it with `trackio-like show --root {fallback}`, or set TRACKIO_DIR to a folder that "
            "can be written."
        )
        return fallback
    return root


def _try_writing(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    probe = root / f".probe-{os.getpid()}-{secrets.token_hex(4)}"
    fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if os.write(fd, b"x") != 1:
            raise OSError(28, "No space left on device")
    finally:
        os.close(fd)
        os.unlink(probe)


def _fallback() -> Path:
    try:
        folder = private_folder() / "runs"
        _try_writing(folder)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="trackio_like-"))
    return folder


__all__ = ["writable_root"]
