"""Making what may be there already: the same for a bucket and a dataset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trackio_like.errors import RemoteConflictError, RemoteError, RemoteRefusedError
from trackio_like.hub.calls import hub_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of the wish to have a bucket or a dataset."""

    is_new: bool
    is_private: bool
    """Read back: an organisation may make everything private."""


def make_where_missing(what: str, *, create: Callable[[], Any], look: Callable[[], Any]) -> Made:
    """Makes something where it does not exist, and reads back how it is.

    Args:
        what: for messages: `the bucket me/rows`.
        create: asks the Hub to make it.
        look: asks the Hub for its description, which has `private`.

    Raises:
        RemoteError: as `hub_calls`.
    """
    is_new = False
    refusal: RemoteError | None = None
    try:
        with hub_calls(f"make {what}"):
            create()
        is_new = True
    except RemoteConflictError:
        pass  # it exists
    except RemoteRefusedError as error:
        refusal = error  # a token that may write to this one alone may not make any
    try:
        with hub_calls(f"read {what}"):
            return Made(is_new=is_new, is_private=bool(look().private))
    except RemoteError as error:
        raise refusal or error from error


__all__ = ["Made", "make_where_missing"]
