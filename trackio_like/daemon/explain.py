"""What a failed pass means for a person: one word, and a text that stays the same while nothing changes. Pure."""

from __future__ import annotations

from trackio_like.daemon.state import SyncWord
from trackio_like.errors import (
    RemoteError,
    RemoteInvalidError,
    RemoteMissingError,
    RemotePaymentError,
    RemoteRefusedError,
)
from trackio_like.format.targets import Target

_SAFE = "Nothing is lost: every row is on this machine"


def explain(target: Target, error: RemoteError, *, was_made: bool) -> tuple[SyncWord, str]:
    """The word and the message for a pass that failed.

    Args:
        target: where it was to send to.
        error: why it failed; its text holds no token.
        was_made: whether the target is known to have existed.
    """
    again = f"`trackio-like sync --{target.kind} {target.id}`"
    match error:
        case RemoteRefusedError():
            login = "give its write token" if target.kind == "server" else "log in with `hf auth login`"
            return "refused", (
                f"The token for {target} was refused: {_reason(error)}. {_SAFE}. "
                f"To go on, {login}, with a token that may write there; it is noticed at once."
            )
        case RemoteMissingError() if was_made:
            return "missing", (
                f"{_name(target)} is gone, or this token may not see it any more. {_SAFE}, and it is not made again "
                f"unasked: {again} makes it anew and sends everything."
            )
        case RemoteMissingError():
            return "missing", (
                f"{_name(target)} could not be made: {_reason(error)}. {_SAFE}. Check its name, then run {again}."
            )
        case RemotePaymentError():
            return "refused", f"{_name(target)} asks for another plan: {_reason(error)}. {_SAFE}."
        case RemoteInvalidError():
            return (
                "retrying",
                f"{_name(target)} does not take what is sent: {_reason(error)}. {_SAFE}; it is tried again.",
            )
        case _:
            return (
                "retrying",
                f"{_name(target)} cannot be reached: {_reason(error)}. {_SAFE}; it is sent when that ends.",
            )


def explain_offline(target: Target) -> str:
    """For when `HF_HUB_OFFLINE` is set."""
    return (
        f"HF_HUB_OFFLINE is set, so nothing is sent to {target}. {_SAFE}: run `trackio-like sync` without it, "
        "once you are online."
    )


def _name(target: Target) -> str:
    text = str(target)
    return text[:1].upper() + text[1:]


def _reason(error: RemoteError) -> str:
    return str(error).rstrip(". ")


__all__ = ["explain", "explain_offline"]
