"""The routes that list logged objects and send the files that they name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, ConfigDict, Field

from space_app.api.answers import error_answer, json_answer
from space_app.api.bodies import body_of
from space_app.api.service import NotFoundError, Service
from space_app.api.wire import plain
from trackio_like.query.index import ProjectIndex
from trackio_like.query.object_index import Listing, ObjectIndexes
from trackio_like.query.objects import LoggedObject
from trackio_like.store.media_files import media_file

MAX_OBJECTS: Final = 20_000
"""Rows of one answer, those that were logged last; a page that shows more shows nothing."""
_MAX_RUNS: Final = 5000
_MAX_TYPES: Final = 50
_CONTENT_TYPES: Final = {
    "gif": "image/gif",
    "glb": "model/gltf-binary",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "ogg": "audio/ogg",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "wav": "audio/wav",
    "webm": "video/webm",
    "webp": "image/webp",
}
"""By what a file's name ends in. Nothing that a browser would run: no HTML, no SVG."""
_FILE_HEADERS: Final = {
    # A file is never written twice under one name.
    "Cache-Control": "private, max-age=31536000, immutable",
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


class _Question(BaseModel):
    model_config = ConfigDict(extra="ignore")

    project: str
    runs: list[str] = Field(max_length=_MAX_RUNS)
    types: list[str] = Field(max_length=_MAX_TYPES)
    since: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRoutes:
    """What the routes need, and the routes."""

    service: Service
    _indexes: ObjectIndexes = field(default_factory=ObjectIndexes)

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes."""

        @app.post("/objects")
        def objects(body: Annotated[bytes, Depends(body_of)]) -> Response:
            return self.objects(_Question.model_validate_json(body))

        app.get("/media")(self.media)

    def objects(self, question: _Question) -> Response:
        """Lists the objects of some runs, where there are others than in the last answer."""

        def listed(index: ProjectIndex) -> Listing:
            known = {run.run_id: run for run in index.runs()}
            runs = [known[run_id] for run_id in dict.fromkeys(question.runs) if run_id in known]
            types = frozenset(question.types)
            return self._indexes.list(runs, types=types, since=question.since, faults=index.faults)

        found = self.service.ask(question.project, listed, looks_now=False)
        if found.objects is None:
            return json_answer({"version": found.version, "num_objects": None, "objects": None})
        rows = found.objects
        if len(rows) > MAX_OBJECTS:
            newest = set(sorted(range(len(rows)), key=lambda number: -rows[number][1].time_us)[:MAX_OBJECTS])
            rows = tuple(row for number, row in enumerate(rows) if number in newest)
        lines = [_line(run_id, item) for run_id, item in rows]
        return json_answer({"version": found.version, "num_objects": len(found.objects), "objects": lines})

    def media(self, project: str, run: str, path: str) -> Response:
        """Sends a file that a row of the run names."""

        def found(index: ProjectIndex) -> tuple[Path, bool]:
            known = index.run(run)
            if known is None:
                raise NotFoundError(f"The project has no run with the id {run!r}.")
            return known.path, self._indexes.of(known, faults=index.faults).names(path)

        folder, is_named = self.service.ask(project, found, looks_now=False)
        if not is_named:
            return error_answer(404, f"No row of this run names the file {path!r}.")
        file = media_file(folder, path)
        if file is None:
            return error_answer(404, "This file is not here yet: it is still being copied, or it was never sent.")
        media_type = _CONTENT_TYPES.get(file.suffix.lower().removeprefix("."), "application/octet-stream")
        return FileResponse(file, media_type=media_type, headers=_FILE_HEADERS)


def _line(run_id: str, item: LoggedObject) -> dict[str, Any]:
    # Field by field: asdict copies every payload first, which takes most of the time of a long answer.
    return {
        "run": run_id,
        "writer": item.writer,
        "seq": item.seq,
        "attempt": item.attempt,
        "step": plain(item.step),
        "time_us": item.time_us,
        "key": item.key,
        "type": item.type,
        "payload": plain(item.payload),
        "media": item.media,
    }


__all__ = ["MAX_OBJECTS", "ObjectRoutes"]
