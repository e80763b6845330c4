"""What the import and `init()` cost, each in fresh processes."""

from __future__ import annotations

import statistics

from benchmarks.places import daemons, end, fresh_root, python
from benchmarks.report import Line, run

NUM_TRIES = 7
IMPORT = "import time; a = time.perf_counter(); import trackio_like; print(time.perf_counter() - a)"
INIT = (
    "import time, trackio_like as t; t.init; a = time.perf_counter(); t.init(project='bench'); "
    "print(time.perf_counter() - a); t.finish()"
)
HEAVY = (
    "import sys, trackio_like as t; t.init(project='bench'); t.log({'a': 1.0});"
    "heavy = ('gradio', 'torch', 'pandas', 'pyarrow', 'duckdb', 'huggingface_hub', 'numpy');"
    "print(sum(m in sys.modules for m in heavy)); t.finish()"
)


def measure() -> list[Line]:
    with fresh_root() as root:
        imports = [float(python(IMPORT)) for _ in range(NUM_TRIES)]
        heavy = int(python(HEAVY).splitlines()[0])
        cold, warm = [], []
        for _ in range(NUM_TRIES):
            end(daemons(root))
            cold.append(float(python(INIT).splitlines()[0]))
            warm.append(float(python(INIT).splitlines()[0]))
    return [
        Line(what="import trackio_like", measured=statistics.median(imports) * 1000, unit="ms", bar=150),
        Line(what="  heavy packages it brings", measured=heavy, unit="", bar=0, note="after init() and log() too"),
        Line(what="init() that starts the daemon", measured=statistics.median(cold) * 1000, unit="ms", bar=50),
        Line(what="init() beside a running daemon", measured=statistics.median(warm) * 1000, unit="ms", bar=50),
    ]


if __name__ == "__main__":
    run(measure, __doc__ or "")
