"""The outermost layer: writes each request down, counts it against the limits, and lets the faults have it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.hub_server.access import Account, account_of
from tests.hub_server.control import PATH as CONTROL_PATH
from tests.hub_server.faults import serve_with_faults
from tests.hub_server.wire import HubError
from tests.hub_server.world import Record, World

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_CHANGING = ("POST", "PUT", "DELETE", "PATCH")


class Gate:
    """An application behind its log, limits and faults.

    Args:
        app: What answers.
        world: The Hub.
        is_cdn: Whether this is the CDN's port: no limits there.
        changed: Called after each request that may have changed what is saved.
    """

    def __init__(self, app: ASGIApp, world: World, *, is_cdn: bool, changed: Callable[[], None]) -> None:
        self._app = app
        self._world = world
        self._is_cdn = is_cdn
        self._changed = changed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == CONTROL_PATH:
            await self._app(scope, receive, send)
            return
        world = self._world
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        account = _account(world, headers.get("authorization"))
        group = "cdn" if self._is_cdn else _group(scope["path"])
        record = Record(
            time=time.time(),
            method=scope["method"],
            path=scope["path"],
            query=scope["query_string"].decode(),
            group=group,
            account=account.name,
            had_authorization="authorization" in headers,
        )
        world.log.append(record)
        extra: dict[str, str] = {}
        allowed = True
        if group in ("api", "resolvers", "pages"):
            name = account.name if account.is_known else (scope.get("client") or ("anonymous",))[0]
            allowed, extra = world.meter.spend(account=name, plan=account.plan, group=group)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                added = [(name.lower().encode(), value.encode()) for name, value in extra.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        # uvicorn hands over a method of the object that holds the connection.
        scope["hub.transport"] = send.__self__.transport  # type: ignore[attr-defined]
        if not allowed:
            refusal = HubError(429, "We had to rate limit you. Retry after the window's end.")
            await refusal.response()(scope, receive, noting)
            return
        record.fault = await serve_with_faults(self._app, scope, receive, noting, faults=world.faults)
        if scope["method"] in _CHANGING:
            self._changed()


def _group(path: str) -> str:
    if path.startswith(("/cas/", "/v1/telemetry")):
        return "cas"
    if "/resolve/" in path:
        return "resolvers"
    return "api" if path.startswith("/api/") else "pages"


def _account(world: World, authorization: str | None) -> Account:
    try:
        return account_of(world.saved, authorization)
    except HubError:
        return Account()
