"""Tells the user when a disk refuses a run's journal, and when it takes it again."""

from __future__ import annotations

from trackio_like.journal.writer import JournalWriter
from trackio_like.run.guard import Guard


class JournalHealth:
    """What was told of one run's journal. The run's lock is held around every call."""

    def __init__(self, name: str, guard: Guard) -> None:
        """Nothing told yet.

        Args:
            name: the run's name.
            guard: where problems go.
        """
        self._name = name
        self._guard = guard
        self._is_told = False

    def tell(self, journal: JournalWriter) -> None:
        """Warns once per fault that calls wait in memory, and once that some were dropped."""
        fault = journal.fault
        if fault is None:
            return
        if fault.num_dropped:
            self._guard.problem(
                "dropped",
                f"{journal.folder} still refuses writes and memory for waiting rows is full: new rows are dropped "
                "until it heals. Free some space.",
            )
        if not self._is_told:
            self._is_told = True
            self._guard.problem(
                f"disk {fault.error.errno}",
                f"{journal.folder} refuses writes ({fault.error.strerror}). Training goes on: rows wait in memory and "
                "are stored when it heals, but would be lost with the process. Free some space or fix its permissions.",
            )

    def heal(self, journal: JournalWriter) -> None:
        """Tries again what was refused, and begins a new segment where the journal was deleted."""
        if journal.fault is not None and journal.flush():
            self._is_told = False
            self._guard.problem("healed", f"{journal.folder} takes writes again: what waited in memory is stored.")
        if journal.fault is None and not journal.check_file():
            self._guard.problem(
                "deleted",
                f"The journal of run {self._name!r} was deleted while it was written; rows from before that are gone "
                f"unless they were sealed. Logging goes on in {journal.folder}.",
            )


__all__ = ["JournalHealth"]
