"""A bucket's change feed: server-sent events, one session at a time, as frozen values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlencode

from huggingface_hub import get_session
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # loaded lazily there

from trackio_like.errors import RemoteInvalidError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import CONNECT_TIMEOUT_S, hub_calls
from trackio_like.hub.hangup import Hangup

SILENCE_TIMEOUT_S: Final = 90.0
"""How long nothing may come: the Hub sends a comment every 30 s."""
_MAX_EVENT_BYTES: Final = 32 << 20

EventKind = Literal["ready", "changes", "reset", "reconnect"]
_WITHOUT_CHANGES: Final[dict[str, EventKind]] = {"ready": "ready", "reset": "reset", "reconnect": "reconnect"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """From where a session goes on: a cursor, else a time, else from now."""

    cursor: str = ""
    """As an event named it."""
    since: str = ""
    """A bucket's `updatedAt`: what came after it is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file that came, changed or went."""

    path: str
    is_deleted: bool
    num_bytes: int | None = None
    """None where the feed does not say."""
    content_hash: str | None = None
    """None where the feed does not say."""
    uploaded: str = ""
    """As `RemoteFile.uploaded`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEvent:
    """What the Hub says.

    `ready`: what was missed has been told, from now on it is live. `reset`: the resume point is too old, so compare
    everything and begin anew. `reconnect`: the session ends, open another one.
    """

    kind: EventKind
    cursor: str = ""
    """Where to go on behind this event; empty where it does not say."""
    changes: tuple[FileChange, ...] = ()


def follow_bucket(access: HubAccess, bucket_id: str, *, resume: ResumePoint, hangup: Hangup) -> Iterator[FeedEvent]:
    """One session: its events until the stream ends, the Hub ends it, or somebody hangs up.

    Raises:
        RemoteInvalidError: the resume point is none that the Hub knows, or this Hub has no feed.
        RemoteError: as `hub_calls`; RemoteUnavailableError also where the stream is cut or silent for too long.
    """
    query = {"cursor": resume.cursor} if resume.cursor else {"since": resume.since} if resume.since else {}
    url = f"{access.endpoint}/api/buckets/{bucket_id}/events" + (f"?{urlencode(query)}" if query else "")
    with (
        hub_calls(f"follow the bucket {bucket_id}"),
        get_session().stream(
            "GET",
            url,
            headers={**access.headers, "accept": "text/event-stream"},
            timeout=(CONNECT_TIMEOUT_S, SILENCE_TIMEOUT_S, CONNECT_TIMEOUT_S, CONNECT_TIMEOUT_S),
        ) as response,
        hangup.holding(response),
    ):
        hf_raise_for_status(response)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise RemoteInvalidError("there is no change feed")
        for name, data in parse_stream(response.iter_bytes()):
            event = parse_event(name, data)
            if event is not None:
                yield event


def parse_stream(chunks: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """The (name, data) of each event of a stream of server-sent events, however its bytes are cut.

    Raises:
        RemoteInvalidError: an event is larger than any that makes sense.
    """
    # https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
    rest, size = b"", 0
    name, data = "", list[str]()
    for chunk in chunks:
        # A lone "\r" may be half of a "\r\n": it waits for its other half.
        lines = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        rest = lines.pop()
        for line in lines:
            size += len(line)
            if not line:
                if data:
                    yield name or "message", "\n".join(data)
                name, data, size = "", [], 0
                continue
            field, _, value = line.decode("utf-8", "replace").partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
        if size + len(rest) > _MAX_EVENT_BYTES:
            raise RemoteInvalidError("an event of the change feed is too large")


def parse_event(name: str, data: str) -> FeedEvent | None:
    """What an event says, or None where it is of a kind that we do not know, or cannot be read."""
    try:
        found: Any = json.loads(data or "{}")
        cursor = str(found.get("cursor") or "")
        if name == "changes":
            return FeedEvent(kind="changes", cursor=cursor, changes=tuple(map(_change_of, found["changes"])))
        kind = _WITHOUT_CHANGES.get(name)
        return None if kind is None else FeedEvent(kind=kind, cursor=cursor)
    except (ValueError, TypeError, KeyError, AttributeError):
        # An event that cannot be read may have been a change: comparing everything finds it.
        return FeedEvent(kind="reset") if name == "changes" else None


def _change_of(item: dict[str, Any]) -> FileChange:
    size, content_hash = item.get("size"), item.get("xetHash")
    return FileChange(
        path=str(item["path"]),
        is_deleted=item["op"] == "delete",
        num_bytes=None if size is None else int(size),
        content_hash=None if content_hash is None else str(content_hash),
        uploaded=str(item.get("uploadedAt") or ""),
    )


__all__ = [
    "SILENCE_TIMEOUT_S",
    "EventKind",
    "FeedEvent",
    "FileChange",
    "ResumePoint",
    "follow_bucket",
    "parse_event",
    "parse_stream",
]
