"""Measures as few cells as the tolerance allows: nested lines, probes between them, halved where the splines fail.

K row and L column intervals between the lines; P cells as (row, column).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import numpy as np

from trackio_like.landscape.nested import (
    Cell,
    Cells,
    as_cells,
    coarse_indices,
    crossings,
    halves,
    interleave,
    nested_order,
    within,
)
from trackio_like.landscape.probes import around_worst, probes
from trackio_like.landscape.result import Bools
from trackio_like.landscape.surface import Estimate, View, fill, in_blocks_of, look

MOST: Final = 0.5
"""Where more than this share of the cells would be measured for the lines, or is for what diverges, all are."""


class Measurer(Protocol):
    """Whoever knows how to measure."""

    def __call__(self, cells_P: Sequence[Cell], /) -> None:
        """Stores the loss of each cell (`Cells.store`) as soon as it is known; what is raised in between passes."""


def refine(
    cells: Cells,
    measure: Measurer,
    *,
    tolerance: float,
    exact: bool,
    seed: int,
    on_plan: Callable[[int], None],
) -> Estimate:
    """Measures until the estimated error is within the tolerance, or every cell is measured.

    Args:
        cells: nothing measured, or what an interrupted call left.
        measure: called with cells not yet measured, the most telling first.
        tolerance: largest error of an interpolated cell as a fraction of the range of the losses.
        exact: measure every cell, coarse lines first, so that an interruption leaves a whole picture.
        seed: of the choice of probes.
        on_plan: told how many cells are measured or planned in all, each time before more are measured.

    Raises:
        ValueError: the tolerance is no fraction.
        RuntimeError: the measurer left cells unmeasured.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance={tolerance!r} is no fraction of the range; give a number such as 0.01.")
    work = _Work(cells, measure, on_plan, is_exact=exact)
    rng = np.random.default_rng(seed)
    work.add_lines(coarse_indices(cells.y_R), coarse_indices(cells.x_C))
    while not cells.is_measured_RC.all():
        if exact:
            work.halve_all()
            continue
        view = work.probed(rng, tolerance)
        if view.error <= tolerance:
            break
        work.halve(view, *to_blame(view, tolerance))
    return fill(cells).estimate


class _Work:
    """Measures through the measurer, each cell once."""

    def __init__(self, cells: Cells, measure: Measurer, on_plan: Callable[[int], None], *, is_exact: bool) -> None:
        self.cells = cells
        self._measure = measure
        self._on_plan = on_plan
        self._is_exact = is_exact

    def measure(self, wanted: Iterable[Cell]) -> None:
        is_measured_RC = self.cells.is_measured_RC
        cells_P = [cell for cell in dict.fromkeys(wanted) if not is_measured_RC[cell]]
        if not cells_P:
            return
        self._on_plan(is_measured_RC.size if self._is_exact else int(is_measured_RC.sum()) + len(cells_P))
        self._measure(cells_P)
        num_left = sum(not is_measured_RC[cell] for cell in cells_P)
        if num_left:
            raise RuntimeError(
                f"Of {len(cells_P)} cells to measure, {num_left} have no value though nothing was raised. The others "
                "are kept; this is a fault of the measuring function."
            )

    def add_lines(self, rows: Sequence[int], cols: Sequence[int]) -> None:
        """Measures where new lines cross the others; and what an interruption left of those planned before."""
        before = list(self.cells.lines)
        added = [line for line in interleave(rows, cols) if line not in set(before)]
        self.cells.lines += added
        self.measure(crossings([], before) + crossings(before, added))

    def halve_all(self) -> None:
        """Puts a line into every interval."""
        rows, cols = self.cells.complete_lines()
        self.add_lines(
            halves(rows, np.ones(len(rows) - 1, dtype=np.bool_)), halves(cols, np.ones(len(cols) - 1, dtype=np.bool_))
        )

    def halve(self, view: View, is_marked_K: Bools, is_marked_L: Bools) -> None:
        """Puts lines into the marked intervals, into all that are left where little would be saved."""
        rows, cols = halves(view.rows_I, is_marked_K), halves(view.cols_J, is_marked_L)
        assert rows or cols, "a cell that is not on lines of both axes has an interval to halve"
        num_rows, num_cols = view.z_RC.shape
        if (len(view.rows_I) + len(rows)) * (len(view.cols_J) + len(cols)) > MOST * num_rows * num_cols:
            rows, cols = nested_order(range(num_rows)), nested_order(range(num_cols))
        self.add_lines(rows, cols)

    def probed(self, rng: np.random.Generator, tolerance: float) -> View:
        """The splines with enough probes to judge them, and a closer look where the first is content."""
        self.measure(probes(self.cells, self._view(), rng))
        view = self._view()
        if view.error <= tolerance:
            self.measure(around_worst(self.cells, view))
            view = self._view()
        return view

    def _view(self) -> View:
        """What the lines say, once everything beside a diverged loss is measured, as far as the divergence reaches."""
        rows, cols = self.cells.complete_lines()
        while (is_beside_RC := in_blocks_of(self.cells.diverged_RC(), rows, cols) & ~self.cells.is_measured_RC).any():
            self.measure(as_cells(is_beside_RC))
            if self.cells.is_measured_RC.mean() > MOST:
                self.measure(as_cells(~self.cells.is_measured_RC))
        view = look(self.cells)
        assert view is not None, "the ends of both axes are lines"
        return view


def to_blame(view: View, tolerance: float) -> tuple[Bools, Bools]:
    """The row and the column intervals in which cells may be wrong by more than the tolerance.

    A cell's error is shared out to the axes as its doubt is: a loss that is rough along x alone needs no more rows.

    Returns:
        [K] and [L]; at least one True, of an interval that has room for a line, where the view's error is above the
        tolerance.
    """
    shape = view.z_RC.shape
    risk_RC = view.risk_RC / view.extent
    is_bad_RC = risk_RC > tolerance
    doubt_RC = view.doubt_rows_RC + view.doubt_cols_RC
    share_RC = np.divide(view.doubt_rows_RC, doubt_RC, out=np.full(shape, 0.5), where=doubt_RC > 0)
    by_rows_RC = is_bad_RC & ((risk_RC * share_RC > tolerance / 2) | (share_RC >= 0.5))
    by_cols_RC = is_bad_RC & ((risk_RC * (1 - share_RC) > tolerance / 2) | (share_RC <= 0.5))
    is_marked_K = within(view.rows_I, shape[0]) @ by_rows_RC.any(axis=1).astype(np.int64) > 0
    is_marked_L = within(view.cols_J, shape[1]) @ by_cols_RC.any(axis=0).astype(np.int64) > 0
    return is_marked_K, is_marked_L


__all__ = ["Measurer", "refine", "to_blame"]
