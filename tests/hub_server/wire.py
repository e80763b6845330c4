"""How answers look on the wire: errors, times, pages, byte ranges."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request

PAGE_SIZE = 1000


class HubError(Exception):
    """A request that is answered with an error.

    Args:
        status: The HTTP status.
        message: What the client is told.
        code: `X-Error-Code`, which the client turns into an exception's type.
        body: More fields beside `error`.
        headers: More headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        body: dict | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.body = body or {}
        self.headers = headers or {}

    def response(self) -> Response:
        headers = {"X-Error-Message": self.message.replace("\n", " "), **self.headers}
        if self.code:
            headers["X-Error-Code"] = self.code
        return JSONResponse({"error": self.message, **self.body}, self.status, headers=headers)


async def answer_error(_: Request, error: Exception) -> Response:
    """The exception handler for `HubError`."""
    assert isinstance(error, HubError)
    return error.response()


def iso(time_ms: int) -> str:
    """ISO 8601 in UTC with milliseconds, as the Hub writes times."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_iso_ms(text: str) -> int:
    """Unix milliseconds.

    Raises:
        ValueError: It is no ISO 8601 time.
    """
    moment = datetime.fromisoformat(text)
    return round(moment.timestamp() * 1000)


def is_true(value: str | None) -> bool:
    return value is not None and value.lower() in ("1", "true")


def page(request: Request, endpoint: str, items: list[dict], *, size: int = PAGE_SIZE) -> Response:
    """One page of a listing, with the address of the next in `Link`."""
    params = dict(request.query_params)
    first = int(params.get("cursor", "0"))
    headers = {}
    if first + size < len(items):
        query = urlencode({**params, "cursor": first + size})
        path = request.scope["raw_path"].decode().split("?")[0]
        headers["Link"] = f'<{endpoint}{path}?{query}>; rel="next"'
    return JSONResponse(items[first : first + size], headers=headers)


def ranged(request: Request, data: bytes, *, headers: dict[str, str] | None = None) -> Response:
    """The bytes that `Range` asks for: 200, 206 or 416."""
    headers = {"Accept-Ranges": "bytes", **(headers or {})}
    span = byte_range(request.headers.get("range"), len(data))
    if span is None:
        return Response(data, headers=headers, media_type="application/octet-stream")
    first, last = span
    if first > last:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
    return Response(data[first : last + 1], 206, headers=headers, media_type="application/octet-stream")


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """First and last byte asked for, clipped to the size; first > last where nothing is left; None without a range."""
    match = re.fullmatch(r"\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1
