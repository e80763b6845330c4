"""Files that could not be read: skipped, counted, and named once in the log."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

_PASSING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ESTALE, errno.ETIMEDOUT})
"""Errors that say nothing about the file."""

Signature = tuple[int | bool, ...]


class Faults:
    """The files that were skipped; thread-safe as far as one step of a `dict` is."""

    def __init__(self) -> None:
        self._paths: dict[Path, Signature | None] = {}
        self._damaged: dict[Path, int] = {}
        self.has_vanished = False
        """Whether a file went between listing and reading since `forget_changed`: its rows are elsewhere now."""

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, path: Path) -> bool:
        return path in self._paths

    def add(self, path: Path, reason: object) -> None:
        """Notes that a file is skipped; warns the first time, unless it was just compacted away."""
        if path in self._paths:
            return
        if isinstance(reason, FileNotFoundError) and not os.path.lexists(path):
            self._paths[path] = None
            self.has_vanished = True
            return
        is_passing = isinstance(reason, OSError) and reason.errno in _PASSING
        self._paths[path] = None if is_passing else _signature(path)
        _log.warning("A file is skipped, the others are read as usual (%s): %s", reason, path)

    def forget_changed(self) -> list[Path]:
        """Forgets the files that are no longer what they were when they were skipped, also those that are gone.

        Returns:
            Their paths, worth another try.
        """
        self.has_vanished = False
        changed = [path for path, known in list(self._paths.items()) if known is None or _signature(path) != known]
        for path in changed:
            self._paths.pop(path, None)
        return changed

    @property
    def num_damaged_records(self) -> int:
        """Records with a wrong checksum, in journals that are otherwise read."""
        return sum(self._damaged.values())

    def note_damage(self, path: Path, num_records: int) -> None:
        """Notes damaged records in a journal that goes on being read; warns when there are more than before.

        Args:
            path: the journal.
            num_records: how many there are from its beginning on: several readers may meet the same.
        """
        if num_records <= self._damaged.get(path, 0):
            return
        self._damaged[path] = num_records
        _log.warning("%d damaged records are skipped, the others are read as usual: %s", num_records, path)


def _signature(path: Path) -> Signature | None:
    try:
        status = os.lstat(path)  # not `stat`, which fails for a link that leads nowhere
    except FileNotFoundError:
        return None
    except OSError:
        return ()
    # The change time tells of permissions too.
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, os.path.exists(path)


__all__ = ["Faults"]
