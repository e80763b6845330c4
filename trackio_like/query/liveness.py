"""Whether the process behind a writer is known to have ended."""

from __future__ import annotations

import time
from typing import Final

from trackio_like.format.records import Header
from trackio_like.run.host import is_alive

_CHECK_EVERY_S: Final = 4.0


class Liveness:
    """Looks at this host's processes, each at most every few seconds; not thread-safe."""

    def __init__(self, host: str) -> None:
        """Starts with nothing checked.

        Args:
            host: this machine's identity; writers of other hosts are never called dead.
        """
        self._host = host
        self._dead: set[str] = set()
        self._checked: dict[str, float] = {}

    def is_dead(self, header: Header) -> bool:
        """Whether this host's process of that number is gone, or is a later one."""
        if header.host != self._host:
            return False
        if header.writer in self._dead:
            return True
        now = time.monotonic()
        if now - self._checked.get(header.writer, -_CHECK_EVERY_S) < _CHECK_EVERY_S:
            return False
        self._checked[header.writer] = now
        if not is_alive(header.pid, header.process_started):
            self._dead.add(header.writer)
            return True
        return False


__all__ = ["Liveness"]
