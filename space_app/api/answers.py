"""JSON answers, all with the same headers."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Response

from space_app.api.wire import to_json

HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def json_answer(document: Any, *, status_code: int = 200) -> Response:
    """A document of `plain` values."""
    return Response(to_json(document), status_code=status_code, media_type="application/json", headers=HEADERS)


def error_answer(status_code: int, text: str, **more: Any) -> Response:
    """What went wrong, for people."""
    return json_answer({"error": text, **more}, status_code=status_code)


__all__ = ["HEADERS", "error_answer", "json_answer"]
