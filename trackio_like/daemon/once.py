"""Sealing and sending a root once, without a daemon or beside one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like.daemon.courier import Clocks, Courier
from trackio_like.daemon.kinds import KINDS_OF_TARGETS, KindOfTarget
from trackio_like.daemon.pace import RHYTHMS, Rhythm
from trackio_like.daemon.root_sealer import PassReport, RootSealer
from trackio_like.errors import RemoteError
from trackio_like.format.targets import Target, TargetFolder, TargetKind, known_targets

PATIENCE_S: Final = 120.0
"""How long a target that cannot be reached is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one target is."""

    target: Target
    num_files: int
    """Files sent so far."""
    num_bytes: int
    num_files_waiting: int
    num_bytes_waiting: int
    message: str = ""
    """Why it waits, where something is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What became of one target."""

    target: Target
    num_files: int
    """Files sent, or to be sent in a dry run."""
    num_bytes: int
    num_files_waiting: int
    num_bytes_waiting: int
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Paths that the target will never take, and why."""
    paths: tuple[str, ...] = ()
    """Dry run only: what would be sent."""
    message: str = ""
    """Why something still waits; empty where nothing does."""
    error: RemoteError | None = None
    """The same as an exception, to be raised by who wants to."""

    @property
    def is_complete(self) -> bool:
        """Whether everything arrived that the target takes."""
        return self.num_files_waiting == 0


def seal_root(root: Path) -> PassReport:
    """Seals and compacts what a root holds now. Safe beside a daemon: rows are never doubled.

    Raises:
        OSError: the root cannot be written; journals keep every row.
    """
    return RootSealer(root).run_pass()


def sync_once(
    root: Path,
    *,
    target: Target | None = None,
    is_dry_run: bool = False,
    verify: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    patience_s: float = PATIENCE_S,
    stop: threading.Event | None = None,
    kinds: Mapping[TargetKind, KindOfTarget] = KINDS_OF_TARGETS,
    rhythms: Mapping[TargetKind, Rhythm] = RHYTHMS,
    clocks: Clocks | None = None,
    wait: Callable[[float], object] | None = None,
) -> list[SyncReport]:
    """Seals a root, then sends what waits. Safe beside a daemon; nothing is sent twice.

    Args:
        root: the root.
        target: the only one to send to, which is made anew where it is gone; all that are known where None.
        is_dry_run: only say what would be sent.
        verify: compare what is known of a target with what it holds first.
        on_progress: is told how far each target is.
        patience_s: how long to try again where a target cannot be reached or is busy.
        stop: ends it early.
        kinds: how to speak to each kind of target.
        rhythms: how often; only the floors count.
        clocks: the times; the system's where None.
        wait: waits so many seconds; on `stop` where None.

    Returns:
        One report for each target, by key.

    Raises:
        OSError: the root cannot be read or written.
        FileNotFoundError: nothing of this root is bound to `target`.
    """
    seal_root(root)
    stop = stop or threading.Event()
    folders = [known for known in known_targets(root) if target is None or known.key == target.key]
    if target is not None and not folders:
        raise FileNotFoundError(f"No run below {root} is to be sent to {target}.")
    reports = []
    for known in folders:
        found = known.load()
        courier = Courier(known, found, kind=kinds[found.kind], rhythm=rhythms[found.kind], clocks=clocks)
        if is_dry_run:
            reports.append(_dry_run(courier))
            continue
        courier.uploader.ledger.refresh()
        courier.uploader.ledger.try_rejected_again()
        errand = _Errand(courier, known, on_progress=on_progress, makes_again=target is not None)
        reports.append(
            errand.run(must_compare=verify, patience_s=patience_s, stop=stop, wait=wait or stop.wait, clocks=clocks)
        )
    return reports


def _dry_run(courier: Courier) -> SyncReport:
    view = courier.uploader.look(is_full=True)
    return SyncReport(
        target=courier.target,
        num_files=view.num_files,
        num_bytes=view.num_bytes,
        num_files_waiting=view.num_files,
        num_bytes_waiting=view.num_bytes,
        paths=tuple(file.path for file in courier.uploader.waiting()),
    )


class _Errand:
    """Sends what waits for one target, until nothing does or there is no hope."""

    def __init__(
        self,
        courier: Courier,
        known: TargetFolder,
        *,
        on_progress: Callable[[Progress], None],
        makes_again: bool,
    ) -> None:
        self._courier = courier
        self._known = known
        self._on_progress = on_progress
        self._makes_again = makes_again

    def run(
        self,
        *,
        must_compare: bool,
        patience_s: float,
        stop: threading.Event,
        wait: Callable[[float], object],
        clocks: Clocks | None,
    ) -> SyncReport:
        steady = (clocks or Clocks()).steady
        failing_since_s: float | None = None
        courier = self._courier
        while not stop.is_set():
            num_before = courier.num_passes
            wait_s = courier.step(is_full=True, must_compare=must_compare, is_last=True)
            must_compare = must_compare and courier.num_passes == num_before
            self._tell()
            if not courier.view.has_work and not must_compare:
                break
            word = courier.state.word
            if word == "missing" and self._makes_again and courier.uploader.was_made:
                self._known.ledger.unlink(missing_ok=True)
                self._makes_again = False
                courier.forget_failures()
                continue
            if word in ("refused", "missing", "offline"):
                break
            if word == "retrying" or courier.is_busy:
                failing_since_s = steady() if failing_since_s is None else failing_since_s
                if steady() - failing_since_s >= patience_s:
                    break
            else:
                failing_since_s = None
            if wait_s > 0:
                wait(wait_s)
        return self._report()

    def _tell(self) -> None:
        courier = self._courier
        self._on_progress(
            Progress(
                target=courier.target,
                num_files=courier.sent_files,
                num_bytes=courier.sent_bytes,
                num_files_waiting=courier.view.num_files,
                num_bytes_waiting=courier.view.num_bytes,
                message=courier.state.message,
            )
        )

    def _report(self) -> SyncReport:
        courier = self._courier
        waits = courier.view.num_files > 0
        message = courier.state.message
        if waits and courier.is_busy and not message:
            message = f"Another process sends to {courier.target} now; nothing is lost."
        return SyncReport(
            target=courier.target,
            num_files=courier.sent_files,
            num_bytes=courier.sent_bytes,
            num_files_waiting=courier.view.num_files,
            num_bytes_waiting=courier.view.num_bytes,
            rejected=courier.uploader.ledger.all_rejected(),
            message=message if waits else "",
            error=courier.last_error if waits else None,
        )


__all__ = ["PATIENCE_S", "Progress", "SyncReport", "seal_root", "sync_once"]
