"""A bucket's change feed: what changed lately, told to those who listen, and undone for a listing that lags."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tests.hub_server.state import Bucket, BucketEntry
from tests.hub_server.wire import iso

KEEP_ALIVE_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one batch did."""

    seq: int
    time_ms: int
    before_ms: int
    """The bucket's `updatedAt` before it."""
    changes: list[dict]
    """As the feed tells them."""
    before: dict[str, BucketEntry | None]
    """What each path held before the batch."""


def change_of(path: str, before: BucketEntry | None, after: BucketEntry | None) -> dict:
    """One path's change as the feed tells it."""
    if after is None:
        return {"path": path, "op": "delete"}
    told = {
        "path": path,
        "op": "add" if before is None else "update",
        "size": after.size,
        "xetHash": after.xet_hash,
        "uploadedAt": iso(after.uploaded_ms),
    }
    if after.mtime_ms is not None:
        told["mtime"] = iso(after.mtime_ms)
    return told


class Stream:
    """One listener."""

    def __init__(self, *, is_silent: bool) -> None:
        self.is_silent = is_silent
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def send(self, event: str, payload: dict) -> None:
        self._queue.put_nowait(f"event: {event}\ndata: {json.dumps(payload)}\n\n".encode())

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def parts(self) -> AsyncIterator[bytes]:
        """What to send, with a comment where nothing happens for long."""
        while True:
            try:
                part = await asyncio.wait_for(self._queue.get(), KEEP_ALIVE_S)
            except TimeoutError:
                part = b": keep-alive\n\n"
            if part is None:
                return
            yield part


class Feed:
    """The changes of one bucket that can be replayed, and who listens."""

    def __init__(self, bucket: Bucket) -> None:
        self.streams: set[Stream] = set()
        self._bucket = bucket
        self._changes: deque[Change] = deque()
        # Whatever was before this is not known: the server was started after it, or it is too long ago.
        self._floor_seq = bucket.seq
        self._floor_ms = bucket.updated_ms

    def add(self, change: Change) -> None:
        """Keeps a change and tells it to all who listen."""
        self._changes.append(change)
        for stream in self.streams:
            if not stream.is_silent:
                _tell(stream, change)

    def close(self) -> None:
        for stream in self.streams:
            stream.end()

    def forget(self, older_than_s: float) -> None:
        """Drops what is too old to be replayed."""
        border = (time.time() - older_than_s) * 1000
        while self._changes and self._changes[0].time_ms < border:
            gone = self._changes.popleft()
            self._floor_seq, self._floor_ms = gone.seq, gone.time_ms

    def replay(self, stream: Stream, *, cursor: int | None, since_ms: int | None) -> bool:
        """Tells a listener what it missed; False if that is no longer known."""
        too_old = (cursor is not None and cursor < self._floor_seq) or (
            since_ms is not None and since_ms < self._floor_ms
        )
        if too_old:
            return False
        for change in self._changes:
            if (cursor is not None and change.seq > cursor) or (since_ms is not None and change.time_ms > since_ms):
                _tell(stream, change)
        return True

    def view(self, *, seconds: float, operations: int) -> tuple[dict[str, BucketEntry], int]:
        """The files and `updatedAt` of some seconds and some batches ago."""
        files = dict(self._bucket.files)
        updated_ms = self._bucket.updated_ms
        border = (time.time() - seconds) * 1000
        for place, change in enumerate(reversed(self._changes)):
            if place >= operations and (seconds == 0 or change.time_ms <= border):
                break
            updated_ms = change.before_ms
            for path, entry in change.before.items():
                if entry is None:
                    files.pop(path, None)
                else:
                    files[path] = entry
        return files, updated_ms


def _tell(stream: Stream, change: Change) -> None:
    stream.send("changes", {"cursor": str(change.seq), "changes": change.changes})
