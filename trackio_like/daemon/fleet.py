"""A thread for each target of a root, and one for its Space: a slow remote delays neither sealing nor other targets."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Final

from trackio_like.daemon.courier import Courier
from trackio_like.daemon.kinds import hub_tokens
from trackio_like.format.targets import TargetFolder, known_targets
from trackio_like.run.credentials import load_token, read_token_key

logger = logging.getLogger(__name__)
LAST_PASS_S: Final = 8.0
"""How long the last passes may take when the daemon is told to stop: who stops it kills it soon after."""


class _Line:
    """One target's threads."""

    def __init__(self, courier: Courier, space_read_token: str | None) -> None:
        self.courier = courier
        self._space_read_token = space_read_token
        self._stop = threading.Event()
        self._wake = threading.Event()
        self.thread = threading.Thread(
            target=self._run, name=f"trackio-like-send-{courier.target.kind}-{courier.target.key[:6]}", daemon=True
        )
        self.thread.start()
        if courier.target.space_id is not None:
            # Not joined by anybody: rows arrive also where their Space is never made.
            threading.Thread(
                target=self._keep_space, name=f"trackio-like-space-{courier.target.key[:6]}", daemon=True
            ).start()

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(self.courier.step())
        self.courier.step(is_full=True, is_last=True)
        self.courier.close()

    def _keep_space(self) -> None:
        # The Hub's client takes half a second to import, which a daemon without a Space does without.
        from trackio_like.daemon.space_keeper import keep_space

        target = self.courier.target
        try:
            keep_space(
                target,
                tokens=lambda: hub_tokens(target),
                read_token=load_token(read_token_key(target.key)) or self._space_read_token,
                stop=self._stop,
                tell=self.courier.note_space,
            )
        except Exception:  # the thread's last resort: nobody else would say why there is no Space
            logger.exception("The Space %s is not looked after; rows are sent all the same", target.space_id)


class Fleet:
    """The threads that send. Used by the daemon's loop alone."""

    def __init__(self, root: Path, *, space_read_token: str | None = None) -> None:
        """Starts nothing yet.

        Args:
            root: the root.
            space_read_token: for Spaces whose training process left none.
        """
        self._root = root
        self._space_read_token = space_read_token
        self._lines: dict[str, _Line] = {}
        self._unknown: set[str] = set()

    def tend(self) -> None:
        """Starts a thread for each target that is new; ends those of targets that were forgotten."""
        known = {folder.key: folder for folder in known_targets(self._root)}
        for key in self._lines.keys() - known.keys():
            self._lines.pop(key).stop()
        for key in known.keys() - self._lines.keys():
            courier = self._courier(known[key])
            if courier is not None:
                self._lines[key] = _Line(courier, self._space_read_token)

    def _courier(self, folder: TargetFolder) -> Courier | None:
        try:
            return Courier(folder, folder.load())
        except (OSError, ValueError, KeyError) as error:
            if folder.key not in self._unknown:
                self._unknown.add(folder.key)
                logger.warning("%s is no target that this version can send to: %s", folder.path, error)
            return None

    @property
    def is_worth_staying(self) -> bool:
        """Whether something waits that may be sent soon."""
        return any(line.courier.is_worth_staying for line in self._lines.values())

    def close(self, timeout_s: float = LAST_PASS_S) -> None:
        """Lets each thread make a last pass; idempotent. One that hangs is left behind, and nothing is lost by it."""
        for line in self._lines.values():
            line.stop()
        until_s = time.monotonic() + timeout_s
        for line in self._lines.values():
            line.thread.join(max(0.0, until_s - time.monotonic()))
        self._lines.clear()


__all__ = ["LAST_PASS_S", "Fleet"]
