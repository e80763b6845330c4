"""What the command line has to know of a subcommand."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand."""

    name: str
    """What is typed."""
    help: str
    """One sentence, for the list of commands and the head of its own help."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    """Declares its arguments."""
    run: Callable[[argparse.Namespace], int]
    """Does it; returns the exit status. What it raises is printed as one line."""


__all__ = ["Command"]
