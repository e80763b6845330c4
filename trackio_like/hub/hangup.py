"""Ends answers that other threads are waiting for, so that nobody has to sit out a silent server's time limit."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from trackio_like.errors import RemoteUnavailableError

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException


_END = object()


class Hangup:
    """Holds the answers that are being read; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._waiting: set[queue.SimpleQueue[Any]] = set()
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

    def apart(self, work: Callable[[], Iterable[Answer]]) -> Iterator[Answer]:
        """What some work yields, done in a thread of its own.

        Before a server answers there is no socket to shut, so work that hangs there is left to its time limit. The
        thread is a daemon: the interpreter does not wait for it.

        Args:
            work: yields what is passed on; an error of it is raised here. Ends early where somebody hangs up.
        """
        found: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def do() -> None:
            try:
                for item in work():
                    found.put(item)
                    if self._is_over:
                        break
                found.put(_END)
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                found.put(_Failed(error))

        with self._lock:
            if self._is_over:
                return
            self._waiting.add(found)
        threading.Thread(target=do, name="trackio-like-ask", daemon=True).start()
        try:
            while (item := found.get()) is not _END and not self._is_over:
                if isinstance(item, _Failed):
                    raise item.error
                yield item
        finally:
            with self._lock:
                self._waiting.discard(found)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """What a call answers; as `apart`.

        Raises:
            RemoteUnavailableError: somebody hung up first.
        """

        def work() -> Iterator[Answer]:
            yield question()

        for answer in self.apart(work):
            return answer
        raise RemoteUnavailableError("Nobody waits for the answer any more")

    def now(self) -> None:
        """Ends what is held, and whatever will be."""
        with self._lock:
            self._is_over = True
            for found in self._sockets:
                _shut(found)
            for waiting in self._waiting:
                waiting.put(_END)


def _shut(found: socket.socket | None) -> None:
    if found is not None:
        with contextlib.suppress(OSError):
            # Not TLS's own shutdown, which would pull its state from under the thread that reads.
            socket.socket.shutdown(found, socket.SHUT_RDWR)


__all__ = ["Hangup"]
