"""The routes under `/t`: they check what was sent, ask the service, and send what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.middleware.gzip import GZipMiddleware

from space_app.api.access import Access, is_loopback
from space_app.api.answers import HEADERS, error_answer, json_answer
from space_app.api.bodies import MAX_BODY_BYTES, body_of
from space_app.api.changes import ChangeRoutes
from space_app.api.files import DEFAULT_MAX_BYTES, FileRoutes
from space_app.api.objects import ObjectRoutes
from space_app.api.people import People, TokenPeople
from space_app.api.service import MAX_ROWS, NotFoundError, PollQuery, Service, to_csv
from space_app.api.wire import plain
from trackio_like._version import __version__
from trackio_like.query.panels import MAX_BUCKETS, PanelQuery
from trackio_like.store.changes import remove_leftovers
from trackio_like.store.intake import Intake

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MAX_PANELS: Final = 500
MAX_RUNS: Final = 5000


class _Panel(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    id: str
    key: str
    kind: Literal["metrics", "system"] = "metrics"
    x: str = "step"
    runs: list[str] | None = Field(default=None, max_length=MAX_RUNS)
    buckets: int = Field(ge=1, le=MAX_BUCKETS)
    since: int = Field(default=0, ge=0)
    x0: float | None = None
    x1: float | None = None

    def to_query(self, runs: list[str]) -> PanelQuery:
        return PanelQuery(
            key=self.key,
            kind=self.kind,
            axis=self.x,
            run_ids=tuple(dict.fromkeys(runs if self.runs is None else self.runs)),
            num_buckets=self.buckets,
            since=self.since,
            x0=self.x0,
            x1=self.x1,
        )


class _Poll(BaseModel):
    model_config = ConfigDict(extra="ignore")

    project: str
    epoch: str = ""
    cursor: int = Field(default=0, ge=0)
    want_runs: bool = True
    runs: list[str] = Field(default_factory=list, max_length=MAX_RUNS)
    panels: list[_Panel] = Field(default_factory=list, max_length=MAX_PANELS)

    def to_query(self) -> PollQuery:
        return PollQuery(
            project=self.project,
            epoch=self.epoch,
            cursor=self.cursor,
            wants_runs=self.want_runs,
            panels=tuple((panel.id, panel.to_query(self.runs)) for panel in self.panels),
        )


def create_api(
    root: str | Path | Service,
    *,
    poll_ms: int = 1000,
    access: Access | None = None,
    people: People | None = None,
    is_read_only: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> FastAPI:
    """The routes, to be mounted under `/t`, behind a `Gate` with the same access.

    Args:
        root: folder of all projects, or the service that answers.
        poll_ms: how often a page is to ask.
        access: the tokens; None lets everybody look and nobody change anything.
        people: how those are known who change runs; by the tokens where it is None.
        is_read_only: whether what is shown lies elsewhere: no file is taken then.
        max_bytes: the largest file that is taken.
    """
    access = access or Access()
    service = root if isinstance(root, Service) else Service(Path(root), poll_ms=poll_ms, version=__version__)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(_GZipForRemote)
    app.add_exception_handler(NotFoundError, _not_found)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ValidationError, _invalid)
    app.add_exception_handler(ValueError, _invalid)
    _add_routes(app, service)
    intake = Intake(service.root)
    if not is_read_only:
        intake.remove_old_drafts()
        remove_leftovers(service.root)
    FileRoutes(
        intake=intake,
        access=access,
        version=__version__,
        is_deleted=service.is_deleted,
        is_read_only=is_read_only,
        max_bytes=max_bytes,
    ).add_to(app)
    people = people or TokenPeople(access, is_read_only=is_read_only)
    people.add_to(app)
    ChangeRoutes(service=service, people=people).add_to(app)
    ObjectRoutes(service=service).add_to(app)
    return app


def _add_routes(app: FastAPI, service: Service) -> None:
    # Plain functions: they run in threads, so that a slow disk never holds up the event loop.
    @app.get("/meta")
    def meta() -> Response:
        return json_answer(service.meta())

    @app.post("/poll")
    def poll(body: Annotated[bytes, Depends(body_of)]) -> Response:
        packed = service.poll(_Poll.model_validate_json(body).to_query())
        return Response(packed, media_type="application/octet-stream", headers=HEADERS)

    @app.get("/run")
    def run(project: str, run: str) -> Response:
        return json_answer(service.run(project, run))

    @app.get("/rows")
    def rows(
        project: str,
        run: str,
        key: str,
        x0: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        x1: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_ROWS)] = 1000,
        format: Literal["json", "csv"] = "json",  # noqa: A002 - the name in the URL
    ) -> Response:
        num_rows, found = service.rows(project, run, key, x0=x0, x1=x1, limit=limit)
        if format == "csv":
            headers = {**HEADERS, "Content-Disposition": 'attachment; filename="rows.csv"'}
            return StreamingResponse(to_csv(found), media_type="text/csv; charset=utf-8", headers=headers)
        columns = ["step", "time_us", "value", "attempt", "writer", "seq"]
        return json_answer({"num_rows": num_rows, "columns": columns, "rows": plain(list(found))})


async def _not_found(_request: Request, error: Exception) -> Response:
    return error_answer(404, str(error))


async def _invalid(_request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError | ValidationError):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return error_answer(422, f"{where}: {first['msg']}")
    return error_answer(422, str(error))


class _GZipForRemote:
    """Compresses for clients on other machines; on this one it only costs time."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._zipped = GZipMiddleware(app, minimum_size=2000, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if scope.get("path", "").endswith("/media"):  # compressed already, and parts of it may be asked for
            await self._plain(scope, receive, send)
            return
        is_local = client is not None and is_loopback(client[0]) and not _is_forwarded(scope)
        await (self._plain if is_local else self._zipped)(scope, receive, send)


def _is_forwarded(scope: Scope) -> bool:
    return any(name == b"x-forwarded-for" for name, _ in scope.get("headers", ()))


__all__ = ["MAX_BODY_BYTES", "MAX_PANELS", "create_api"]
