"""The training process's view of rows that are sent elsewhere: where they go, what is wrong, the wait at the end."""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from trackio_like._progress import Progress
from trackio_like._settings import hub_token
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import Target, TargetFolder, bind_run, targets_of
from trackio_like.run.credentials import read_token_key, save_token
from trackio_like.run.destination import Destination
from trackio_like.run.guard import warn_user

if TYPE_CHECKING:
    from trackio_like.daemon.state import SyncState
    from trackio_like.daemon.status import DeliveryStatus

logger = logging.getLogger(__name__)
POLL_S: Final = 0.2
OUTAGE_TOLD_AFTER_S: Final = 5.0
"""A remote that cannot be reached is no news before: most such moments pass unnoticed."""
OUTDATED_FOR_S: Final = 5.0
"""How long what was found before this run began may be wrong: the daemon tries a new login within this time."""
_COLAB: Final = "google.colab"


class Delivery:
    """One run's way to its targets. The keeper's thread and the main one may use it at once."""

    def __init__(self, folder: RunFolder, *, own_writers: Callable[[], Sequence[str]]) -> None:
        """Binds nothing yet: a run that is resumed may be bound already.

        Args:
            folder: the run's folder.
            own_writers: gives the writers of this process, whose rows `finish()` waits for.
        """
        self._folder = folder
        self._own_writers = own_writers
        self._began_s = time.time()
        self._told: set[str] = set()
        self._targets: list[TargetFolder] | None = None
        self.has_been_waited_for = False
        """Whether `finish` was called for what the run holds: nobody waits twice."""

    def bind(self, destination: Destination, *, is_told: bool) -> None:
        """Says that the run's rows are to be sent to a target. Never raises, and never waits for the network.

        Args:
            destination: the target, and a token that came with it.
            is_told: whether to print where it is: the first process of a run does.
        """
        target = destination.target
        if destination.ignored_server is not None:
            warn_user(
                f"server_url={destination.ignored_server!r} is ignored: a Space is configured as well, and it goes "
                "first. Leave space_id and TRACKIO_SPACE_ID out to use the server."
            )
        try:
            bind_run(target, self._folder)
        except OSError as error:
            warn_user(
                f"The run is not sent to {target}: {self._folder.root} cannot be written ({error}). Nothing is lost; "
                "send it later with `trackio-like sync`."
            )
            return
        self._leave_token(target, destination.token)
        if target.space_id is not None and destination.space_read_token is not None:
            _save(read_token_key(target.key), destination.space_read_token)
        if is_told:
            _say(where(target))

    def _leave_token(self, target: Target, token: str | None) -> None:
        if target.kind != "server" and token is None:
            token = hub_token()
            if token is None and _COLAB in sys.modules:
                # Colab's vault answers this process alone, and asks the user first: never while training waits.
                threading.Thread(
                    target=_leave_colab_login, args=(target.key,), name="trackio-like-login", daemon=True
                ).start()
        if token is not None:
            _save(target.key, token)

    def targets(self) -> list[TargetFolder]:
        """Where the run's rows are sent: asked once, for a binding is never undone while the run is open."""
        if self._targets is None:
            self._targets = targets_of(self._folder)
        return self._targets

    def tell_news(self) -> None:
        """Warns once of what the daemon met: a token that is refused, a Space that cannot be made, an outage."""
        for target in self.targets():
            found = self._state_of(target)
            if found is None:
                continue
            self._tell_once(found.note)
            if found.is_bad:
                self._tell_once(found.message)
            elif found.word == "retrying" and time.time() - found.since_s >= OUTAGE_TOLD_AFTER_S:
                # One outage after another, each with a text of its own, is told once as well.
                self._tell_once(found.message, key=f"outage of {target.key}")
            elif found.last_success_s is not None:
                # Where rows do not get there either, the Space waits for the same reason.
                self._tell_once(found.space_note)

    def _tell_once(self, message: str, *, key: str | None = None) -> None:
        key = message if key is None else key
        if message and key not in self._told:
            self._told.add(key)
            warn_user(message)

    def _state_of(self, target: TargetFolder) -> SyncState | None:
        """What the daemon found; None where it found nothing yet, but in an earlier run, and may be about to."""
        found: SyncState | None = importlib.import_module("trackio_like.daemon.state").SyncState.load(target)
        if found is None or found.word == "ok":
            return found
        is_old = found.since_s < self._began_s and time.time() - self._began_s < OUTDATED_FOR_S
        return None if is_old else found

    def finish(self, timeout_s: float, *, has_daemon: bool) -> None:
        """Waits until the rows of this process have arrived, shows how far they are, and says what is left.

        Args:
            timeout_s: seconds to wait at most.
            has_daemon: whether anybody sends them now.

        Raises:
            KeyboardInterrupt: Ctrl-C ends the wait; nothing is lost by it.
        """
        self.has_been_waited_for = True
        writers = list(self._own_writers())
        if not writers or not self.targets():
            return
        status = importlib.import_module("trackio_like.daemon.status")
        for target in self.targets():
            status.ask_for_pass(target)
        pause = threading.Event()
        began_s = time.monotonic()
        left: dict[TargetFolder, DeliveryStatus] = {}
        try:
            with Progress("Sending") as progress:
                while True:
                    found = {target: status.delivery(self._folder, target, writers) for target in self.targets()}
                    left = {target: part for target, part in found.items() if not part.is_complete}
                    waited_s = time.monotonic() - began_s
                    if not left or not has_daemon or waited_s >= timeout_s or self._is_hopeless(left):
                        break
                    stored = sum(part.num_bytes_stored for part in found.values())
                    progress.show(stored, sum(part.num_bytes for part in found.values()), waited_s)
                    self.tell_news()
                    pause.wait(min(POLL_S, timeout_s - waited_s))
        except KeyboardInterrupt:
            _say(self._still_waiting(left, has_daemon=has_daemon))
            raise
        if left and (timeout_s > 0 or not has_daemon):
            _say(self._still_waiting(left, has_daemon=has_daemon))

    def _is_hopeless(self, left: Mapping[TargetFolder, DeliveryStatus]) -> bool:
        """Whether only a person can help: all calls are sealed, and every target that lacks files refuses them."""
        return all(
            part.num_files > part.num_files_stored and (found := self._state_of(target)) is not None and found.is_bad
            for target, part in left.items()
        )

    def _still_waiting(self, left: Mapping[TargetFolder, DeliveryStatus], *, has_daemon: bool) -> str:
        num_files = sum(part.num_files - part.num_files_stored for part in left.values())
        what = f"{num_files:,} files wait to be sent" if num_files else "the last rows wait to be sent"
        if not has_daemon:
            return f"trackio_like: {what}, for TRACKIO_DAEMON=off. Nothing is lost: send them with `trackio-like sync`."
        states = [self._state_of(target) for target in left]
        reasons = sorted({found.message for found in states if found is not None and found.message})
        return (
            f"trackio_like: {what}. Nothing is lost: the background process goes on while this machine runs. "
            "`trackio-like status` shows how far it is, `trackio-like sync` sends what is left."
            + "".join(f"\n  {reason}" for reason in reasons)
        )


def where(target: Target) -> str:
    """Where a target's rows can be seen, for the first line that `init()` prints. Names no token."""
    if target.kind == "server":
        return f"trackio_like: rows go to {target.id}"
    visibility = "private where it is new" if target.is_private else "public where it is new"
    if target.space_id is not None:
        page = _page(target, "space", target.space_id)
        return f"trackio_like: {page} ({visibility}); rows go to the {target.kind} {target.id}"
    return f"trackio_like: rows go to {_page(target, target.kind, target.id)} ({visibility})"


def _page(target: Target, what: str, name: str) -> str:
    """An address; the owner of a bare name is known once the daemon has asked who is logged in."""
    return f"{target.endpoint}/{what}s/{name}" if "/" in name else f"the {what} {name} of whoever is logged in"


def _save(key: str, token: str) -> None:
    try:
        save_token(key, token)
    except OSError as error:
        warn_user(
            f"The token could not be left for the background process ({error}). Nothing is lost: rows stay on this "
            "machine until `hf auth login`, or `trackio-like sync` with HF_TOKEN set."
        )


def _leave_colab_login(key: str) -> None:
    try:
        token = importlib.import_module("trackio_like.hub.access").login_token()
    except Exception as error:  # noqa: BLE001 - a notebook's vault may say anything, and training goes on
        logger.debug("No login from Colab: %s", error)
        return
    if token:
        _save(key, token)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


__all__ = ["Delivery", "where"]
