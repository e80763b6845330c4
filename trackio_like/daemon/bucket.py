"""Sends to a bucket: one batch for all runs, of which any part may fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trackio_like.daemon.sender import Batch, Outcome
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess
from trackio_like.hub.buckets import make_bucket, write_bucket
from trackio_like.hub.listing import list_bucket
from trackio_like.hub.making import Made

_GONE: Final = re.compile(r"not found|does(n't| not) exist|no such", re.IGNORECASE)


class BucketSender:
    """A bucket, with one token."""

    def __init__(self, target: Target, access: HubAccess) -> None:
        """Asks for nothing yet."""
        self._target = target
        self._access = access

    def prepare(self) -> str | None:
        """Makes the bucket where it does not exist."""
        made = make_bucket(self._access, self._target.id, is_private=self._target.is_private)
        return visibility_note(self._target, made)

    def send(self, batch: Batch) -> Outcome:
        """Sends and deletes what is wanted."""
        answer = write_bucket(
            self._access,
            self._target.id,
            adds=[(upload.file, upload.path) for upload in batch.uploads],
            deletes=batch.deletes,
        )
        # What is gone already need not be deleted: the answer to an earlier batch was lost.
        gone = {path for path in batch.deletes if _GONE.search(answer.failed.get(path, ""))}
        failed = {path: why for path, why in answer.failed.items() if path not in gone}
        sent = {upload.path for upload in batch.uploads} - answer.vanished
        return Outcome(
            stored=frozenset(sent - failed.keys()),
            deleted=frozenset(set(batch.deletes) - failed.keys()),
            failed=failed,
            num_api_calls=answer.traffic.num_api_calls,
            num_left=answer.traffic.num_left,
            window_left_s=answer.traffic.window_left_s,
        )

    def paths(self) -> Iterator[tuple[str, int]]:
        """Everything in the bucket."""
        for file in list_bucket(self._access, self._target.id):
            yield file.path, file.num_bytes


def visibility_note(target: Target, made: Made) -> str | None:
    """What to tell where a new bucket or dataset has another visibility than was asked for; None for nothing."""
    if made.is_new and made.is_private and not target.is_private:
        owner = target.id.partition("/")[0]
        return (
            f"The {target.kind} {target.id} was created as private, because {owner} makes everything private. Rows are "
            "sent all the same; make it public in its settings on the Hub if others are to see it."
        )
    return None


__all__ = ["BucketSender", "visibility_note"]
