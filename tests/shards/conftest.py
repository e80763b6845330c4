"""A run's folder, a journal in it, and an independent reader of everything a run holds."""

import json
import os
import struct

import pyarrow.parquet as pq
import pytest

from trackio_like.format.names import RunFolder, ShardName
from trackio_like.format.ranges import covered_seqs, plan_reads
from trackio_like.format.records import Header
from trackio_like.journal.reader import JournalTail, list_segments
from trackio_like.journal.writer import JournalWriter

WRITER = "host-1-00000000"


def make_header(**changes):
    fields = {
        "project": "p",
        "run_id": "r",
        "writer": WRITER,
        "host": "host/x",
        "pid": os.getpid(),
        "process_started": 1.0,
        "attempt": 1,
        "rank": 0,
        "segment": 1,
        "first_seq": 1,
    }
    return Header(**{**fields, **changes})


@pytest.fixture
def folder(tmp_path):
    return RunFolder(root=tmp_path, project="p", run_id="r")


@pytest.fixture
def journal(folder):
    writer = JournalWriter(folder.journal, make_header())
    yield writer
    writer.close()


def shard_names(path):
    return [name for name in map(ShardName.parse, os.listdir(path)) if name] if path.exists() else []


def read_metrics(folder):
    """(writer, seq, step, key, value bits) of each metrics row: journals first, then what the shards add."""
    from_journal = []
    for name in list_segments(folder.journal):
        tail = JournalTail(folder.journal / str(name))
        while (chunk := tail.read()) is not None:
            for block in chunk.scalars:
                for seq, step, values in zip(block.seqs, block.steps, block.values, strict=True):
                    from_journal += [
                        (name.writer, seq, step, key, bits(value))
                        for key, value in zip(block.keys, values, strict=True)
                    ]
    path = folder.shards("metrics")
    names = shard_names(path)
    rows = []
    for read in plan_reads(names):
        for row in pq.read_table(path / str(read.shard), partitioning=None).to_pylist():
            if row["seq"] > read.after:
                rows.append((row["writer"], row["seq"], row["step"], row["key"], bits(row["value"])))
    covered = covered_seqs(names)
    return sorted(rows + [row for row in from_journal if row[1] > covered.get(row[0], 0)])


def bits(value):
    return struct.pack("<d", float(value))


def read_kind(folder, kind):
    path = folder.shards(kind)
    rows = [
        row
        for read in plan_reads(shard_names(path))
        for row in pq.read_table(path / str(read.shard), partitioning=None).to_pylist()
        if row["seq"] > read.after
    ]
    for row in rows:
        if "payload" in row:
            row["payload"] = json.loads(row["payload"])
    return sorted(rows, key=lambda row: row["seq"])
