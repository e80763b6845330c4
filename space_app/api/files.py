"""The routes that take the files of a run, list them, and remove what is no longer needed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from space_app.api.access import FOREIGN_PAGE, WRONG_TOKEN, Access
from space_app.api.answers import error_answer, json_answer
from trackio_like.store.intake import Draft, Intake
from trackio_like.store.slots import Fault, IntakeError

MAX_LISTED: Final = 10_000
DEFAULT_MAX_BYTES: Final = 1 << 30
_PART_BYTES: Final = 1 << 20
_STATUS: Final = {
    Fault.PATH: 404,
    Fault.TORN: 400,
    Fault.CONTENT: 422,
    Fault.TAKEN: 409,
    Fault.PURGED: 410,
    Fault.NEEDED: 409,
}
_DIGEST = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]{44}):")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRoutes:
    """What the routes need, and the routes."""

    intake: Intake
    access: Access
    version: str
    """Of this package."""
    is_deleted: Callable[[str, str], bool]
    """Whether a run, by project and id, is deleted."""
    is_read_only: bool
    """Whether what is shown lies elsewhere, so that nothing is taken here."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """The largest file that is taken."""

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes."""
        app.get("/server")(self.server)
        app.put("/files/{path:path}")(self.take)
        app.delete("/files/{path:path}")(self.remove)
        app.get("/files")(self.files)

    def server(self, request: Request) -> Response:
        """What this server is, and what the request's token allows."""
        return json_answer(
            {
                "app": "trackio_like",
                "version": self.version,
                "may_read": self.access.of(request.headers).may_read,
                "may_write": self.access.may_change(request.headers),
                "takes_files": self.access.has_write_token and not self.is_read_only,
                "max_bytes": self.max_bytes,
            }
        )

    async def take(self, request: Request, path: str) -> Response:
        """Takes a file."""
        refused = self._refusal(request) or _unfit(request, self.max_bytes)
        if refused is not None:
            return refused
        digest = _digest_of(request)
        if digest is None:
            return error_answer(400, "Send the file's SHA-256: X-Content-SHA256 as hex, or Content-Digest.")
        draft: Draft | None = None
        try:
            draft = await run_in_threadpool(self.intake.begin, path, int(request.headers["content-length"]))
            await _receive(request, draft)
            is_new = await run_in_threadpool(draft.finish, digest)
        except ClientDisconnect:
            return error_answer(400, "The connection ended before the file did.")
        except (IntakeError, OSError) as error:
            return _fault_answer(error)
        finally:
            if draft is not None:
                await run_in_threadpool(draft.discard)
        return json_answer({"path": path}, status_code=201 if is_new else 200)

    def remove(self, request: Request, path: str) -> Response:
        """Removes a file that no reader needs."""
        refused = self._refusal(request)
        if refused is not None:
            return refused
        try:
            self.intake.remove(path, is_deleted=self.is_deleted)
        except (IntakeError, OSError) as error:
            return _fault_answer(error)
        return Response(status_code=204)

    def files(
        self,
        request: Request,
        prefix: str = "",
        after: str = "",
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = MAX_LISTED,
    ) -> Response:
        """Lists what is here, page by page."""
        refused = self._refusal(request)
        if refused is not None:
            return refused
        found = list(islice(self.intake.files(prefix=prefix, after=after), limit + 1))
        page = [{"path": path, "size": size} for path, size in found[:limit]]
        return json_answer({"files": page, "next": page[-1]["path"] if len(found) > limit else None})

    def _refusal(self, request: Request) -> Response | None:
        if not self.access.may_change(request.headers):
            if self.access.of(request.headers).may_write:
                return error_answer(403, FOREIGN_PAGE)
            return error_answer(401, WRONG_TOKEN)
        if self.is_read_only:
            return error_answer(403, "This dashboard shows something read-only; send files to where it lies.")
        return None


def _unfit(request: Request, max_bytes: int) -> Response | None:
    """Why a body is refused before it is read."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return error_answer(415, "Send the file as it is, without Content-Encoding: it is compressed already.")
    length = request.headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return error_answer(411, "Say how many bytes will come: Content-Length.")
    if int(length) > max_bytes:
        return error_answer(413, f"This file has {int(length):,} bytes; this server takes at most {max_bytes:,}.")
    return None


def _digest_of(request: Request) -> str | None:
    plain = request.headers.get("x-content-sha256", "").strip().lower()
    if re.fullmatch(r"[0-9a-f]{64}", plain):
        return plain
    match = _DIGEST.search(request.headers.get("content-digest", ""))
    if match is None:
        return None
    try:
        return base64.b64decode(match[1], validate=True).hex()
    except binascii.Error:
        return None


async def _receive(request: Request, draft: Draft) -> None:
    """Hands the body to the disk in large parts: never whole in memory, and never on the event loop."""
    waiting = bytearray()
    async for part in request.stream():
        waiting += part
        if len(waiting) >= _PART_BYTES:
            await run_in_threadpool(draft.write, bytes(waiting))
            waiting.clear()
    await run_in_threadpool(draft.write, bytes(waiting))


def _fault_answer(error: IntakeError | OSError) -> Response:
    if isinstance(error, IntakeError):
        return error_answer(_STATUS[error.fault], str(error))
    return error_answer(507, f"The server's disk does not take it: {error.strerror or type(error).__name__}.")


__all__ = ["DEFAULT_MAX_BYTES", "MAX_LISTED", "FileRoutes"]
