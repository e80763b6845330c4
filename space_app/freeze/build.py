"""Builds a frozen dashboard in a folder: snapshot, data, page, then a look for tokens."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from space_app.api.service import Service
from space_app.api.wire import to_json
from space_app.freeze.documents import project_header, write_events, write_index, write_objects, write_run
from space_app.freeze.folder import APP, MARK
from space_app.freeze.packs import Pack
from space_app.freeze.page import write_page
from space_app.freeze.scan import find_tokens
from space_app.freeze.series import SeriesExport
from space_app.freeze.snapshot import take_snapshot
from trackio_like._version import __version__
from trackio_like.errors import TrackioLikeError
from trackio_like.query.index import ProjectIndex
from trackio_like.query.objects import read_objects
from trackio_like.query.run_index import SCALAR_KINDS

DATA: Final = "data"
_SLUG: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What was built."""

    projects: tuple[str, ...]
    num_runs: int
    num_bytes: int
    num_missing_files: int
    """Media files that rows name and that were not there."""
    num_skipped_files: int
    """Files with rows that could not be read."""


def build(root: Path, projects: Sequence[str], folder: Path, *, own_tokens: Iterable[str] = ()) -> Frozen:
    """Builds a frozen dashboard.

    Args:
        root: folder of all projects; may be written meanwhile.
        projects: their names; those without a run that is not deleted are left out.
        folder: an empty folder.
        own_tokens: tokens of this machine, which must not be in what is built.

    Raises:
        TrackioLikeError: something looks like a token, or there is no run.
        FileNotFoundError: the package was installed without the built JavaScript.
        OSError: the disk refuses.
    """
    frozen_us = time.time_ns() // 1000
    # A name of its own for each time, so that no browser mixes what it kept of an earlier copy with this one.
    data = folder / DATA / secrets.token_hex(4)
    data.mkdir(parents=True)
    snapshot = folder / ".snapshot"
    try:
        sources = take_snapshot(root, projects, snapshot)
        frozen = _build_projects(snapshot, projects, data, sources)
    finally:
        shutil.rmtree(snapshot, ignore_errors=True)
    write_page(folder, data=data.relative_to(folder).as_posix(), frozen_us=frozen_us)
    mark = {"app": APP, "version": __version__, "is_static": True, "frozen_us": frozen_us}
    (folder / MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
    found = find_tokens(folder, own=own_tokens)
    if found:
        raise TrackioLikeError(
            f"Nothing was published: something in the shape of a token stands in {', '.join(found[:5])}. Remove it "
            "from what was logged (a config, a text or a name), and replace the token, for others may have read it."
        )
    return Frozen(**{**frozen, "num_bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())})


def _build_projects(
    snapshot: Path, projects: Sequence[str], data: Path, sources: dict[tuple[str, str], Path]
) -> dict[str, Any]:
    lines: list[dict[str, Any]] = []
    slugs: set[str] = set()
    num_runs = num_missing = num_skipped = 0
    for project in projects:
        index = ProjectIndex(snapshot, project)
        index.refresh()
        if not index.runs():
            continue
        slug = _slug(project, slugs)
        service = Service(snapshot, version=__version__)
        num_missing += _build_project(index, service, data / slug, sources)
        num_runs += len(index.runs())
        num_skipped += len(index.faults)
        last_us = max(run.last_us for run in index.runs())
        line = {"name": project, "folder": slug, "num_runs": len(index.runs()), "num_running": index.num_running}
        lines.append({**line, "last_us": last_us})
    if not lines:
        raise TrackioLikeError("There is nothing to freeze: no run is there that is not deleted.")
    lines.sort(key=lambda line: (-line["last_us"], line["name"]))
    (data / "projects.json").write_bytes(to_json({"version": __version__, "projects": lines}))
    return {
        "projects": tuple(line["name"] for line in lines),
        "num_runs": num_runs,
        "num_missing_files": num_missing,
        "num_skipped_files": num_skipped,
    }


def _build_project(index: ProjectIndex, service: Service, folder: Path, sources: dict[tuple[str, str], Path]) -> int:
    """Writes one project; returns how many media files were missing."""
    folder.mkdir()
    runs = index.runs()
    objects = [(run, read_objects(run.path, faults=index.faults)) for run in runs]
    num_missing = 0
    for number, (run, own) in enumerate(objects):
        source = sources[run.project, run.run_id]
        num_missing += write_run(folder / "runs" / str(number), service, run, source=source, objects=own)
    listed = write_objects(folder, objects)
    write_events(folder / "events.parquet", runs)
    files: dict[str, list[Pack]] = {}
    overviews: dict[str, dict[str, list[Pack]]] = {}
    for kind in SCALAR_KINDS:
        files[kind], overviews[kind] = SeriesExport(index, kind, folder).write()
    header = project_header(service, index.project)
    write_index(folder, header, runs, files=files, overviews=overviews, objects=listed)
    return num_missing


def _slug(name: str, taken: set[str]) -> str:
    """A folder name that every server and file system takes, not among those that are taken."""
    plain = _SLUG.sub("-", name.lower())[:40].strip("-") or "project"
    slug, number = plain, 2
    while slug in taken:
        slug, number = f"{plain}-{number}", number + 1
    taken.add(slug)
    return slug


__all__ = ["DATA", "Frozen", "build"]
