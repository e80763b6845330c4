"""`trackio-like sync`: puts what waits in journals into Parquet now."""

from __future__ import annotations

import argparse
from pathlib import Path

from trackio_like._settings import Settings
from trackio_like.cli.spec import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )


def _run(options: argparse.Namespace) -> int:
    from trackio_like.daemon.once import seal_root

    root = options.root or Settings.from_env().root
    if not root.is_dir():
        raise ValueError(f"There is nothing to write: no folder is at {root}.")
    report = seal_root(root.absolute())
    print(f"Wrote {report.num_calls:,} calls that were not in Parquet yet below {root}.")
    return 0


COMMAND = Command(
    name="sync", help="Write what was logged a moment ago into Parquet now.", add_arguments=_add_arguments, run=_run
)

__all__ = ["COMMAND"]
