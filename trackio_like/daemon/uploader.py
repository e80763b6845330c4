"""Looks at what waits for one target, and sends one batch of it: thin, for the plan decides."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trackio_like.daemon.kinds import KindOfTarget
from trackio_like.daemon.lease import Lease
from trackio_like.daemon.ledger import Ledger, run_of
from trackio_like.daemon.plan import Chosen, LocalFile, RunPlan, choose_batch, plan_purged_run, plan_run
from trackio_like.daemon.scan import SETTLED_S, RunScanner, run_key_of
from trackio_like.daemon.sender import Batch, Outcome, Sender, Upload
from trackio_like.errors import RemoteError, RemoteMissingError, RemoteRefusedError
from trackio_like.format.targets import Target, TargetFolder
from trackio_like.format.tombstones import Tombstone, purges_stamp, tombstones
from trackio_like.run.host import host_identity
from trackio_like.run.hostlock import HostLock, private_folder

COMPARE_EVERY_S: Final = 86_400.0
"""A ledger whose listing is older is compared once more before anything is sent."""
_HOPELESS_FAILURES: Final = 8
"""A file that failed alone so often, while others arrived, is set aside."""
_CLAIM: Final = "sender"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What waits for a target now, as far as this disk and the ledger say."""

    num_files: int = 0
    num_bytes: int = 0
    num_deletes: int = 0
    """Covered shards in the target whose grace is over."""
    num_deletes_later: int = 0
    """Runs with covered shards in their grace."""
    num_rejected: int = 0
    youngest_s: float = 0.0
    """When the youngest run that has something to send was bound, seconds since the epoch."""

    @property
    def has_work(self) -> bool:
        """Whether a pass would do anything now."""
        return self.num_files > 0 or self.num_deletes > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one pass did."""

    outcome: Outcome
    num_bytes: int
    is_all: bool
    """Whether the batch took everything that waited."""
    note: str | None = None
    """What the user should know once."""


class BusyError(Exception):
    """Another process of this host sends to the target now, or another host does; the pass did nothing."""


class Uploader:
    """One target of one root. Not thread-safe; any number may exist, in any processes."""

    def __init__(
        self,
        known: TargetFolder,
        target: Target,
        kind: KindOfTarget,
        *,
        clock: Callable[[], float] = time.time,
        host: str | None = None,
    ) -> None:
        """Has looked at nothing.

        Args:
            known: the target's folder.
            target: what it says.
            kind: how to speak to it.
            clock: seconds since the epoch.
            host: this host's identity; found out where None.
        """
        self.known = known
        self.target = target
        self.ledger = Ledger(known.ledger)
        self._kind = kind
        self._clock = clock
        self._host = host or host_identity()
        self._scanner = RunScanner(known)
        self._files: dict[str, tuple[LocalFile, ...]] = {}
        self._plans: dict[str, RunPlan] = {}
        self._num_failed: dict[str, int] = {}
        self._senders: dict[str, Sender] = {}
        """By token: a dataset's remembers which card is there."""
        self._purged: dict[str, Tombstone] = {}
        self._purges_stamp: tuple[int, ...] = ()
        self._purges_settled_s = 0.0
        self._are_purges_settled = False
        self._lock = HostLock(private_folder() / f"send-{target.key}.lock")

    # -- looking -------------------------------------------------------------------------------------------------

    def look(self, *, is_full: bool = False) -> View:
        """What waits now. Asks nobody but this disk, and only where something may have changed.

        Args:
            is_full: look everywhere.

        Raises:
            OSError: the root cannot be read.
        """
        now_s = self._clock()
        dirty = set(self._files) if self.ledger.refresh() else set()
        for run, files in self._scanner.changed_runs(is_full=is_full):
            self._files[run] = files
            dirty.add(run)
        dirty |= self._note_purges()
        for run, plan in self._plans.items():
            if plan.next_delete_s is not None and plan.next_delete_s <= now_s:
                dirty.add(run)
        self._plan(dirty, now_s)
        sending = [run for run, plan in self._plans.items() if plan.uploads]
        return View(
            num_files=sum(len(self._plans[run].uploads) for run in sending),
            num_bytes=sum(self._plans[run].num_bytes for run in sending),
            num_deletes=sum(len(plan.deletes) for plan in self._plans.values()),
            num_deletes_later=sum(plan.next_delete_s is not None for plan in self._plans.values()),
            num_rejected=self.ledger.num_rejected,
            youngest_s=max(map(self._scanner.bound_s, sending), default=0.0),
        )

    def _note_purges(self) -> set[str]:
        """Bound runs that were purged since the last look; their folders may be gone."""
        stamp, now_s = purges_stamp(self.known.root), time.monotonic()
        if stamp != self._purges_stamp:
            self._purges_stamp, self._purges_settled_s = stamp, now_s + SETTLED_S
        elif self._are_purges_settled:
            return set()
        self._are_purges_settled = now_s >= self._purges_settled_s  # until then one may have come in the same tick
        found = {run_key_of(tombstone): tombstone for tombstone in tombstones(self.known.root)}
        changed = {run for run, tombstone in found.items() if tombstone != self._purged.get(run)}
        self._purged = {run: found[run] for run in found if (self.known.path / "runs" / run).exists()}
        for run in changed & self._purged.keys():
            self._files.setdefault(run, ())
        return changed & self._purged.keys()

    def _plan(self, runs: set[str], now_s: float) -> None:
        for run in runs:
            stored, rejected = self.ledger.run(run), self.ledger.rejected(run).keys()
            if run in self._purged:
                self._plans[run] = plan_purged_run(
                    self._files[run], stored, buries=self._purged[run].buries, rejected=rejected
                )
            else:
                self._plans[run] = plan_run(
                    self._files[run], stored, rejected=rejected, now_s=now_s, grace_s=self._kind.limits.grace_s
                )

    def waiting(self) -> list[LocalFile]:
        """The files that the last look found, oldest first."""
        files = [file for plan in self._plans.values() for file in plan.uploads]
        return sorted(files, key=lambda file: (file.mtime_ns, file.path))

    @property
    def was_made(self) -> bool:
        """Whether the target is known to have existed."""
        return self.ledger.made_s is not None

    # -- sending -------------------------------------------------------------------------------------------------

    def send(self, *, must_compare: bool = False) -> Sent:
        """Sends one batch of what `look` found.

        Args:
            must_compare: list the target first, however young the ledger is.

        Raises:
            BusyError: somebody else sends there.
            RemoteError: as the sender; everything that is not in the ledger is sent again.
            OSError: the root cannot be written.
        """
        with self._elected():
            self._plan(set(self._files) if self.ledger.refresh() else set(), self._clock())
            return self._with_tokens(must_compare=must_compare)

    @contextlib.contextmanager
    def _elected(self) -> Iterator[None]:
        """Holds the target's lock on this host, and its lease among the hosts that share the root."""
        if not self._lock.acquire():
            raise BusyError("Another process of this host is sending.")
        try:
            lease = Lease(self.known.root, self._host)
            lease.renew()
            if not lease.claim(self.known.path, _CLAIM):
                raise BusyError("Another host is sending.")
            yield
        finally:
            self._lock.release()

    def leave(self) -> None:
        """Lets another host that shares the root take over at once; idempotent."""
        with contextlib.suppress(OSError):
            Lease(self.known.root, self._host).drop_claim(self.known.path, _CLAIM)

    def _with_tokens(self, *, must_compare: bool) -> Sent:
        refusal: RemoteError | None = None
        for token in self._kind.tokens(self.target):
            try:
                if token not in self._senders:
                    self._senders[token] = self._kind.make_sender(self.target, token)
                return self._send_with(self._senders[token], must_compare=must_compare)
            except (RemoteRefusedError, RemoteMissingError) as error:
                # A private target does not exist for a token that may not see it: another one may do.
                if refusal is None or isinstance(error, RemoteMissingError):
                    refusal = error
        raise refusal or RemoteRefusedError(f"Cannot write to {self.target}: nobody is logged in")

    def _send_with(self, sender: Sender, *, must_compare: bool) -> Sent:
        now_s = self._clock()
        note = None
        if self.ledger.made_s is None:
            note = sender.prepare()
            self.ledger.note_made(now_s)
        compared_s = self.ledger.compared_s
        if must_compare or compared_s is None or not 0 <= now_s - compared_s < COMPARE_EVERY_S:
            self.ledger.compare(sender.paths(), now_s=now_s)
            self._plan(set(self._files), now_s)
        chosen = choose_batch(list(self._plans.values()), self._kind.limits)
        if not chosen.uploads and not chosen.deletes:
            return Sent(outcome=Outcome(), num_bytes=0, is_all=True, note=note)
        outcome = sender.send(self._batch(chosen))
        return Sent(outcome=outcome, num_bytes=self._note(chosen, outcome), is_all=chosen.is_all, note=note)

    def _batch(self, chosen: Chosen) -> Batch:
        root = self.known.root
        uploads = tuple(
            Upload(path=file.path, file=_below(root, file.path), num_bytes=file.num_bytes) for file in chosen.uploads
        )
        touched = {run_of(path) for path in chosen.deletes}
        # A run that was begun anew under the same id has files here, and stays.
        purged = tuple(stone for run, stone in self._purged.items() if run in touched and not self._files.get(run))
        return Batch(uploads=uploads, deletes=chosen.deletes, purged=purged)

    def _note(self, chosen: Chosen, outcome: Outcome) -> int:
        """Writes down what became of a batch; bytes that arrived."""
        sizes = {file.path: file.num_bytes for file in chosen.uploads}
        stored = {path: sizes[path] for path in outcome.stored if path in sizes}
        rejected = dict(outcome.rejected)
        for path, why in outcome.failed.items():
            self._num_failed[path] = self._num_failed.get(path, 0) + bool(stored)
            if self._num_failed[path] >= _HOPELESS_FAILURES and path in sizes:
                rejected[path] = why
        for path in stored:
            self._num_failed.pop(path, None)
        self.ledger.note(stored=stored, lost=outcome.deleted, rejected=rejected, now_s=self._clock())
        for path in sizes.keys() - stored.keys() - outcome.failed.keys() - rejected.keys():
            self._scanner.look_again(run_of(path))  # it vanished: what covers it is there now
        touched = {run_of(path) for path in [*sizes, *chosen.deletes]}
        self._plan(touched & self._files.keys(), self._clock())
        return sum(stored.values())


def _below(root: Path, path: str) -> Path:
    return root.joinpath(*path.split("/"))


__all__ = ["BusyError", "Sent", "Uploader", "View"]
