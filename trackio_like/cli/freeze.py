"""`trackio-like freeze`: makes a copy of the dashboard that needs no server."""

from __future__ import annotations

import argparse
from pathlib import Path

from trackio_like.cli.spec import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="*", help="projects to copy (default: all)")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--to", type=Path, metavar="FOLDER", help="folder for the copy; any static server serves it")
    target.add_argument("--space", metavar="ID", help="static Space for the copy: namespace/name")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )
    source.add_argument("--bucket", metavar="ID", help="copy the projects of this bucket instead")
    source.add_argument("--dataset", metavar="ID", help="copy the projects of this dataset instead")
    parser.add_argument("--public", action="store_true", help="make a new Space public (default: private)")


def _run(options: argparse.Namespace) -> int:
    from trackio_like._freeze import freeze

    place = freeze(
        options.project or None,
        folder=options.to,
        space_id=options.space,
        root=options.root,
        bucket_id=options.bucket,
        dataset_id=options.dataset,
        private=not options.public,
    )
    print(f"The frozen dashboard is at {place}")
    if options.to is not None:
        print(f"To look at it: {_server_command(place)}")
    return 0


def _server_command(folder: str) -> str:
    return f'python -m http.server 8000 --bind 127.0.0.1 --directory "{folder}"  and open http://127.0.0.1:8000/'


COMMAND = Command(
    name="freeze",
    help="Make a copy of the dashboard that needs no server.",
    add_arguments=_add_arguments,
    run=_run,
)

__all__ = ["COMMAND"]
