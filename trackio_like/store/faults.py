"""Files that could not be read: skipped, counted, and named once in the log."""

from __future__ import annotations

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


class Faults:
    """The files that were skipped; thread-safe as far as `set.add` is."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self.num_damaged_records = 0
        """Records with a wrong checksum, in journals that are otherwise read."""

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, path: Path) -> bool:
        return path in self._paths

    def add(self, path: Path, reason: object) -> None:
        """Notes that a file is skipped; warns the first time."""
        if path in self._paths:
            return
        self._paths.add(path)
        _log.warning("A file is skipped, the others are read as usual (%s): %s", reason, path)

    def note_damage(self, path: Path, num_records: int) -> None:
        """Notes damaged records in a journal that goes on being read."""
        self.num_damaged_records += num_records
        _log.warning("%d damaged records are skipped, the others are read as usual: %s", num_records, path)


__all__ = ["Faults"]
