"""How a mirror stands, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MirrorState = Literal["starting", "copying", "following", "probing", "waiting", "closed"]
"""`following`: told of changes at once. `probing`: asks for them. `waiting`: something is wrong, see the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """How much of a source is here."""

    num_files: int = 0
    """Files that are to be here; shards that a larger one covers are not counted."""
    num_done: int = 0
    num_bytes: int = 0
    num_bytes_done: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What of a source is here."""

    what: str
    """`the bucket me/board`."""
    state: MirrorState
    num_files: int = 0
    """Files that are to be here; shards that a larger one covers are not counted."""
    num_done: int = 0
    num_bytes: int = 0
    num_bytes_done: int = 0
    message: str = ""
    """What to know beside it: why it waits, that the view lags, what was left out; empty where all is well."""


__all__ = ["Amounts", "MirrorState", "Progress"]
