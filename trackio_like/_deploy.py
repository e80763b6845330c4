"""`trackio_like.deploy`: makes the Space that shows a bucket or dataset, at a user's word."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final

from trackio_like._settings import Settings, hub_endpoint
from trackio_like.daemon.deploy import Deployment
from trackio_like.daemon.deploy import deploy as deploy_target
from trackio_like.errors import RemoteUnavailableError
from trackio_like.hub import spaces
from trackio_like.hub.access import HubAccess
from trackio_like.run.destination import Wish, choose_destination

WAIT_EVERY_S: Final = 3.0
NUM_WAITS: Final = 600
"""How often `--wait` asks: half an hour, longer than any build takes."""
_NUM_UNSEEN: Final = 20
"""How often a Space may be said to be without files just after they were sent."""


def deploy(
    space_id: str,
    *,
    bucket_id: str | None = None,
    dataset_id: str | None = None,
    private: bool = True,
    read_token: str | None = None,
    force: bool = False,
) -> str:
    """Makes or updates the Space that shows a bucket or dataset, and prints its address.

    `init(space_id=...)` does the same in the background; call this to do it before, or to change a Space.
    Doing it twice changes nothing.

    Args:
        space_id: `owner/name`.
        bucket_id: the bucket to show; `TRACKIO_BUCKET_ID`, else `<space_id>-bucket`, where it is None.
        dataset_id: a dataset to show instead.
        private: how the Space and its bucket or dataset are made; never changed where they exist.
        read_token: a token that may only read, for the Space to read a private bucket at once;
            `TRACKIO_SPACE_READ_TOKEN` where it is None.
        force: also fills an empty Space of yours, lets a Space show another bucket, shows a private one in public, and
            repairs what looks complete.

    Returns:
        The Space's page.

    Raises:
        RemotePaymentError: the plan has no Gradio Spaces; the message lists the choices.
        RemoteConflictError: the Space is not ours, or shows something else; nothing was changed.
        RemoteInvalidError: it would show private rows or hand out a token that may write.
        RemoteError: the Hub refused or did not answer; calling again goes on where it ended.
        ValueError: an argument is no name on the Hub, or two contradict each other.
    """
    done = deploy_space(
        space_id,
        bucket_id=bucket_id,
        dataset_id=dataset_id,
        is_private=private,
        read_token=read_token,
        force=force,
        tell=lambda _: None,
    )
    # Output is a side effect here, and a broken terminal must not stop it.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(f"{describe(done)}\n")
        sys.stdout.flush()
    return done.url


def deploy_space(
    space_id: str,
    *,
    bucket_id: str | None,
    dataset_id: str | None,
    is_private: bool,
    read_token: str | None,
    force: bool,
    tell: Callable[[str], None],
) -> Deployment:
    """As `deploy`, with all that is known of what was done.

    Args:
        space_id: as `deploy`.
        bucket_id: as `deploy`.
        dataset_id: as `deploy`.
        is_private: as `deploy`'s `private`.
        read_token: as `deploy`.
        force: as `deploy`.
        tell: is told each step.

    Raises:
        RemoteError: as `deploy`.
        ValueError: as `deploy`.
    """
    settings = Settings.from_env()
    wish = Wish(space_id=space_id, bucket_id=bucket_id, dataset_id=dataset_id, private=is_private)
    chosen = choose_destination(wish, settings, endpoint=hub_endpoint())
    assert chosen is not None
    access = HubAccess.from_login(chosen.target.endpoint)
    return deploy_target(
        access, chosen.target, read_token=read_token or settings.space_read_token, force=force, tell=tell
    )


def describe(done: Deployment) -> str:
    """One or two lines for people: what was done, who may look, where it is."""
    words = {"made": "Made", "updated": "Updated", "kept": "Up to date:"}[done.did]
    return f"{words} the {done.visibility} Space {done.url}" + (f"\n{done.message}" if done.message else "")


def stages(space_id: str, *, every_s: float = WAIT_EVERY_S) -> Iterator[str]:
    """Each new stage of a Space, until it runs or goes no further; the last one says how it ended.

    Args:
        space_id: `owner/name`.
        every_s: how often the Hub is asked, in seconds.

    Raises:
        RemoteUnavailableError: it builds for half an hour.
        RemoteError: as `hub_calls`.
    """
    access = HubAccess.from_login()
    pause = threading.Event()
    told = ""
    for number in range(NUM_WAITS):
        stage = spaces.read_stage(access, space_id)
        if stage != told:
            told = stage
            yield stage
        if stage in spaces.SETTLED and not (stage == "NO_APP_FILE" and number < _NUM_UNSEEN):
            return
        pause.wait(every_s)
    raise RemoteUnavailableError(f"The Space {space_id} is still {told} after half an hour; look at its page.")


def log_tail(space_id: str, stage: str) -> list[str]:
    """The last lines of the log that explains a stage: the build's, or the app's.

    Raises:
        RemoteError: as `hub_calls`.
    """
    return spaces.read_log_tail(HubAccess.from_login(), space_id, is_build="BUILD" in stage or "CONFIG" in stage)


__all__ = ["deploy", "deploy_space", "describe", "log_tail", "stages"]
