"""What goes wrong inside `log()`: one warning per cause at the user's line, counted, never an exception."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from pathlib import Path

from trackio_like.errors import TrackioLikeError, TrackioLikeWarning

logger = logging.getLogger(__name__)
_PACKAGE = str(Path(__file__).resolve().parent.parent)


class Guard:
    """Warns once per cause and counts the rest. Thread-safe."""

    def __init__(self, *, is_strict: bool) -> None:
        """Starts with nothing seen.

        Args:
            is_strict: raise instead of warning.
        """
        self._is_strict = is_strict
        # Reentrant, as every lock that log() may take: a signal handler that logs runs within whatever it interrupts.
        self._lock = threading.RLock()
        self.counts: dict[str, int] = {}
        """How often each cause was met."""

    def problem(self, cause: str, message: str) -> None:
        """Tells the user, the first time.

        Args:
            cause: names the kind and the key, so that each is told once.
            message: what happened, what is safe or lost, what to do.

        Raises:
            TrackioLikeError: strict.
        """
        with self._lock:
            count = self.counts[cause] = self.counts.get(cause, 0) + 1
        if self._is_strict:
            raise TrackioLikeError(message)
        if count == 1:
            warn_user(message)

    def report(self, name: str) -> None:
        """Says once, at the end, how often each repeated cause was met.

        Args:
            name: the run's name.
        """
        with self._lock:
            repeated = {cause: count for cause, count in self.counts.items() if count > 1}
            self.counts = {}
        if repeated:
            told = ", ".join(f"{cause!r} {count} times" for cause, count in sorted(repeated.items()))
            warn_user(
                f"Run {name!r} met problems more often than they were told: {told}. See the first warning of each."
            )

    def reset_lock(self) -> None:
        """Makes a lock of its own: for a forked child, whose parent may have held it."""
        self._lock = threading.RLock()


def warn_user(message: str) -> None:
    """Warns at the line of the user's code that called us, and never raises."""
    frame = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's line before Python 3.12's skip_file_prefixes
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    where, line = frame.f_code.co_filename, frame.f_lineno
    if where == threading.__file__:
        where, line = "trackio_like", 1  # a thread of ours: no line of the user's has to do with it
    try:
        warnings.warn_explicit(message, TrackioLikeWarning, where, line)
    except Exception:  # noqa: BLE001 - warnings may be errors, stderr closed, a hook the user's: training goes on
        with contextlib.suppress(Exception):
            logger.warning("%s", message)


__all__ = ["Guard", "warn_user"]
