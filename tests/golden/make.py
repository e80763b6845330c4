"""Writes the golden root of the current versions, once per version: `python tests/golden/make.py`."""

import math
from pathlib import Path

from trackio_like.format.names import RunFolder
from trackio_like.format.records import Header
from trackio_like.format.schemas import SCHEMA_VERSION
from trackio_like.journal.frames import FORMAT
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.seal import WriterSealer

HOST = "golden/0000000000"


def header(run_id: str, writer: str) -> Header:
    return Header(
        project="golden ☂",
        run_id=run_id,
        writer=writer,
        host=HOST,
        pid=1,
        process_started=1.0,
        attempt=1,
        rank=0,
        segment=1,
        first_seq=1,
    )


def write(folder: RunFolder, writer: str) -> None:
    journal = JournalWriter(folder.journal, header(folder.run_id, writer))
    journal.event("init", {"name": "first", "group": "g", "tags": ["t"], "config": {"lr": 0.1, "seed": 2**63 - 1}})
    journal.metrics(0, ("loss", "tokens"), [1.5, 2**53 + 1])
    journal.metrics(5, ("loss", "tokens"), [math.nan, 7])
    journal.mixed(3, ("loss",), [-math.inf], [("note", "text", "hello", None)])
    journal.system(("gpu/0/temp",), [60.5])
    journal.event("finish", {"state": "finished"})
    journal.close()


def main() -> None:
    root = Path(__file__).parent
    sealed = RunFolder(root=root / f"shards-v{SCHEMA_VERSION}", project="golden ☂", run_id="run")
    write(sealed, "golden-1-00000000")
    sealer = WriterSealer(sealed, "golden-1-00000000")
    sealer.seal()
    sealer.drop_journal()
    write(RunFolder(root=root / f"journal-v{FORMAT}", project="golden ☂", run_id="run"), "golden-1-00000000")


if __name__ == "__main__":
    main()
