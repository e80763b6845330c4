"""Which requests go wrong, and how: rules, and what each kind does to a request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

KINDS = {
    "status": "answers `status` with `headers` and `body` and does nothing",
    "drop": "cuts the connection before anything is done",
    "lost": "does what was asked, then cuts the connection without an answer",
    "truncate": "does what was asked and cuts the connection after half of the answer's body",
    "hang": "never answers, until the client leaves or the faults are cleared",
    "delay": "waits `delay_s` and goes on",
    "partial": "fails those operations of a bucket's batch whose path matches `paths`, with `error`",
    "lag": "shows what a listing was `seconds` or `operations` ago; contents stay current",
    "reset": "opens a bucket's change feed with `reset`, and ends it",
    "reconnect": "opens a bucket's change feed with `reconnect`, and ends it",
    "silence": "opens a bucket's change feed and withholds every change",
}
_JOINING = ("delay", "lag", "partial")
"""Kinds that leave a request open for another rule."""


@dataclass(kw_only=True)
class Rule:
    """Requests that go wrong."""

    path_regex: str
    kind: str
    times: int | None = 1
    """How many more requests it hits; None for all."""
    skip: int = 0
    """How many matching requests it lets pass first."""
    method: str | None = None
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    """Sent as it is if bytes or text, else as JSON."""
    delay_s: float = 0.0
    paths: str = ""
    """For `partial`: which operations, as a regular expression."""
    error: str = "Internal error"
    seconds: float = 0.0
    operations: int = 0
    hits: int = 0
    """How many requests it has hit."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r} is unknown; choose one of {', '.join(KINDS)}.")

    def matches(self, method: str, path: str) -> bool:
        return (
            self.times != 0
            and (self.method is None or self.method.upper() == method)
            and re.search(self.path_regex, path) is not None
        )


class Faults:
    """The rules in force."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.released = asyncio.Event()
        """Set when the rules are cleared: what hangs then ends."""

    def clear(self) -> None:
        self.rules.clear()
        self.released.set()
        self.released = asyncio.Event()

    def take(self, method: str, path: str) -> list[Rule]:
        """The rules that hit a request; at most the last one decides its answer."""
        taken = []
        for rule in self.rules:
            if not rule.matches(method, path):
                continue
            if rule.skip > 0:
                rule.skip -= 1
                continue
            if rule.times is not None:
                rule.times -= 1
            rule.hits += 1
            taken.append(rule)
            if rule.kind not in _JOINING:
                break
        return taken


def rules_for(scope: Scope, kind: str) -> list[Rule]:
    """The rules of a kind that a handler itself has to follow."""
    return [rule for rule in scope.get("hub.rules", ()) if rule.kind == kind]


async def serve_with_faults(app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, faults: Faults) -> str | None:
    """Serves one request, wrong where a rule says so.

    Returns:
        The kinds that hit it, joined with a plus; None if none.
    """
    rules = faults.take(scope["method"], scope["path"])
    if not rules:
        await app(scope, receive, send)
        return None
    scope["hub.rules"] = rules
    released = faults.released
    for rule in rules:
        if rule.kind == "delay":
            await asyncio.sleep(rule.delay_s)
    last = rules[-1]
    if last.kind == "status":
        await _answer(last, receive, send)
    elif last.kind == "drop":
        cut(scope)
    elif last.kind == "hang":
        await _hang(receive, released)
        cut(scope)
    elif last.kind == "lost":
        await app(scope, receive, _swallow)
        cut(scope)
    elif last.kind == "truncate":
        await _truncate(app, scope, receive, send)
    else:
        await app(scope, receive, send)
    return "+".join(rule.kind for rule in rules)


def cut(scope: Scope) -> None:
    """Resets the connection."""
    scope["hub.transport"].abort()


async def _swallow(_: Message) -> None:
    """Takes an answer and sends nothing."""


async def _answer(rule: Rule, receive: Receive, send: Send) -> None:
    # The body is read first: a client that still sends would see a broken pipe and not the status.
    while (await receive()).get("more_body"):
        pass
    body = {"error": rule.error} if rule.body is None else rule.body
    if isinstance(body, str):
        body = body.encode()
    headers = {"content-type": "application/octet-stream" if isinstance(body, bytes) else "application/json"}
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers |= {name.lower(): value for name, value in rule.headers.items()} | {"content-length": str(len(body))}
    await send({"type": "http.response.start", "status": rule.status, "headers": _encoded(headers.items())})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]


async def _hang(receive: Receive, released: asyncio.Event) -> None:
    async def left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    waits = [asyncio.create_task(left()), asyncio.create_task(released.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _truncate(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    start: list[Message] = []
    body = bytearray()

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.append(message)
        else:
            body.extend(message.get("body", b""))

    await app(scope, receive, collect)
    await send(start[0])
    await send({"type": "http.response.body", "body": bytes(body[: len(body) // 2]), "more_body": True})
    # Unlike a reset, this sends what is buffered, so the client gets its half.
    scope["hub.transport"].close()
