"""Logged values that are not numbers, and events, as they were recorded."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from trackio_like.query.load import LOAD_ERRORS, read_columns
from trackio_like.store.faults import Faults
from trackio_like.store.follow import Delta, RunFollower
from trackio_like.store.shard_files import ShardRead

_COLUMNS: Final = ("writer", "seq", "attempt", "step", "time", "key", "type", "payload", "media")
MAX_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedObject:
    """One logged value that is not a number."""

    writer: str
    seq: int
    attempt: int
    step: int | None
    time_us: int
    key: str
    type: str
    """Name of the data type, such as "text"."""
    payload: Any
    media: str | None
    """Path of its file relative to the run's folder."""


def read_objects(run_folder: Path, *, types: Collection[str] | None = None, faults: Faults) -> list[LoggedObject]:
    """Every object of a run, as of now, in the order of the calls.

    Args:
        run_folder: the run's folder.
        types: only these data types; None for all.
        faults: where skipped files are noted.
    """
    found: list[LoggedObject] = []
    for _ in range(MAX_TRIES):
        delta = RunFollower(run_folder, faults=faults, kinds=["objects"]).advance()
        try:
            found = objects_of(delta, types=types, faults=faults)
            break
        except FileNotFoundError:
            continue  # compacted away in between
    return sorted(found, key=lambda o: (o.attempt, o.time_us, o.writer, o.seq))


def objects_of(delta: Delta, *, types: Collection[str] | None, faults: Faults) -> list[LoggedObject]:
    """The objects that a run gained, in no particular order.

    Args:
        delta: what a follower of objects handed over.
        types: only these data types; None for all.
        faults: where skipped files are noted.

    Raises:
        FileNotFoundError: a shard was compacted away in between: look again.
    """
    found = [*_unsealed(delta), *(item for read in delta.reads for item in _sealed(read, faults))]
    return [item for item in found if types is None or item.type in types]


def _unsealed(delta: Delta) -> Iterator[LoggedObject]:
    for batch in delta.batches:
        header = batch.header
        for record in batch.objects:
            if record.seq > delta.seen["objects"].get(header.writer, 0):
                yield LoggedObject(
                    writer=header.writer,
                    seq=record.seq,
                    attempt=header.attempt,
                    step=record.step,
                    time_us=record.time_us,
                    key=record.key,
                    type=record.type,
                    payload=record.payload,
                    media=record.media,
                )


def _sealed(read: ShardRead, faults: Faults) -> list[LoggedObject]:
    try:
        table = read_columns(read, _COLUMNS)
    except FileNotFoundError:
        raise
    except LOAD_ERRORS as error:
        faults.add(read.shard.path, error)
        return []
    columns = [
        table.column(name).cast(pa.int64()).to_pylist() if name == "time" else table.column(name).to_pylist()
        for name in _COLUMNS
    ]
    return [
        LoggedObject(
            writer=writer,
            seq=seq,
            attempt=attempt,
            step=step,
            time_us=time_us,
            key=key,
            type=type_,
            payload=_decoded(payload),
            media=media,
        )
        for writer, seq, attempt, step, time_us, key, type_, payload, media in zip(*columns, strict=True)
        if seq > read.after
    ]


def _decoded(payload: str) -> Any:
    try:
        return json.loads(payload)
    except ValueError:
        return payload


__all__ = ["MAX_TRIES", "LoggedObject", "objects_of", "read_objects"]
