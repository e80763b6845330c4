"""Has the Space of a target made while its rows are sent: tries until it is there, or until only a person can help."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from trackio_like.daemon.deploy import Deployment, ensure_space
from trackio_like.daemon.kinds import with_owner
from trackio_like.errors import RemoteError, RemoteMissingError, RemoteRefusedError, RemoteUnavailableError
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess

FIRST_WAIT_S: Final = 2.0
LONGEST_WAIT_S: Final = 300.0


def keep_space(
    target: Target,
    *,
    tokens: Callable[[], Iterable[str]],
    read_token: str | None,
    stop: threading.Event,
    tell: Callable[[str], None],
    first_wait_s: float = FIRST_WAIT_S,
) -> Deployment | None:
    """Makes the Space of a target, or brings it up to date; for a thread of its own, because it may take long.

    An outage is waited out. A refused token is told once, and tried again when there may be another one. What would be
    refused again, such as a plan without Spaces or a Space of somebody else, is told, and ends it. Nothing is raised.

    Args:
        target: a bucket or dataset with a `space_id`.
        tokens: the logins to try, best first; asked anew each time.
        read_token: for the Space to read private rows with; None for none.
        stop: ends it early.
        tell: is told what the user should know: each text once, and an empty one when it is so no more.
        first_wait_s: the wait after the first failure, in seconds; it doubles.

    Returns:
        What became of the Space; None where it was stopped or given up.
    """
    told: set[str] = set()

    def tell_once(text: str) -> None:
        if text not in told:
            told.add(text)
            tell(text)

    wait_s = first_wait_s
    while not stop.is_set():
        asked_s = 0.0
        try:
            done = _try_each(target, tokens(), read_token)
        except RemoteUnavailableError as error:
            asked_s = error.retry_after_s or 0.0
        except (RemoteRefusedError, RemoteMissingError) as error:
            tell_once(str(error))
        except (RemoteError, RuntimeError, ValueError, OSError) as error:
            tell_once(str(error))
            return None
        else:
            if done.message is not None:
                tell_once(f"{done.url}: {done.message}")
            elif told:
                tell("")  # what was told before is so no more
            return done
        stop.wait(max(asked_s, wait_s))
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
    return None


def _try_each(target: Target, tokens: Iterable[str], read_token: str | None) -> Deployment:
    """Tries one login after the other, until one is not refused."""
    refusal = RemoteRefusedError(
        f"The Space {target.space_id} waits: nobody is logged in to the Hub here. Run `hf auth login` or set HF_TOKEN."
    )
    for token in tokens:
        try:
            access = HubAccess.from_login(target.endpoint, token=token)
            return ensure_space(access, with_owner(target, access), read_token=read_token)
        except RemoteRefusedError as error:
            refusal = error
    raise refusal


__all__ = ["FIRST_WAIT_S", "LONGEST_WAIT_S", "keep_space"]
