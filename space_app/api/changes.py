"""The routes by which people change runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

from fastapi import Body, FastAPI, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from space_app.api.answers import error_answer, json_answer
from space_app.api.people import DeniedError, People
from space_app.api.service import Service
from trackio_like.errors import RemoteError, RemoteRefusedError, RunNotFoundError
from trackio_like.query.changes import (
    PartlyChangedError,
    list_deleted,
    make_changes,
    make_purge,
    plan_changes,
    plan_purge,
)
from trackio_like.store.changes import Change

MAX_CHANGED: Final = 5000


class _Runs(BaseModel):
    model_config = ConfigDict(extra="forbid")

    project: str
    runs: Annotated[list[str], Field(max_length=MAX_CHANGED)] | None


class _Change(_Runs):
    type: str
    payload: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRoutes:
    """What the routes need, and the routes."""

    service: Service
    people: People

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes. They run in threads: the Hub may take seconds."""
        app.get("/me")(self.me)
        app.get("/deleted")(self.deleted)
        app.post("/change")(self.change)
        app.post("/purge")(self.purge)

    def me(self, request: Request) -> Response:
        """Who asks."""
        return json_answer(asdict(self.people.me(request)))

    def deleted(self, project: Annotated[str, Query()]) -> Response:
        """The bin."""
        runs = self.service.ask(project, list_deleted)
        return json_answer({"runs": [asdict(run) for run in runs]})

    def change(self, request: Request, wanted: Annotated[_Change, Body()]) -> Response:
        """Changes runs."""

        def answer() -> Response:
            changes = self.people.changes_of(request)
            change = Change.parse(wanted.type, wanted.payload)
            planned = self.service.ask(wanted.project, lambda index: plan_changes(index, wanted.runs, change))
            return json_answer({"changed": make_changes(planned, changes)})

        return self._answered(wanted.project, "changed", answer)

    def purge(self, request: Request, wanted: Annotated[_Runs, Body()]) -> Response:
        """Removes deleted runs for good."""

        def answer() -> Response:
            changes = self.people.changes_of(request)
            planned = self.service.ask(wanted.project, lambda index: plan_purge(index, wanted.runs))
            done = make_purge(planned, changes)
            return json_answer({"purged": list(done.purged), "kept": done.kept})

        return self._answered(wanted.project, "purged", answer)

    def _answered(self, project: str, done: str, answer: Callable[[], Response]) -> Response:
        try:
            return answer()
        except DeniedError as error:
            return error_answer(error.status, str(error))
        except RunNotFoundError as error:
            return error_answer(404, str(error))
        except PartlyChangedError as error:
            status, text = _cause(error.__cause__)
            return error_answer(status, text, **{done: list(error.changed)})
        finally:
            self.service.look_again(project)


def _cause(error: BaseException | None) -> tuple[int, str]:
    if isinstance(error, RemoteRefusedError):
        return 403, str(error)
    if isinstance(error, RemoteError):
        return 502, str(error)
    text = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return 507, f"The server's disk does not take it: {text}."


__all__ = ["ChangeRoutes"]
