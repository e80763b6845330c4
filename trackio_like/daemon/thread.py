"""The daemon's loop in a thread of the training process, where processes cannot be started."""

from __future__ import annotations

import logging
import threading

from trackio_like._settings import Settings
from trackio_like.daemon.loop import serve

logger = logging.getLogger(__name__)


class SealThread:
    """Runs the daemon's loop until it is closed. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        """Starts the thread."""
        self._stop = threading.Event()
        self._settings = settings
        self._thread = threading.Thread(target=self._run, name="trackio-like-seal", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the loop runs: it ends when idle, or where another process seals the root."""
        return self._thread.is_alive()

    def close(self, timeout_s: float = 30.0) -> None:
        """Ends the loop after one last pass; idempotent. What a pass cut short leaves is in the journals."""
        self._stop.set()
        self._thread.join(timeout=timeout_s)

    def _run(self) -> None:
        try:
            serve(self._settings, self._stop)
        except OSError as error:
            logger.warning("%s is not sealed by this process: %s", self._settings.root, error)


def start(settings: Settings) -> SealThread:
    """Starts sealing a root in this process."""
    return SealThread(settings)


__all__ = ["SealThread", "start"]
