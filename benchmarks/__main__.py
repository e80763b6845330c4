"""`python -m benchmarks [name ...]`: runs them one after another and prints one table."""

from __future__ import annotations

import argparse
import importlib
import sys
import time

from benchmarks.report import Line, machine, table

NAMES = (
    "log_cost",
    "training",
    "startup",
    "throughput",
    "size",
    "kills",
    "writers",
    "queries",
    "browser",
    "remote",
    "mirror",
    "landscape",
    "landscape_ranks",
    "model_graph",
    "model_page",
)


def main() -> int:
    """Returns 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which to run, of {', '.join(NAMES)}; all without")
    names = parser.parse_args().names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    lines: list[Line] = []
    for name in names:
        started = time.monotonic()
        found = list(importlib.import_module(f"benchmarks.{name}").measure())
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        lines += found
    print(machine(), table(lines), sep="\n")
    missed = [line.what for line in lines if not line.is_met]
    print(f"\n{len(lines)} figures, {len(missed)} bars missed" + (f": {'; '.join(missed)}" if missed else ""))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
