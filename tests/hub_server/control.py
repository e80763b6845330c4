"""The control route: what a test in another process may ask of the Hub."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request

    from tests.hub_server.hub import Hub

PATH = "/__ctl"
_METHODS = (
    "add_oauth_app",
    "add_org",
    "add_user",
    "bucket_files",
    "bucket_ids",
    "bucket_is_private",
    "clear_faults",
    "clear_requests",
    "expire",
    "fail",
    "num_commits",
    "num_followers",
    "repo_files",
    "repo_ids",
    "repo_is_private",
    "reset",
    "revive",
    "set_space_stages",
    "sign_in",
    "space",
    "tell_feed",
    "token",
    "users",
)
_VALUES = ("cdn_endpoint", "endpoint", "leaks", "limits", "requests", "tokens")


class Control:
    """`POST /__ctl` with `{"call": name, "args": [...], "kwargs": {...}}` answers `{"result": ...}`.

    The names are those of `Hub`. A value such as `requests` is asked for in the same way; `limits` takes keyword
    arguments to set. Content comes in Base64.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def route(self) -> Route:
        return Route(PATH, self._call, methods=["POST"])

    async def _call(self, request: Request) -> Response:
        asked = await request.json()
        name, arguments, options = asked.get("call"), asked.get("args", []), asked.get("kwargs", {})
        if name == "limits" and options:
            for field, value in options.items():
                setattr(self._hub.limits, field, value)
        if name in _METHODS:
            # This is the thread that serves, so the call is made at once.
            result = getattr(self._hub, name)(*arguments, **options)
        elif name in _VALUES:
            result = getattr(self._hub, name)
        else:
            return JSONResponse({"error": f"unknown call {name!r}"}, 400)
        return JSONResponse({"result": _plain(result)})


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    return value
