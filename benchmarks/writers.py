"""Eight processes that log into one run, and eight that log into one project: is every row there once?"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import trackio_like as trackio
from benchmarks.places import fresh_root
from benchmarks.report import Line, run

NUM_WRITERS = 8
NUM_ROWS = 5_000
CHILD = """
import sys
import trackio_like as t
run_id, index, num_rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
t.init(project="bench", name=f"writer-{index}", **({"id": run_id, "resume": "allow"} if run_id else {}))
for i in range(num_rows):
    t.log({"value": index * num_rows + i})
t.finish()
"""


def measure() -> list[Line]:
    lines = []
    for what, run_id in (
        (f"{NUM_WRITERS} processes in one run", "shared"),
        (f"{NUM_WRITERS} processes in one project", ""),
    ):
        with fresh_root() as root:
            command = [sys.executable, "-c", CHILD, run_id]
            children = [subprocess.Popen([*command, str(i), str(NUM_ROWS)]) for i in range(NUM_WRITERS)]
            failed = sum(child.wait() != 0 for child in children)
            counts: Counter[float] = Counter()
            runs = trackio.Api(root=root).runs("bench")
            for each in runs:
                counts.update(each.history(keys=["value"]).column("value").to_pylist())
        missing = sum(float(i) not in counts for i in range(NUM_WRITERS * NUM_ROWS))
        note = f"{len(runs)} runs, {NUM_WRITERS * NUM_ROWS:,} rows, {failed} processes failed"
        lines += [
            Line(what=f"{what}: rows missing", measured=missing + failed, unit="", bar=0, note=note),
            Line(what="  rows twice", measured=sum(n - 1 for n in counts.values()), unit="", bar=0),
        ]
    return lines


if __name__ == "__main__":
    run(measure, __doc__ or "")
