"""What a request sends, as far as it is not too large."""

from __future__ import annotations

from typing import Final

from fastapi import Request  # noqa: TC002 - FastAPI reads the annotation when the route is added

MAX_BODY_BYTES: Final = 16 << 20


async def body_of(request: Request) -> bytes:
    """A request's body, as bytes: pydantic reads JSON faster than FastAPI, which would parse it first.

    Raises:
        ValueError: it is too large.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise ValueError(f"A request may have {MAX_BODY_BYTES} bytes.")
    return bytes(body)


__all__ = ["MAX_BODY_BYTES", "body_of"]
