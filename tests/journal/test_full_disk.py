"""A disk that refuses writes: a file size limit of the process is refused like a full disk, anywhere in a call."""

import subprocess
import sys
import textwrap

import pytest

from trackio_like.journal.reader import JournalTail, list_segments

SCRIPT = """
import os, resource, signal, sys
from pathlib import Path
from trackio_like.format.records import Header
from trackio_like.journal.writer import JournalWriter

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
header = Header(project="p", run_id="r", writer="host-1-00000000", host="h", pid=1, process_started=1.0,
                attempt=1, rank=0, segment=1, first_seq=1)
journal = JournalWriter(Path(sys.argv[1]), header)
limit = int(sys.argv[2])
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
for step in range(200):
    if step == 100:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    journal.metrics(step, ("a", f"late{step // 150}"), [float(step), 1.0])
told = journal.fault is not None
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
if sys.argv[3] == "heals":
    journal.metrics(200, ("a",), [200.0])
    assert journal.fault is None
print(told)
journal.close()
"""


@pytest.mark.parametrize("limit", [4100, 4111, 4123, 4130, 4500])
@pytest.mark.parametrize("end", ["heals", "closes"])
def test_calls_wait_in_memory_and_are_stored_in_order_when_the_disk_heals(tmp_path, limit, end):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path), str(limit), end],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"
    steps, damaged = [], 0
    for name in list_segments(tmp_path):
        tail = JournalTail(tmp_path / str(name))
        while (chunk := tail.read()) is not None:
            damaged += chunk.num_damaged
            steps += sorted(step for block in chunk.scalars for step in block.steps)
    assert steps == list(range(201 if end == "heals" else 200))
    assert damaged == 0
