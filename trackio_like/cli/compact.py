"""`trackio-like compact`: merges the small files of runs that are over."""

from __future__ import annotations

import argparse
from pathlib import Path

from trackio_like._settings import Settings
from trackio_like.cli.spec import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )
    place.add_argument("--bucket", metavar="ID", help="a bucket, all of whose writers are gone")
    place.add_argument("--dataset", metavar="ID", help="a dataset, all of whose writers are gone")
    parser.add_argument("--force", action="store_true", help="also where something was logged within the last hour")


def _run(options: argparse.Namespace) -> int:
    from trackio_like._compact import compact_hub, compact_root

    if options.bucket is None and options.dataset is None:
        root = (options.root or Settings.from_env().root).expanduser().absolute()
        done = compact_root(root)
        print(f"{done.num_runs:,} runs looked at, files merged in {done.num_folders:,} folders below {root}.")
        num_covered = done.num_covered
    else:
        found = compact_hub(bucket_id=options.bucket, dataset_id=options.dataset, force=options.force)
        print(f"{found.num_merged:,} files merged into {found.num_made:,}; {found.num_deleted:,} deleted.")
        num_covered = found.num_covered
    if num_covered:
        print(f"{num_covered:,} merged files stay for some minutes, for readers; call this again to delete them.")
    return 0


COMMAND = Command(
    name="compact", help="Merge the small files of runs that are over.", add_arguments=_add_arguments, run=_run
)

__all__ = ["COMMAND"]
