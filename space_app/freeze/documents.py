"""What the page asks of a project beside its points: the same documents as the live routes give, as files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from space_app.api.service import PollQuery, Service
from space_app.api.wire import to_json
from space_app.freeze.packs import Pack
from space_app.freeze.series import BUCKETS
from trackio_like.format.names import Kind
from trackio_like.format.schemas import SCHEMAS
from trackio_like.query.objects import LoggedObject
from trackio_like.query.run_index import RunIndex
from trackio_like.shards.tables import to_json as payload_json

MEDIA: Final = "media"
"""The folder below a run's that its files lie in; nothing outside is ever copied."""


def project_header(service: Service, project: str) -> dict[str, Any]:
    """What a live page gets first: runs, keys and definitions."""
    query = PollQuery(project=project, epoch="", cursor=0, wants_runs=True, panels=())
    packed = service.poll(query)
    size = int.from_bytes(packed[:4], "little")
    header: dict[str, Any] = json.loads(packed[4 : 4 + size])
    return {name: header[name] for name in ("runs", "keys", "definitions")}


def write_index(
    folder: Path,
    header: dict[str, Any],
    runs: Sequence[RunIndex],
    *,
    files: dict[str, list[Pack]],
    overviews: dict[str, dict[str, list[Pack]]],
) -> None:
    """Writes `index.json`: all that the page has to know before it draws.

    Args:
        folder: the project's.
        header: of `project_header`.
        runs: in the order of the numbers that the files call them by.
        files: the files with every row, by kind.
        overviews: those with overviews, by kind and x axis.
    """
    if [run.run_id for run in runs] != [line["id"] for line in header["runs"]]:
        raise ValueError("The runs changed while they were copied; freeze again.")
    document = {
        **header,
        "origins_us": [run.origin_us for run in runs],
        "writers": [{writer: [signs.attempt, signs.rank] for writer, signs in run.writers.items()} for run in runs],
        "buckets": BUCKETS,
        "rows": {kind: [asdict(pack) for pack in packs] for kind, packs in files.items()},
        "overviews": {
            kind: {axis: [asdict(pack) for pack in packs] for axis, packs in by_axis.items()}
            for kind, by_axis in overviews.items()
        },
    }
    (folder / "index.json").write_bytes(to_json(document))


def write_run(folder: Path, service: Service, run: RunIndex, *, source: Path, objects: Sequence[LoggedObject]) -> int:
    """Writes one run's document and copies its files.

    Args:
        folder: the run's own, to be made.
        service: of the files that are frozen.
        run: which.
        source: the run's folder, which has its files.
        objects: all of the run's.

    Returns:
        How many files are named by a row and are not there.

    Raises:
        OSError: the disk refuses.
    """
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(to_json(service.run(run.project, run.run_id)))
    wanted = {item.media for item in objects if item.media is not None}
    return sum(not _copy_media(media, source, folder) for media in sorted(wanted))


def _copy_media(media: str, source: Path, target: Path) -> bool:
    """Copies a file that a row names; False where it is not there, or not the run's own."""
    path = PurePosixPath(media)
    if path.is_absolute() or ".." in path.parts or path.parts[:1] != (MEDIA,):
        return False
    file = source / path
    # A link may lead anywhere on this machine, and what is frozen is published.
    if not file.is_file() or not file.resolve().is_relative_to(source.resolve()):
        return False
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target / path)
    return True


def write_objects(path: Path, runs: Sequence[tuple[RunIndex, Sequence[LoggedObject]]]) -> None:
    """Writes the objects of all runs as one table, in the schema of shards; no file where there are none.

    Raises:
        OSError: the disk refuses.
    """
    rows = [
        {
            **_identity(run, item.writer, item.seq, item.attempt),
            "step": item.step,
            "time": item.time_us,
            "key": item.key,
            "type": item.type,
            "payload": payload_json(item.payload),
            "media": item.media,
        }
        for run, objects in runs
        for item in objects
    ]
    _write_table(path, "objects", rows)


def write_events(path: Path, runs: Sequence[RunIndex]) -> None:
    """Writes the events of all runs as one table, in the schema of shards.

    Raises:
        OSError: the disk refuses.
    """
    rows = [
        {
            **_identity(run, event.writer, event.seq, event.attempt),
            "time": event.time_us,
            "type": event.type,
            "payload": payload_json(event.payload),
        }
        for run in runs
        for event in sorted(run.events, key=lambda event: (event.time_us, event.writer, event.seq))
    ]
    _write_table(path, "events", rows)


def _identity(run: RunIndex, writer: str, seq: int, attempt: int) -> dict[str, Any]:
    return {"project": run.project, "run_id": run.run_id, "writer": writer, "seq": seq, "attempt": attempt}


def _write_table(path: Path, kind: Kind, rows: list[dict[str, Any]]) -> None:
    if rows:
        table = pa.Table.from_pylist(rows, schema=SCHEMAS[kind])
        pq.write_table(table, path, compression="zstd", store_schema=False)


__all__ = ["MEDIA", "project_header", "write_events", "write_index", "write_objects", "write_run"]
