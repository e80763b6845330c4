"""Which host looks after which journals in a root that several machines share."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Final

LEASE_S: Final = 120.0
"""A host that gave no sign of life for so long is gone, and its journals may be adopted."""
KEEP_ADOPTED_S: Final = 86_400.0
"""How long an adopted journal stays after its last write: a host that only slept may still append to it."""
HOSTS_FOLDER: Final = ".hosts"


class Lease:
    """This host's sign of life in a root, and its view of the others'.

    Times are those that the file system stamps, so that hosts whose clocks differ agree.
    """

    def __init__(self, root: Path, host: str) -> None:
        """Gives no sign yet.

        Args:
            root: the shared root.
            host: this host's identity.
        """
        self._folder = root / HOSTS_FOLDER
        self._host = host
        self.now_s = 0.0
        """The file system's time at the last `renew`, seconds since the epoch."""

    def renew(self) -> None:
        """Gives a sign of life.

        Raises:
            OSError: the root cannot be written.
        """
        self._folder.mkdir(exist_ok=True)
        path = self._path(self._host)
        path.write_text(self._host)
        self.now_s = path.stat().st_mtime

    def is_gone(self, host: str, journal_mtime_s: float) -> bool:
        """Whether another host's journal may be adopted.

        Args:
            host: identity of the host that wrote it.
            journal_mtime_s: when it last grew.
        """
        last = journal_mtime_s
        with contextlib.suppress(FileNotFoundError):
            last = max(last, self._path(host).stat().st_mtime)
        return self.now_s - last > LEASE_S

    def claim(self, journal_folder: Path, writer: str) -> bool:
        """Takes over a writer whose host is gone, unless another host has just done so.

        Args:
            journal_folder: the run's journal folder.
            writer: the writer.

        Raises:
            OSError: the folder cannot be written.
        """
        path = journal_folder / f"{writer}.claim"
        with contextlib.suppress(FileNotFoundError):
            if path.read_text() == self._host:
                os.utime(path)
                return True
            if self.now_s - path.stat().st_mtime <= LEASE_S:
                return False
            path.unlink()
        try:
            with open(path, "x") as file:
                file.write(self._host)
        except FileExistsError:
            return False
        return True

    def drop_claim(self, journal_folder: Path, writer: str) -> None:
        """Forgets a claim once the journal is gone; idempotent."""
        with contextlib.suppress(FileNotFoundError):
            (journal_folder / f"{writer}.claim").unlink()

    def _path(self, host: str) -> Path:
        return self._folder / hashlib.sha256(host.encode("utf-8", "replace")).hexdigest()[:20]


__all__ = ["HOSTS_FOLDER", "KEEP_ADOPTED_S", "LEASE_S", "Lease"]
