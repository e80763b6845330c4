"""The command `trackio-like`. A new subcommand is a file here and its line in `COMMANDS`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from trackio_like._version import __version__
from trackio_like.cli import compact, deploy, freeze, serve, show, status, sync
from trackio_like.cli.spec import Command
from trackio_like.errors import TrackioLikeError

COMMANDS: Final[tuple[Command, ...]] = (
    show.COMMAND,
    sync.COMMAND,
    status.COMMAND,
    deploy.COMMAND,
    freeze.COMMAND,
    serve.COMMAND,
    compact.COMMAND,
)
"""In the order in which the help lists them."""


def build_parser() -> argparse.ArgumentParser:
    """The command line, with every subcommand."""
    parser = argparse.ArgumentParser(
        prog="trackio-like", description="An experiment tracker for people who train models."
    )
    parser.add_argument("--version", action="version", version=f"trackio-like {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.help)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status.

    Args:
        arguments: the command line, without the program; this process's where it is None.
    """
    options = build_parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except (TrackioLikeError, ModuleNotFoundError, OSError, RuntimeError, ValueError) as error:
        print(f"trackio-like: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


__all__ = ["COMMANDS", "Command", "build_parser", "main"]
