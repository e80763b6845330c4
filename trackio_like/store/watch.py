"""A folder's file names, listed again only when they may have changed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

_SETTLE_NS: Final = 1_100_000_000
"""A folder whose time is younger may change again without a new time: coarse clocks of some file systems."""


class WatchedFolder:
    """One folder. A folder that does not exist is an empty one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: frozenset[str] = frozenset()
        self._mtime_ns: int | None = None

    def refresh(self) -> bool:
        """Looks again.

        Returns:
            Whether the names changed.
        """
        try:
            mtime_ns = os.stat(self.path).st_mtime_ns
            if mtime_ns == self._mtime_ns:
                return False
            names = frozenset(os.listdir(self.path))
        except OSError:
            mtime_ns, names = 0, frozenset()
        # Remembered only once it is old enough to tell the next change apart.
        self._mtime_ns = mtime_ns if abs(time.time_ns() - mtime_ns) > _SETTLE_NS else None
        changed = names != self.names
        self.names = names
        return changed


__all__ = ["WatchedFolder"]
