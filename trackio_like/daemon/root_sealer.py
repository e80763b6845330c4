"""One pass over a root: seal what grew, compact what is small, record who vanished."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trackio_like.daemon.discover import JournalFinder, run_folders
from trackio_like.daemon.lease import KEEP_ADOPTED_S, Lease
from trackio_like.daemon.retry import Retry
from trackio_like.format.names import Kind, RunFolder
from trackio_like.format.records import Header
from trackio_like.format.schemas import SCHEMAS
from trackio_like.journal.reader import list_segments
from trackio_like.run.host import host_identity, is_alive
from trackio_like.shards.compact import compact_folder, drop_covered, list_shards
from trackio_like.shards.events import write_event
from trackio_like.shards.seal import WriterSealer

logger = logging.getLogger(__name__)
KINDS: Final[tuple[Kind, ...]] = tuple(SCHEMAS)
UPKEEP_RUNS: Final = 20
"""Old runs looked at per pass after a start, so that a large root does not delay those who log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What one pass did and what it left."""

    num_calls: int
    """Calls sealed."""
    num_open: int
    """Writers of this host that are alive and not finished."""
    num_waiting: int
    """Things left to do that need no writer: covered shards in their grace time, old runs not looked at yet, faults."""


class RootSealer:
    """Seals a root for one host, pass by pass. Not thread-safe; only the elected daemon of the host runs it."""

    def __init__(self, root: Path, *, is_process_alive: Callable[[int, float], bool] = is_alive) -> None:
        """Has seen nothing.

        Args:
            root: the root.
            is_process_alive: whether the process of this pid and start time runs.
        """
        self.root = root
        self._is_process_alive = is_process_alive
        self._host = host_identity()
        self._lease = Lease(root, self._host)
        self._finder = JournalFinder(root)
        self._writers: dict[tuple[Path, str], WriterSealer] = {}
        self._retries: dict[tuple[Path, str], Retry] = {}
        self._covered: set[tuple[Path, Kind]] = set()
        self._upkeep: list[RunFolder] | None = None

    def run_pass(self) -> PassReport:
        """Does what is due. A fault in one writer's files is logged and does not keep the others from being sealed.

        Raises:
            OSError: the root itself cannot be read or written.
        """
        if not self.root.is_dir():
            # Deleted by a person: making it again would bring back what they wanted gone.
            self._writers.clear()
            self._covered.clear()
            self._retries.clear()
            return PassReport(num_calls=0, num_open=0, num_waiting=0)
        self._lease.renew()
        for folder in self._finder.changed_runs():
            self._note_writers(folder)
        num_calls = num_open = 0
        for key, sealer in list(self._writers.items()):
            if time.monotonic() < self._retries.get(key, Retry()).due_s:
                continue
            try:
                calls, is_open = self._tend(key, sealer)
            except Exception as error:  # noqa: BLE001 - the executor's last resort: the others are sealed all the same
                self._note_failure(key, sealer, error)
                continue
            self._retries.pop(key, None)
            num_calls += calls
            num_open += is_open
        num_failing = sum(not retry.is_hopeless for retry in self._retries.values())
        return PassReport(num_calls=num_calls, num_open=num_open, num_waiting=num_failing + self._do_upkeep())

    def has_open_writers(self) -> bool:
        """Whether a living process of this host has a journal in the root."""
        return any(self._has_open_writer(folder) for folder in run_folders(self.root))

    def _has_open_writer(self, folder: RunFolder) -> bool:
        # A journal of a newer version or a folder that may not be read is nothing that this daemon can seal.
        with contextlib.suppress(OSError):
            for segment in list_segments(folder.journal):
                with contextlib.suppress(ValueError):
                    header = WriterSealer(folder, segment.writer).load_header()
                    if header is None or header.host != self._host:
                        continue
                    if self._is_process_alive(header.pid, header.process_started):
                        return True
        return False

    def _note_writers(self, folder: RunFolder) -> None:
        try:
            segments = list_segments(folder.journal)
        except OSError as error:
            logger.debug("%s cannot be listed now: %s", folder.journal, error)
            self._finder.look_again(folder)
            return
        for segment in segments:
            key = (folder.path, segment.writer)
            if key not in self._writers:
                self._writers[key] = WriterSealer(folder, segment.writer)

    def _note_failure(self, key: tuple[Path, str], sealer: WriterSealer, error: Exception) -> None:
        retry = self._retries[key] = self._retries.get(key, Retry()).after_failure(time.monotonic())
        logger.warning(
            "Sealing %s in %s failed %d times in a row; its journal keeps every row and it is tried again",
            sealer.writer,
            sealer.folder.path,
            retry.num_failures,
            exc_info=error if retry.num_failures == 1 else None,
        )

    # -- one writer ----------------------------------------------------------------------------------------------

    def _tend(self, key: tuple[Path, str], sealer: WriterSealer) -> tuple[int, bool]:
        """Seals one writer; calls sealed, and whether it is of this host and open."""
        if not sealer.has_journal():
            del self._writers[key]  # sealed by another daemon, or deleted by a person
            return 0, False
        header = sealer.load_header()
        if header is None:
            return 0, self._drop_headless(key, sealer)
        if header.host != self._host:
            return self._tend_foreign(key, sealer, header), False
        # Asked before the last seal: what a process wrote before it died is in the journal by then.
        is_writer_alive = self._is_process_alive(header.pid, header.process_started)
        report = sealer.seal()
        is_closed = sealer.is_finished or not is_writer_alive
        if report.shards or is_closed:
            self._compact(sealer, is_closed=is_closed)
        if not is_closed:
            return report.num_calls, True
        if not sealer.is_finished:
            record_crash(sealer.folder, header)
        sealer.drop_journal()
        del self._writers[key]
        return report.num_calls, False

    def _tend_foreign(self, key: tuple[Path, str], sealer: WriterSealer, header: Header) -> int:
        """Seals a writer of another host, once that host is gone."""
        folder = sealer.folder.journal
        times = [_mtime(folder / str(name)) for name in list_segments(folder) if name.writer == sealer.writer]
        if not self._lease.is_gone(header.host, max(times)) or not self._lease.claim(folder, sealer.writer):
            return 0
        was_crashed = sealer.is_adopted
        report = sealer.seal()
        if not sealer.is_finished and not was_crashed:
            record_crash(sealer.folder, header)
        sealer.is_adopted = True
        if report.shards:
            self._compact(sealer, is_closed=True)
        if sealer.is_finished or self._lease.now_s - max(times) > KEEP_ADOPTED_S:
            sealer.drop_journal()
            self._lease.drop_claim(folder, sealer.writer)
            del self._writers[key]
        return report.num_calls

    def _drop_headless(self, key: tuple[Path, str], sealer: WriterSealer) -> bool:
        """Forgets a journal that has no header: its writer died in the act of opening it, or is about to write it."""
        paths = [
            sealer.folder.journal / str(name)
            for name in list_segments(sealer.folder.journal)
            if name.writer == sealer.writer
        ]
        if all(self._lease.now_s - _mtime(path) > KEEP_ADOPTED_S for path in paths):
            sealer.drop_journal()
            del self._writers[key]
        return False

    def _compact(self, sealer: WriterSealer, *, is_closed: bool) -> None:
        for kind in KINDS:
            folder = sealer.folder.shards(kind)
            closed = [sealer.writer] if is_closed else []
            if compact_folder(folder, kind, closed_writers=closed, own_writers=[sealer.writer]):
                self._covered.add((folder, kind))

    # -- upkeep --------------------------------------------------------------------------------------------------

    def _do_upkeep(self) -> int:
        """Deletes covered shards whose grace is over, and finishes what an earlier daemon left; what still waits."""
        for folder, kind in list(self._covered):
            with contextlib.suppress(OSError):
                _, num_waiting = drop_covered(folder)
                if not num_waiting:
                    self._covered.discard((folder, kind))
        if self._upkeep is None:
            self._upkeep = list(run_folders(self.root))
        for _ in range(min(UPKEEP_RUNS, len(self._upkeep))):
            self._look_at_old_run(self._upkeep.pop())
        return len(self._covered) + len(self._upkeep)

    def _look_at_old_run(self, folder: RunFolder) -> None:
        for kind in KINDS:
            shards = folder.shards(kind)
            try:
                live = {name.writer for name in list_segments(folder.journal)}
                closed = {name.writer for name in list_shards(shards)} - live
                if compact_folder(shards, kind, closed_writers=closed, own_writers=closed) or drop_covered(shards)[1]:
                    self._covered.add((shards, kind))
            except Exception as error:  # noqa: BLE001 - a stranger's file may say anything; the rest is looked at
                logger.warning("Old shards in %s stay as they are: %s", shards, error)


def record_crash(folder: RunFolder, header: Header) -> None:
    """Records that a writer vanished, as an event of a writer of our own.

    Raises:
        OSError: the event cannot be written.
    """
    write_event(folder, "crash", {"writer": header.writer}, attempt=header.attempt, rank=header.rank)


def _mtime(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0


__all__ = ["PassReport", "RootSealer", "record_crash"]
