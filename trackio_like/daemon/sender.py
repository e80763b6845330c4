"""What the executor asks of a kind of target; a bucket, a dataset and a server each answer in their way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from trackio_like.format.tombstones import Tombstone


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Upload:
    """One file to send."""

    path: str
    """Where it is to be, relative to the target's root, with `/`."""
    file: Path
    """Where it is here; immutable, but compaction may delete it."""
    num_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one pass sends and deletes."""

    uploads: tuple[Upload, ...] = ()
    deletes: tuple[str, ...] = ()
    purged: tuple[Tombstone, ...] = ()
    """Runs that are to go as a whole, to which some of `deletes` belong."""

    @property
    def num_bytes(self) -> int:
        """Bytes to send."""
        return sum(upload.num_bytes for upload in self.uploads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a batch; a path that is nowhere in it is sent again."""

    stored: frozenset[str] = frozenset()
    """Paths that the target holds now."""
    deleted: frozenset[str] = frozenset()
    """Paths that it no longer holds."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Paths to be sent again, and why they failed."""
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Paths that the target will never take, and why."""
    num_api_calls: int = 0
    num_left: int | None = None
    """API calls that the Hub's window still allows, where it said so."""
    window_left_s: float | None = None
    """Seconds until that window ends."""


class Sender(Protocol):
    """One kind of target, with its address and its token. Used by one thread at a time."""

    def prepare(self) -> str | None:
        """Makes the bucket or dataset where it does not exist; idempotent.

        Returns:
            Something the user should know, such as that it was made private by the organisation; None for nothing.

        Raises:
            RemoteError: as `hub_calls` maps it.
        """

    def send(self, batch: Batch) -> Outcome:
        """Sends and deletes; a file that vanished here is left out of the outcome.

        Raises:
            RemoteError: nothing is known of any path: all are sent again.
        """

    def paths(self) -> Iterator[tuple[str, int]]:
        """Every file that the target holds, and its size in bytes.

        Raises:
            RemoteMissingError: the target does not exist.
            RemoteError: the listing failed; it is never taken for an empty one.
        """


__all__ = ["Batch", "Outcome", "Sender", "Upload"]
