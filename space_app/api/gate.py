"""Stands before every page and route: foreign host names, the read token, tokens in addresses, and a proxy's path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from space_app.api.access import COOKIE_AGE_S, WRONG_TOKEN, Access, cookie_header
from space_app.api.wire import to_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_NAMES: Final = ("write_token", "read_token", "token")
_OPEN: Final = frozenset({"/t/server", "/gradio_api/startup-events"})
"""What answers without the read token: what this server is, and Gradio's question to itself at the start."""
_NO_STORE: Final = {"Cache-Control": "no-store"}


class Gate:
    """Lets through what may come in. It is given the path without the proxy's, and hands on the path with it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers itself, or lets the app answer."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        prefix = self._access.prefix(headers, scope.get("root_path", ""))
        path = scope["path"]
        own_path = path[len(prefix) :] if prefix and path.startswith(f"{prefix}/") else path
        refusal = self._answer_of(scope, headers, own_path, prefix)
        if refusal is None:
            await self._app(self._placed(scope, own_path, prefix), receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        else:
            await refusal(scope, receive, send)

    def _answer_of(self, scope: Scope, headers: Headers, path: str, prefix: str) -> Response | None:
        """What is answered in place of the app; None to let it answer."""
        rights = self._access.of(headers)
        is_page = not path.startswith("/t/") and scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if is_page and any(name in TOKEN_NAMES for name, _ in query):
            return self._redeem(scope, headers, query, path, prefix)
        if self._access.is_loopback and not self._access.is_known_host(headers) and not rights.is_proven:
            return _refusal(
                path,
                403,
                "This server answers to localhost only. Behind a proxy, tell it its address: TRACKIO_PUBLIC_URL.",
            )
        if not rights.may_read and path not in _OPEN:
            return _refusal(path, 401, WRONG_TOKEN)
        return None

    def _redeem(self, scope: Scope, headers: Headers, query: list[tuple[str, str]], path: str, prefix: str) -> Response:
        """Takes a token out of the address into a cookie, so that nobody reads or forwards it by accident."""
        tokens = [value for name, value in query if name in TOKEN_NAMES]
        token = next((token for token in tokens if self._access.of_token(token).is_proven), None)
        if token is None:
            return _refusal(path, 401, WRONG_TOKEN)
        rest = urlencode([(name, value) for name, value in query if name not in TOKEN_NAMES])
        # Relative, because a proxy may show this page below any address.
        address = f"./{path.rpartition('/')[2]}{'?' if rest else ''}{rest}"
        answer = RedirectResponse(address, status_code=303, headers={**_NO_STORE, "Referrer-Policy": "no-referrer"})
        answer.headers["set-cookie"] = cookie_header(
            self._access.cookie_name,
            self._access.cookie_of(token),
            path=prefix or "/",
            is_secure=self._access.is_secure(headers, scope["scheme"]),
            max_age_s=COOKIE_AGE_S,
        )
        return answer

    def _placed(self, scope: Scope, own_path: str, prefix: str) -> Scope:
        """The request as the app sees it: below the proxy's path, and at the public address where one is known."""
        if not prefix and not self._access.public_url:
            return scope
        placed: dict[str, Any] = {**scope, "root_path": prefix, "path": f"{prefix}{own_path}"}
        placed["raw_path"] = placed["path"].encode()
        if self._access.public_url:
            public = urlsplit(self._access.public_url)
            told = {b"x-forwarded-host": public.netloc.encode(), b"x-forwarded-proto": public.scheme.encode()}
            placed["headers"] = [(name, value) for name, value in scope["headers"] if name not in told]
            placed["headers"] += told.items()
        return placed


def _refusal(path: str, status: int, text: str) -> Response:
    if path.startswith("/t/"):
        return Response(to_json({"error": text}), status_code=status, media_type="application/json", headers=_NO_STORE)
    return PlainTextResponse(text + "\n", status_code=status, headers=_NO_STORE)


__all__ = ["TOKEN_NAMES", "Gate"]
