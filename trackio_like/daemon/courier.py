"""One target's passes at the right times, and the state that tells of them."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import queue
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from trackio_like.daemon.explain import explain, explain_offline
from trackio_like.daemon.kinds import KINDS_OF_TARGETS, KindOfTarget
from trackio_like.daemon.pace import RHYTHMS, Pace, Rhythm
from trackio_like.daemon.state import SyncState, SyncWord, hurry_asked_s
from trackio_like.daemon.uploader import BusyError, Sent, Uploader, View
from trackio_like.errors import (
    RemoteError,
    RemoteMissingError,
    RemotePaymentError,
    RemoteRefusedError,
    RemoteUnavailableError,
)
from trackio_like.format.targets import Target, TargetFolder
from trackio_like.run.hostlock import private_folder

logger = logging.getLogger(__name__)
LOOK_EVERY_S: Final = 1.0
"""How often this disk is looked at."""
_BUSY_S: Final = 1.0
STAY_FOR_REMOTE_S: Final = 12 * 3600.0
"""An outage that the daemon stays for; a later start sends what is left."""
STAY_FOR_PERSON_S: Final = 3600.0
"""How long it stays where somebody has to do something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The times that a courier asks for; a test gives its own."""

    wall: Callable[[], float] = time.time
    """Seconds since the epoch."""
    steady: Callable[[], float] = time.monotonic
    """Never goes backward."""


class Courier:
    """Carries what waits to one target. Not thread-safe; `step` never raises."""

    def __init__(
        self,
        known: TargetFolder,
        target: Target,
        *,
        kind: KindOfTarget | None = None,
        rhythm: Rhythm | None = None,
        clocks: Clocks | None = None,
    ) -> None:
        """Has done nothing.

        Args:
            known: the target's folder.
            target: what it says.
            kind: how to speak to it; the registry's where None.
            rhythm: how often; its kind's where None.
            clocks: the times; the system's where None.
        """
        self.target = target
        self._known = known
        self._kind = kind or KINDS_OF_TARGETS[target.kind]
        self._rhythm = rhythm or RHYTHMS[target.kind]
        self._clocks = clocks or Clocks()
        self.uploader = Uploader(known, target, self._kind, clock=self._clocks.wall)
        self._pace = Pace()
        self._jitter = random.random()
        self._hurry_s: float | None = None
        self._has_more = False
        self._busy_until_s = 0.0
        self._view = View()
        self._state = SyncState.load(known) or SyncState(since_s=self._clocks.wall())
        self._told = ""
        self._space_notes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.last_error: RemoteError | None = None
        """Why the last pass failed; None where it did not."""
        self.num_passes = 0
        """Passes that reached the target."""
        self.sent_files = 0
        self.sent_bytes = 0
        self.is_busy = False
        """Whether another process sent there when this one wanted to."""

    @property
    def state(self) -> SyncState:
        """What was found last."""
        return self._state

    @property
    def view(self) -> View:
        """What waited when it was looked last."""
        return self._view

    @property
    def is_worth_staying(self) -> bool:
        """Whether something waits that may be sent soon, so that the daemon should not go."""
        if not self._view.has_work:
            return self._view.num_deletes_later > 0 and not self._state.is_bad
        lasted_s = self._clocks.wall() - self._state.since_s
        match self._state.word:
            case "offline":
                return False
            case "refused" | "missing":
                return lasted_s < STAY_FOR_PERSON_S
            case "retrying":
                return lasted_s < STAY_FOR_REMOTE_S
            case _:
                return True

    def step(self, *, is_full: bool = False, must_compare: bool = False, is_last: bool = False) -> float:
        """Looks, and sends where that is due.

        Args:
            is_full: look everywhere.
            must_compare: list the target before anything is sent.
            is_last: nobody will look again: send what waits as soon as the target's limits allow.

        Returns:
            Seconds after which it wants to be called again.
        """
        try:
            return self._step(is_full=is_full, must_compare=must_compare, is_last=is_last)
        except Exception as error:  # noqa: BLE001 - the executor's last resort: the other targets go on
            return self._broke(error)

    def _broke(self, error: Exception) -> float:
        """A fault of this disk, or of ours: told once, and tried again like a remote's."""
        # Without the path of an OSError, which holds a random part: a disk that stays full would fill the log.
        what = f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"
        if what != self._told:
            self._told = what
            logger.warning("Sending to %s failed; it is tried again", self.target, exc_info=error)
        self.last_error = RemoteUnavailableError(f"Cannot send to {self.target}: {what}")
        self._pace = self._pace.after_failure(now_s=self._clocks.steady())
        word, message = explain(self.target, self.last_error, was_made=self.uploader.was_made)
        self._state = replace(self._state, word=word, message=message)
        return LOOK_EVERY_S

    def _step(self, *, is_full: bool, must_compare: bool, is_last: bool) -> float:
        self._take_space_notes()
        self._view = self.uploader.look(is_full=is_full)
        if not self._view.has_work and not must_compare:
            self._tell("ok")
            return LOOK_EVERY_S
        if self._kind.is_hub and _is_offline(self.target):
            self._tell("offline", explain_offline(self.target))
            return LOOK_EVERY_S
        wait_s = self._due_in_s(is_last=is_last)
        if wait_s > 0:
            self._tell("waiting" if self._state.word == "ok" else self._state.word, self._state.message, wait_s)
            return min(wait_s, LOOK_EVERY_S)
        return self._pass(must_compare=must_compare)

    def close(self) -> None:
        """Lets another host take over; idempotent."""
        self.uploader.leave()

    def forget_failures(self) -> None:
        """Tries at once, whatever happened before."""
        self._pace = Pace()

    def note_space(self, note: str) -> None:
        """Something that the user should know of the Space, whatever becomes of the rows; may come from any thread."""
        self._space_notes.put(note)

    def _take_space_notes(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._state = replace(self._state, space_note=self._space_notes.get_nowait())

    def _due_in_s(self, *, is_last: bool) -> float:
        now_s = self._clocks.steady()
        asked_s = hurry_asked_s(self._known)
        due_s = self._pace.due_s(
            self._rhythm,
            age_s=self._clocks.wall() - self._view.youngest_s,
            is_hurried=self._has_more or is_last or asked_s != self._hurry_s,
            tokens=self._tokens() if self._pace.refused_s is not None else frozenset(),
            jitter=self._jitter,
        )
        floor_left_s = self._rhythm.floor_s - self._since_others_s()
        return max(due_s - now_s, floor_left_s, self._busy_until_s - now_s)

    def _tokens(self) -> frozenset[str]:
        return frozenset(hashlib.sha256(token.encode()).hexdigest() for token in self._kind.tokens(self.target))

    def _pass(self, *, must_compare: bool) -> float:
        began_s = self._clocks.steady()
        hurry_s = hurry_asked_s(self._known)
        try:
            sent = self.uploader.send(must_compare=must_compare)
        except BusyError:
            self._busy_until_s = began_s + _BUSY_S
            self.is_busy = True
            return _BUSY_S
        except RemoteError as error:
            return self._failed(error)
        self._hurry_s = hurry_s
        self.is_busy = False
        self.num_passes += 1
        self.last_error = None
        self._jitter = random.random()
        return self._arrived(sent, began_s)

    def _arrived(self, sent: Sent, began_s: float) -> float:
        outcome = sent.outcome
        now_s = self._clocks.steady()
        self.sent_files += len(outcome.stored)
        self.sent_bytes += sent.num_bytes
        if outcome.failed and not outcome.stored and not outcome.deleted:
            path, why = next(iter(sorted(outcome.failed.items())))
            return self._failed(RemoteUnavailableError(f"Cannot write {path} to {self.target}: {why}"))
        self._has_more = not sent.is_all or bool(outcome.failed)
        did_send = bool(outcome.stored or outcome.deleted or outcome.rejected)
        self._pace = self._pace.after_success(
            began_s=began_s,
            now_s=now_s,
            num_api_calls=outcome.num_api_calls,
            num_left=outcome.num_left,
            window_left_s=outcome.window_left_s,
        )
        if did_send:
            self._note_sent()
        self._view = self.uploader.look()
        self._state = replace(self._state, last_success_s=self._clocks.wall(), note=sent.note or self._state.note)
        self._tell("waiting" if self._view.has_work else "ok")
        return 0.0 if self._view.has_work else LOOK_EVERY_S

    def _failed(self, error: RemoteError) -> float:
        now_s = self._clocks.steady()
        self.last_error = error
        self._jitter = random.random()
        word, message = explain(self.target, error, was_made=self.uploader.was_made)
        if isinstance(error, RemoteRefusedError | RemoteMissingError | RemotePaymentError):
            self._pace = self._pace.after_refusal(now_s=now_s, tokens=self._tokens())
        else:
            retry_after_s = error.retry_after_s if isinstance(error, RemoteUnavailableError) else None
            self._pace = self._pace.after_failure(now_s=now_s, retry_after_s=retry_after_s)
        if self._state.word != word:
            logger.warning("%s", message)
        wait_s = max(0.0, self._due_in_s(is_last=False))
        self._tell(word, message, wait_s)
        return min(wait_s, LOOK_EVERY_S)

    # -- what others see -----------------------------------------------------------------------------------------

    def _tell(self, word: SyncWord, message: str = "", wait_s: float = 0.0) -> None:
        wall_s = self._clocks.wall()
        is_same = word == self._state.word
        self._save(
            replace(
                self._state,
                word=word,
                # The first message of a spell stays: who shows each text once would show every variant.
                message=self._state.message if is_same and self._state.message and message else message,
                since_s=self._state.since_s if is_same else wall_s,
                next_try_s=round(wall_s + wait_s, 1) if wait_s else 0.0,
                num_files_waiting=self._view.num_files,
                num_bytes_waiting=self._view.num_bytes,
                num_rejected=self._view.num_rejected,
            )
        )

    def _save(self, state: SyncState) -> None:
        """Writes the state where it differs from the one that is there, but for the seconds of the next try."""
        before = SyncState.load(self._known)
        self._state = state
        if before is None or replace(before, next_try_s=0.0) != replace(state, next_try_s=0.0):
            state.save(self._known)

    def _since_others_s(self) -> float:
        """Seconds since any process of this host, with any root, sent something there; infinite where none did."""
        with contextlib.suppress(OSError, ValueError):
            since_s = self._clocks.wall() - float(self._sent_path().read_text())
            if since_s >= 0:
                return since_s
        return float("inf")

    def _note_sent(self) -> None:
        if self._rhythm.floor_s >= 1:  # a repository's commits are few, and all processes share them
            with contextlib.suppress(OSError):
                self._sent_path().write_text(repr(self._clocks.wall()))

    def _sent_path(self) -> Path:
        return private_folder() / f"send-{self.target.key}.sent"


def _is_offline(target: Target) -> bool:
    from trackio_like.hub.access import HubAccess

    return HubAccess(endpoint=target.endpoint).is_offline


__all__ = ["LOOK_EVERY_S", "Clocks", "Courier"]
