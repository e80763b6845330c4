"""Where to measure beside the lines, to find out how wrong the splines between them are. Pure.

K row and L column intervals between the lines; cells are (row, column).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from trackio_like.landscape.nested import Cell, Cells, Ints, as_cells, intervals, knot_indices, within
from trackio_like.landscape.result import Floats
from trackio_like.landscape.surface import View

NUM_SPREAD: Final = 20
"""At least so many probes are spread so that each interval of either axis has its share."""
NUM_DOUBTFUL: Final = 8
"""At least so many are where half of the lines would have been most wrong."""
NODES_PER_DOUBT: Final = 60
"""On finer grids there is one of those for so many nodes."""
NUM_AROUND: Final = 8
"""Around the worst one."""


def probes(cells: Cells, view: View, rng: np.random.Generator) -> list[Cell]:
    """Cells to judge the splines by: spread, at the corners, around the weights, and where there is doubt."""
    rows_K, cols_L = _middles(view.rows_I, rng), _middles(view.cols_J, rng)
    is_open_RC = view.is_smooth_RC & ~cells.is_measured_RC
    wanted = _spread(view, rows_K, cols_L, rng)
    wanted += _corners(rows_K, cols_L, view.z_RC.shape) + _around_knots(cells, rows_K, cols_L)
    wanted = [cell for cell in dict.fromkeys(wanted) if is_open_RC[cell]]
    doubt_RC = np.where(is_open_RC, view.doubt_rows_RC + view.doubt_cols_RC, 0.0)
    num_doubtful = max(NUM_DOUBTFUL, len(view.rows_I) * len(view.cols_J) // NODES_PER_DOUBT)
    return wanted + _most_doubtful(doubt_RC, [*wanted, *as_cells(view.is_probe_RC)], num=num_doubtful)


def around_worst(cells: Cells, view: View) -> list[Cell]:
    """Probes in the blocks about the worst one so far, which has the largest error of all only by chance."""
    if not view.is_probe_RC.any():
        return []
    worst_row, worst_col = np.unravel_index(int(np.nanargmax(view.miss_RC)), view.z_RC.shape)
    rng = np.random.default_rng(0)
    rows = sorted(_middles(view.rows_I, rng), key=lambda row: abs(row - int(worst_row)))[:3]
    cols = sorted(_middles(view.cols_J, rng), key=lambda col: abs(col - int(worst_col)))[:3]
    is_open_RC = view.is_smooth_RC & ~cells.is_measured_RC
    return [(row, col) for row in rows for col in cols if is_open_RC[row, col]][:NUM_AROUND]


def _middles(lines_K: Ints, rng: np.random.Generator) -> list[int]:
    """An index in the middle of each interval, where splines are worst; by chance where two are."""
    low_K, high_K = intervals(lines_K)
    return [int(index) for index in (low_K + high_K + rng.integers(0, 2, len(low_K))) // 2]


def _anywhere(lines_K: Ints, rng: np.random.Generator) -> list[int]:
    """An index inside each interval: a kink need not be in the middle."""
    low_K, high_K = intervals(lines_K)
    gap_K = high_K - low_K
    return [int(index) for index in low_K + (gap_K > 1) + rng.integers(0, np.maximum(gap_K - 1, 1))]


def _spread(view: View, rows_K: Sequence[int], cols_L: Sequence[int], rng: np.random.Generator) -> list[Cell]:
    """Latin squares of blocks: each interval of both axes is met about equally often, if its block has no probe yet.

    The first square is probed in the middle of its blocks, further ones anywhere inside.
    """
    num_rows, num_cols = len(rows_K), len(cols_L)
    within_KR, within_LC = within(view.rows_I, view.z_RC.shape[0]), within(view.cols_J, view.z_RC.shape[1])
    num_probes_KL = within_KR @ view.is_probe_RC.astype(np.int64) @ within_LC.T
    longer = max(num_rows, num_cols)
    wanted: list[Cell] = []
    for _ in range(-(-NUM_SPREAD // longer)):
        order_K, order_L = rng.permutation(num_rows), rng.permutation(num_cols)
        blocks = [(int(order_K[i % num_rows]), int(order_L[i % num_cols])) for i in range(longer)]
        wanted += [(rows_K[block[0]], cols_L[block[1]]) for block in blocks if not num_probes_KL[block]]
        rows_K, cols_L = _anywhere(view.rows_I, rng), _anywhere(view.cols_J, rng)
    return wanted


def _corners(rows_K: Sequence[int], cols_L: Sequence[int], shape: tuple[int, ...]) -> list[Cell]:
    """In the middle of each corner's block and of its two outer edges, where a spline is held from one side only."""
    ends = ((rows_K[0], 0), (rows_K[-1], shape[0] - 1)), ((cols_L[0], 0), (cols_L[-1], shape[1] - 1))
    pairs = [(row, col) for row in ends[0] for col in ends[1]]
    return [cell for (row, side), (col, end) in pairs for cell in ((row, col), (row, end), (side, col))]


def _around_knots(cells: Cells, rows_K: Sequence[int], cols_L: Sequence[int]) -> list[Cell]:
    """The nearest middles around the weights: a minimum narrower than the lines are apart shows there or nowhere."""
    wanted: list[Cell] = []
    for row in knot_indices(cells.y_R)[:1]:
        for col in knot_indices(cells.x_C):
            rows, cols = [row, *_beside(rows_K, row)], [col, *_beside(cols_L, col)]
            wanted += [(near_row, near_col) for near_row in rows for near_col in cols]
    return wanted


def _beside(middles_K: Sequence[int], index: int) -> list[int]:
    below, above = [m for m in middles_K if m < index], [m for m in middles_K if m > index]
    return below[-1:] + above[:1]


def _most_doubtful(doubt_RC: Floats, known: Sequence[Cell], *, num: int) -> list[Cell]:
    """The cells of largest doubt, none beside another or beside a known probe, which would tell the same."""
    doubt_RC = doubt_RC.copy()
    for row, col in known:
        doubt_RC[max(0, row - 1) : row + 2, max(0, col - 1) : col + 2] = 0
    found: list[Cell] = []
    while len(found) < num and doubt_RC.any():
        row, col = (int(index) for index in np.unravel_index(int(doubt_RC.argmax()), doubt_RC.shape))
        found.append((row, col))
        doubt_RC[max(0, row - 2) : row + 3, max(0, col - 2) : col + 3] = 0
    return found


__all__ = ["around_worst", "probes"]
