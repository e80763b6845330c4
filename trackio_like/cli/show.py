"""`trackio-like show`: opens the dashboard."""

from __future__ import annotations

import argparse
from pathlib import Path

from trackio_like.cli.spec import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", help="project to open (default: the most recently active one)")
    parser.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=7860, help="port, or the next free one (default: %(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def _run(options: argparse.Namespace) -> int:
    from trackio_like._show import show

    show(
        options.project,
        root=options.root,
        host=options.host,
        port=options.port,
        open_browser=not options.no_browser,
        block=True,
    )
    return 0


COMMAND = Command(name="show", help="Open the dashboard.", add_arguments=_add_arguments, run=_run)

__all__ = ["COMMAND"]
