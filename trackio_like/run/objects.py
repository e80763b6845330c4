"""`ObjectRun`: a run that also takes values which are a row with a file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trackio_like.run.core import LoggingRun
from trackio_like.run.media import write_media
from trackio_like.run.values import encodable


class ObjectRun(LoggingRun):
    """What the package's own data types are logged into."""

    def object_step(self, step: Any = None) -> int:
        """The step that an object belongs to: the one that is asked for, else the last one of `log()`, 0 before it.

        Args:
            step: whole number, or None.
        """
        last = max(self._next_step - 1, 0)
        checked = None if step is None else self._checked_step(step, instead=f"step {last}")
        return last if checked is None else checked

    def log_object(
        self, key: str, type_: str, payload: Any, *, file: bytes, extension: str, step: int | None = None
    ) -> bool:
        """Stores a value that is a row with a file: for the package's own data types. Never raises.

        Ranks whose metrics are not stored store none of these.

        Args:
            key: any non-empty text.
            type_: name of the data type.
            payload: what msgpack holds.
            file: what is in its file.
            extension: what the file's name ends in, without the dot.
            step: as `object_step`; the automatic step does not count on from it.

        Returns:
            Whether it is stored.
        """
        try:
            if not self._logs_metrics:
                return False
            chosen = self.object_step(step)
            with self._lock:
                folder = self._open().folder.parent
            # Outside the lock: other threads log on while the disk writes.
            media = self._write_media(folder, chosen, key, file, extension)
            if media is None:
                return False
            with self._lock:
                journal = self._open()
                journal.mixed(chosen, (), [], [(encodable(key), type_, payload, media)])
                if journal.fault is not None:
                    self._health.tell(journal)
            return True
        except Exception as error:  # noqa: BLE001 - as in log()
            self._failed(type_, error)
            return False

    def _write_media(self, folder: Path, step: int, key: str, file: bytes, extension: str) -> str | None:
        try:
            return write_media(folder, step, file, extension)
        except OSError as error:
            self._guard.problem(
                f"media {error.errno}",
                f"{folder} refuses a file ({error.strerror}): {key!r} of step {step} is lost. Training goes on, and "
                "what log() is given is kept. Free some space or fix its permissions.",
            )
            return None


__all__ = ["ObjectRun"]
