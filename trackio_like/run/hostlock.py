"""A lock that one process of this host holds, and that the system releases when it dies."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class HostLock:
    """An exclusive lock on a file of this host. Not reentrant, not thread-safe."""

    def __init__(self, path: Path) -> None:
        """Names the lock; takes nothing yet."""
        self.path = path
        self._fd = -1

    def acquire(self) -> bool:
        """Takes the lock, or returns False at once where somebody holds it.

        Raises:
            OSError: the lock's file cannot be opened.
        """
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            _lock(fd)
        except OSError:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def release(self) -> None:
        """Gives the lock back; idempotent. The file stays: removing it would let two hold it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def is_held(self) -> bool:
        """Whether anybody holds the lock now.

        Raises:
            OSError: the lock's file cannot be opened.
        """
        if self._fd >= 0:
            return True
        if not self.acquire():
            return True
        self.release()
        return False


def private_folder() -> Path:
    """This user's own folder for files of this host alone; made where it is missing.

    Raises:
        OSError: neither the runtime folder nor the temporary one takes a folder that only this user can change.
    """
    base = os.path.join(tempfile.gettempdir(), f"trackio_like-{_user()}")
    folder = Path(base)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        # Somebody else took the name: a folder of a random name cannot be shared, so none is better.
        raise PermissionError(f"{folder} is not a folder of this user.")
    return folder


def _user() -> str:
    if hasattr(os, "getuid"):
        return str(os.getuid())
    return hashlib.sha256(getpass.getuser().encode()).hexdigest()[:12]


def daemon_lock(root: Path) -> HostLock:
    """The lock that elects the daemon of a root on this host.

    Args:
        root: the root; an alias of it (a link, another working folder) gives the same lock.

    Raises:
        OSError: no folder for it.
    """
    digest = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return HostLock(private_folder() / f"daemon-{digest}.lock")


__all__ = ["HostLock", "daemon_lock", "private_folder"]
