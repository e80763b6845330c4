"""Which cells of a grid are known, and the nested lines that they are measured on. Pure.

R rows (y), C columns (x). Lines are rows and columns; where they cross are the nodes, between them lie blocks: K row
intervals times L column intervals, each from one line to the next, both included. P cells as (row, column).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from trackio_like.landscape.axes import axis
from trackio_like.landscape.result import Bools, Floats

COARSE_LINES: Final = 11
"""Lines a side that are measured first."""
SMALL_AXIS: Final = 15
"""Up to so many lines all are measured: a coarser grid would save less than its probes cost."""
HUGE: Final = 1e12
"""A loss of so many times the median is as good as infinite: a spline to it would ring across the whole grid."""
LARGEST: Final = 1e150
"""So is one whose square is beyond double precision."""
KNOTS: Final = (0.0, 1.0)
"""Coordinates whose lines are measured first: the weights themselves, and the second checkpoint's."""

Ints = npt.NDArray[np.intp]
Cell = tuple[int, int]


class Line(NamedTuple):
    """A whole row or a whole column of the grid."""

    is_row: bool
    at: int


@dataclass(slots=True)
class Cells:
    """What is known of a grid so far; whoever measures stores values here as soon as they are known."""

    x_C: Floats
    """Coordinates of the columns, rising strictly."""
    y_R: Floats
    """Coordinates of the rows, rising strictly; one of a line."""
    z_RC: Floats
    """Losses; NaN where unmeasured, and where a loss is NaN."""
    is_measured_RC: Bools
    lines: list[Line] = field(default_factory=list)
    """In the order planned; the cells where they cross are measured, or are about to be."""

    @classmethod
    def empty(cls, x_C: Floats, y_R: Floats) -> Self:
        """A grid of which nothing is known."""
        shape = (len(y_R), len(x_C))
        return cls(x_C=x_C, y_R=y_R, z_RC=np.full(shape, np.nan), is_measured_RC=np.zeros(shape, dtype=np.bool_))

    def store(self, cell: Cell, loss: float) -> None:
        """Keeps one measured value, whatever it is."""
        self.z_RC[cell] = loss
        self.is_measured_RC[cell] = True

    def diverged_RC(self) -> Bools:
        """Which measured losses are not finite, or so huge that nothing can be interpolated to them."""
        size_RC = np.abs(np.where(self.is_measured_RC, self.z_RC, 0.0))
        known = size_RC[np.isfinite(size_RC) & (size_RC > 0)]
        limit = min(LARGEST, HUGE * float(np.median(np.minimum(known, LARGEST)))) if known.size else 0.0
        return ~(size_RC <= limit)

    def complete_lines(self) -> tuple[Ints, Ints]:
        """Rows and columns of which every crossing is measured, as many of the planned as an interruption left."""
        rows: list[int] = []
        cols: list[int] = []
        for is_row, index in self.lines:
            own, others = (rows, cols) if is_row else (cols, rows)
            crossings = self.is_measured_RC[index, others] if is_row else self.is_measured_RC[others, index]
            if crossings.all() and (others or not own):  # a second line that crosses nothing has not been measured
                own.append(index)
        return np.array(sorted(rows), dtype=np.intp), np.array(sorted(cols), dtype=np.intp)


def knot_indices(x_C: Floats) -> list[int]:
    """Where an axis has exactly 0 or 1."""
    return [int(index) for index in np.flatnonzero(np.isin(x_C, KNOTS))]


def coarse_indices(x_C: Floats) -> list[int]:
    """About 11 lines of an axis, with both ends and the knots; all of a short one. In a useful order to measure."""
    num = len(x_C)
    if num <= SMALL_AXIS:
        return nested_order(range(num))
    knots = knot_indices(x_C)
    spread = axis(COARSE_LINES, (0, num - 1), knots=knots)
    return nested_order(sorted({round(index) for index in spread}), first=knots)


def nested_order(indices: Sequence[int], *, first: Iterable[int] = ()) -> list[int]:
    """The ends, then what must come first, then the middle of each gap: any beginning covers the whole."""
    order = list(dict.fromkeys([indices[0], indices[-1], *first]))
    while left := set(indices).difference(order):
        known = sorted(order)
        for low, high in pairwise(known):
            between = sorted(index for index in left if low < index < high)
            order += between[len(between) // 2 : len(between) // 2 + 1]
    return order


def halves(lines_K: Ints, is_marked_K: Bools) -> list[int]:
    """New lines in the middle of marked intervals, as far as these have an inside.

    Args:
        lines_K: [K + 1] rising.
        is_marked_K: which of the K intervals between them.
    """
    low, high = lines_K[:-1], lines_K[1:]
    wanted = is_marked_K & (high - low > 1)
    return [int(index) for index in ((low + high) // 2)[wanted]]


def interleave(rows: Sequence[int], cols: Sequence[int]) -> list[Line]:
    """Rows and columns by turns, a row first, so that a beginning of the list spans a plane."""
    turns = range(max(len(rows), len(cols)))
    both = [
        (Line(True, rows[i]) if i < len(rows) else None, Line(False, cols[i]) if i < len(cols) else None) for i in turns
    ]
    return [line for pair in both for line in pair if line is not None]


def crossings(before: Sequence[Line], added: Sequence[Line]) -> list[Cell]:
    """The nodes that new lines make with those before them and with each other, line by line."""
    across = {is_row: [line.at for line in before if line.is_row == is_row] for is_row in (True, False)}
    cells: list[Cell] = []
    for is_row, index in added:
        cells += [(index, col) for col in across[False]] if is_row else [(row, index) for row in across[True]]
        across[is_row].append(index)
    return cells


def as_cells(is_wanted_RC: Bools) -> list[Cell]:
    """The cells that are True, row by row."""
    return [(int(row), int(col)) for row, col in np.argwhere(is_wanted_RC)]


def intervals(lines_K: Ints) -> tuple[Ints, Ints]:
    """The first and the last index of each interval between lines; one of a single line is that line itself."""
    return (lines_K, lines_K) if len(lines_K) == 1 else (lines_K[:-1], lines_K[1:])


def inside(lines_K: Ints, num: int) -> npt.NDArray[np.int64]:
    """[K, num] 1 where an index lies in an interval, its two lines included."""
    low_K, high_K = intervals(lines_K)
    index = np.arange(num)
    return ((index >= low_K[:, None]) & (index <= high_K[:, None])).astype(np.int64)


def within(lines_K: Ints, num: int) -> npt.NDArray[np.int64]:
    """[K, num] 1 where an index lies between an interval's two lines; on them where nothing is between."""
    low_K, high_K = intervals(lines_K)
    has_no_inside_K = high_K - low_K < 2
    low_K, high_K = low_K + 1 - has_no_inside_K, high_K - 1 + has_no_inside_K
    index = np.arange(num)
    return ((index >= low_K[:, None]) & (index <= high_K[:, None])).astype(np.int64)


__all__ = [
    "COARSE_LINES",
    "Cell",
    "Cells",
    "Ints",
    "Line",
    "as_cells",
    "coarse_indices",
    "crossings",
    "halves",
    "inside",
    "interleave",
    "intervals",
    "knot_indices",
    "nested_order",
    "within",
]
