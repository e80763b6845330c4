"""What the page asks of a project beside its points: the same documents as the live routes give, as files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from space_app.api.service import PollQuery, Service
from space_app.api.wire import to_json
from space_app.freeze.packs import Pack
from space_app.freeze.series import BUCKETS
from trackio_like.format.names import Kind
from trackio_like.format.schemas import SCHEMAS
from trackio_like.query.object_index import LISTED_TYPES, listing_order
from trackio_like.query.objects import LoggedObject
from trackio_like.query.run_index import RunIndex
from trackio_like.shards.tables import to_json as payload_json
from trackio_like.store.media_files import media_file


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
    objects: dict[str, Any] | None,
) -> None:
    """Writes `index.json`: all that the page has to know before it draws.

    Args:
        folder: the project's.
        header: of `project_header`.
        runs: in the order of the numbers that the files call them by.
        files: the files with every row, by kind.
        overviews: those with overviews, by kind and x axis.
        objects: as `write_objects` returns it.
    """
    if [run.run_id for run in runs] != [line["id"] for line in header["runs"]]:
        raise ValueError("The runs changed while they were copied; freeze again.")
    document = {
        **header,
        "origins_us": [run.origin_us for run in runs],
        "writers": [{writer: [signs.attempt, signs.rank] for writer, signs in run.writers.items()} for run in runs],
        "buckets": BUCKETS,
        "objects": objects,
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
    file = media_file(source, media)
    if file is None:
        return False
    copy = target / PurePosixPath(media)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)
    return True


def write_objects(folder: Path, runs: Sequence[tuple[RunIndex, Sequence[LoggedObject]]]) -> dict[str, Any] | None:
    """Writes the objects of all runs as one table, in the schema of shards; no file where there are none.

    Args:
        folder: the project's.
        runs: each with its objects.

    Returns:
        File, size and number of the rows that a page asks for as objects, which come first, in the order in which they
        are listed; None where there is none. Texts follow: they are in each run's document too.

    Raises:
        OSError: the disk refuses.
    """
    listed = [(run, item) for run, objects in runs for item in objects if item.type in LISTED_TYPES]
    listed.sort(key=lambda pair: listing_order(pair[1]))
    others = [(run, item) for run, objects in runs for item in objects if item.type not in LISTED_TYPES]
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
        for run, item in (*listed, *others)
    ]
    path = folder / "objects.parquet"
    # A row group of their own, so that they are read without the texts.
    _write_table(path, "objects", rows, first_group=len(listed))
    return {"file": path.name, "num_bytes": path.stat().st_size, "num_rows": len(listed)} if listed else None


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


def _write_table(path: Path, kind: Kind, rows: list[dict[str, Any]], *, first_group: int = 0) -> None:
    """Writes rows, the first so many of them apart from the rest."""
    groups = [group for group in (rows[:first_group], rows[first_group:]) if group]
    if not groups:
        return
    with pq.ParquetWriter(path, SCHEMAS[kind], compression="zstd", store_schema=False) as writer:
        for group in groups:
            writer.write_table(pa.Table.from_pylist(group, schema=SCHEMAS[kind]))


__all__ = ["project_header", "write_events", "write_index", "write_objects", "write_run"]
