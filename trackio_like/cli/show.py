"""`trackio-like show`: opens the dashboard."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from trackio_like._settings import Settings
from trackio_like.cli.spec import Command
from trackio_like.format.names import encode_name


def add_arguments(parser: argparse.ArgumentParser, *, host: str = "127.0.0.1") -> None:
    """Declares what `show` and `serve` take.

    Args:
        parser: the subcommand's.
        host: the address to listen on where none is given.
    """
    parser.add_argument(
        "what",
        nargs="?",
        help="project to open (default: the most recently active), or a folder that holds projects",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )
    source.add_argument("--bucket", metavar="ID", help="a bucket to show, read only")
    source.add_argument("--dataset", metavar="ID", help="a dataset to show, read only")
    source.add_argument("--space", metavar="ID", help="a Space whose bucket or dataset to show, read only")
    parser.add_argument("--host", default=host, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=7860, help="port, or the next free one (default: %(default)s)")
    parser.add_argument(
        "--read-token", help="asked of everybody who looks (default: TRACKIO_READ_TOKEN, else everybody may look)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def run(options: argparse.Namespace) -> int:
    """Shows it until Ctrl-C."""
    from trackio_like._show import show

    project, root = split(options.what, options.root or Settings.from_env().root)
    is_remote = options.bucket or options.dataset or options.space
    show(
        project,
        root=None if is_remote else root,
        bucket_id=options.bucket,
        dataset_id=options.dataset,
        space_id=options.space,
        host=options.host,
        port=options.port,
        read_token=options.read_token,
        open_browser=not options.no_browser,
        block=True,
    )
    return 0


def split(what: str | None, root: Path) -> tuple[str | None, Path]:
    """The project and the root that a word on the command line names.

    Args:
        what: a project's name, or a folder; a project of the root comes first.
        root: the root where the word names no other.
    """
    if what and os.path.isdir(os.path.expanduser(what)) and not _is_project(what, root):
        return None, Path(what).expanduser()
    return what, root


def _is_project(name: str, root: Path) -> bool:
    try:
        return (root / encode_name(name)).is_dir()
    except ValueError:
        return False


COMMAND = Command(name="show", help="Open the dashboard.", add_arguments=add_arguments, run=run)

__all__ = ["COMMAND", "add_arguments", "run", "split"]
