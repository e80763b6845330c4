"""One measured figure, the bar it is held against, and the table of all of them."""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table."""

    what: str
    measured: float
    unit: str
    bar: float | None = None
    """What it is held against, same unit; None for a figure that is only told."""
    at_least: bool = False
    """Whether more is better; else less is."""
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the bar is met; true where there is none."""
        if self.bar is None:
            return True
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def cells(self) -> tuple[str, str, str, str, str]:
        """What, measured, bar, verdict, note."""
        bar = "" if self.bar is None else f"{'>=' if self.at_least else '<='} {number(self.bar)}"
        verdict = "" if self.bar is None else ("ok" if self.is_met else "MISSED")
        return self.what, f"{number(self.measured)} {self.unit}".strip(), bar, verdict, self.note


def number(value: float) -> str:
    """Three figures that count."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(lines: Iterable[Line]) -> str:
    """The lines as text, columns aligned."""
    rows = [("what", "measured", "bar", "", "note"), *(line.cells() for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def machine() -> str:
    """Where the figures are from: they mean little without it."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{load}, Python {platform.python_version()}"


def run(measure: Callable[[], Iterable[Line]], description: str) -> None:
    """The command line of one module: prints its table, exits with 1 where a bar is missed."""
    argparse.ArgumentParser(description=description).parse_args()
    lines = list(measure())
    print(machine(), table(lines), sep="\n")
    sys.exit(not all(line.is_met for line in lines))
