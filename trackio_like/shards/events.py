"""Writes one event as a shard of a writer of its own: what happens to a run from outside of it needs no lock."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

from trackio_like.format.names import RunFolder, ShardName, new_writer_id
from trackio_like.format.records import EventRecord, Header
from trackio_like.shards.files import ShardInfo, write_shard
from trackio_like.shards.tables import event_table


def write_event(
    folder: RunFolder,
    type_: str,
    payload: dict[str, Any],
    *,
    time_us: int | None = None,
    attempt: int = 1,
    rank: int = 0,
) -> Path:
    """Records that something happened to a run; readers see it at their next look.

    Args:
        folder: the run.
        type_: the event's type.
        payload: as docs/design/files.md says for the type.
        time_us: when it happened, microseconds since the epoch; now where it is None.
        attempt: the attempt that it belongs to, from 1.
        rank: the rank that it belongs to.

    Returns:
        Where the shard is.

    Raises:
        OSError: the disk refuses; nothing is left behind.
    """
    writer = new_writer_id(socket.gethostname(), os.getpid())
    header = Header(
        project=folder.project,
        run_id=folder.run_id,
        writer=writer,
        host="",  # in journals alone
        pid=os.getpid(),
        process_started=0.0,
        attempt=attempt,
        rank=rank,
        segment=1,
        first_seq=1,
    )
    event = EventRecord(
        seq=1, time_us=time.time_ns() // 1000 if time_us is None else time_us, type=type_, payload=payload
    )
    return write_shard(
        folder.shards("events"),
        ShardName(writer=writer, first=1, last=1),
        "events",
        event_table(header, [event]),
        info=ShardInfo(attempt=attempt, rank=rank, num_rows=1, summary={}),
        compression_level=1,
    )


__all__ = ["write_event"]
