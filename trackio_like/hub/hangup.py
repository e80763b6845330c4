"""Ends answers that other threads are waiting for, so that nobody has to sit out a silent server's time limit."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any


class Hangup:
    """Holds the answers that are being read; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether `now` was called: nothing more is worth asking for."""
        return self._is_over

    @contextlib.contextmanager
    def holding(self, response: Any) -> Iterator[None]:
        """Lets `now` end this answer of the Hub's client while the block reads it."""
        stream = response.extensions.get("network_stream")
        found = None if stream is None else stream.get_extra_info("socket")
        with self._lock:
            if found is not None:
                self._sockets.add(found)
            if self._is_over:
                _shut(found)
        try:
            yield
        finally:
            with self._lock:
                self._sockets.discard(found)

    def now(self) -> None:
        """Ends what is held, and whatever will be."""
        with self._lock:
            self._is_over = True
            for found in self._sockets:
                _shut(found)


def _shut(found: socket.socket | None) -> None:
    if found is not None:
        with contextlib.suppress(OSError):
            # Not TLS's own shutdown, which would pull its state from under the thread that reads.
            socket.socket.shutdown(found, socket.SHUT_RDWR)


__all__ = ["Hangup"]
