"""`trackio-like serve`: the dashboard for other machines, which may send rows to it."""

from __future__ import annotations

import argparse

from trackio_like.cli.show import add_arguments, run
from trackio_like.cli.spec import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser, host="0.0.0.0")  # noqa: S104 - what the command is for; writing needs the token
    parser.set_defaults(no_browser=True)


COMMAND = Command(
    name="serve",
    help="Serve the dashboard to others, and take their rows.",
    add_arguments=_add_arguments,
    run=run,
)

__all__ = ["COMMAND"]
