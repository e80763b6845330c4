"""The surface through what is measured: splines between complete lines, and by how much they are wrong. Pure.

R rows, C columns of the grid; I rows and J columns that are complete lines, K and L the intervals between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from trackio_like.landscape.nested import Cells, Ints, inside, intervals
from trackio_like.landscape.result import Bools, Floats
from trackio_like.landscape.scale import BEARS_HALVING, Scale, choose_scale, every_other, extent_of
from trackio_like.landscape.spline import interpolate_grid

SAFETY: Final = 1.5
"""The largest error of all cells over the largest of the probes: a few dozen probes miss the worst cell."""
ENOUGH_PROBES: Final = 24
"""With fewer probes, where there is room for them, the estimate is what half of the lines would have got wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How good a surface is."""

    error: float | None
    """The largest error of an interpolated cell over the range of the finite losses: 0 where all is measured, None
    where too little is measured to know."""
    num_measured: int
    num_probes: int
    """Cells that were measured but not used by the splines, from which the error is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A whole grid, as far as it can be known."""

    z_RC: Floats
    """Measured values to the bit, interpolated ones between them; NaN where unknown."""
    is_known_RC: Bools
    """Measured or interpolated."""
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The splines through the complete lines, beside what else is measured."""

    rows_I: Ints
    cols_J: Ints
    z_RC: Floats
    """What the splines say, everywhere between finite nodes."""
    is_smooth_RC: Bools
    """Within the lines and in no block that touches a diverged loss: here the splines may be believed."""
    miss_RC: Floats
    """By how much the splines are wrong at the probes; NaN at all other cells."""
    doubt_rows_RC: Floats
    """By how much the splines along y would differ if every other row were missing; 0 on a row that is a line."""
    doubt_cols_RC: Floats
    has_enough_probes: bool
    risk_RC: Floats
    """How wrong a cell may be: at a probe its error with some safety, elsewhere its doubt as those of probes told."""
    extent: float
    """The range of the losses that have not diverged."""

    @property
    def is_probe_RC(self) -> Bools:
        """Measured, believable and not used by the splines."""
        return np.isfinite(self.miss_RC)

    @property
    def error(self) -> float:
        """The largest error to be expected, as a fraction of the range."""
        risk = float(self.risk_RC.max())
        return 0.0 if risk == 0 else risk / self.extent


def look(cells: Cells) -> View | None:
    """What the complete lines say about the whole; None where there are too few of them to span anything."""
    rows_I, cols_J = cells.complete_lines()
    shape = cells.z_RC.shape
    if len(rows_I) < min(2, shape[0]) or len(cols_J) < 2:
        return None
    has_diverged_RC = cells.diverged_RC()
    z_IJ = np.where(has_diverged_RC, np.nan, cells.z_RC)[np.ix_(rows_I, cols_J)]
    half_I = every_other(len(rows_I), of=shape[0])
    half_J = every_other(len(cols_J), of=shape[1])
    scale = choose_scale(cells.y_R[rows_I], cells.x_C[cols_J], z_IJ, half_I=half_I, half_J=half_J)
    z_RC = _spline(cells, rows_I, cols_J, z_IJ, scale=scale)
    is_smooth_RC = _is_spanned(rows_I, cols_J, shape) & ~in_blocks_of(has_diverged_RC, rows_I, cols_J)
    is_node_RC = np.zeros(shape, dtype=np.bool_)
    is_node_RC[np.ix_(rows_I, cols_J)] = True
    fine_RC = cells.is_measured_RC & ~has_diverged_RC
    is_probe_RC = fine_RC & is_smooth_RC & ~is_node_RC
    has_enough = int(is_probe_RC.sum()) >= min(ENOUGH_PROBES, _num_open_blocks(rows_I, cols_J))
    miss_RC = np.where(is_probe_RC, np.abs(z_RC - cells.z_RC), np.nan)
    doubt_rows_RC = _gap(z_RC, _spline(cells, rows_I[half_I], cols_J, z_IJ[half_I], scale=scale), is_smooth_RC)
    doubt_cols_RC = _gap(z_RC, _spline(cells, rows_I, cols_J[half_J], z_IJ[:, half_J], scale=scale), is_smooth_RC)
    doubt_rows_RC[rows_I], doubt_cols_RC[:, cols_J] = 0, 0
    return View(
        rows_I=rows_I,
        cols_J=cols_J,
        z_RC=z_RC,
        is_smooth_RC=is_smooth_RC,
        miss_RC=miss_RC,
        doubt_rows_RC=doubt_rows_RC,
        doubt_cols_RC=doubt_cols_RC,
        has_enough_probes=has_enough,
        risk_RC=_risk(
            miss_RC,
            doubt_rows_RC + doubt_cols_RC,
            is_open_RC=is_smooth_RC & ~cells.is_measured_RC,
            has_enough=has_enough,
        ),
        extent=extent_of(cells.z_RC[fine_RC]),
    )


def _risk(miss_RC: Floats, doubt_RC: Floats, *, is_open_RC: Bools, has_enough: bool) -> Floats:
    is_probe_RC = ~np.isnan(miss_RC)
    miss, doubt = miss_RC[is_probe_RC], doubt_RC[is_probe_RC]
    share = 1.0  # halving the lines always costs more than it tells: a bound while there are few probes
    if has_enough and (size := float(np.linalg.norm(doubt))) > 0:
        share = min(1.0, float(np.linalg.norm(miss)) / size)
    return np.where(is_probe_RC, SAFETY * miss_RC, np.where(is_open_RC, share * doubt_RC, 0.0))


def fill(cells: Cells) -> Surface:
    """The surface from whatever is measured, also after an interruption.

    Cells outside the complete lines, and those beside a diverged loss, stay unknown unless they are measured.
    """
    view = look(cells)
    z_RC, is_known_RC = np.full(cells.z_RC.shape, np.nan), cells.is_measured_RC.copy()
    if view is not None:
        is_known_RC |= view.is_smooth_RC
        z_RC = np.where(view.is_smooth_RC, view.z_RC, np.nan)
    z_RC = np.where(cells.is_measured_RC, cells.z_RC, z_RC)
    num_measured = int(cells.is_measured_RC.sum())
    num_probes = 0 if view is None else int(view.is_probe_RC.sum())
    error: float | None = None
    if num_measured == cells.z_RC.size:
        error, num_probes = 0.0, 0
    elif view is not None and (view.has_enough_probes or _can_be_halved(view)):
        error = view.error
    estimate = Estimate(error=error, num_measured=num_measured, num_probes=num_probes)
    return Surface(z_RC=z_RC, is_known_RC=is_known_RC, estimate=estimate)


def _num_open_blocks(rows_I: Ints, cols_J: Ints) -> int:
    """Blocks that have cells other than their corners."""
    (low_K, high_K), (low_L, high_L) = intervals(rows_I), intervals(cols_J)
    return len(low_K) * len(low_L) - int((high_K - low_K < 2).sum() * (high_L - low_L < 2).sum())


def _can_be_halved(view: View) -> bool:
    """Whether doubt means something along both axes."""
    lines = zip((view.rows_I, view.cols_J), view.z_RC.shape, strict=True)
    return all(len(lines_K) >= min(BEARS_HALVING, num) for lines_K, num in lines)


def in_blocks_of(is_bad_RC: Bools, rows_I: Ints, cols_J: Ints) -> Bools:
    """All cells of the blocks, borders included, that hold a bad cell."""
    inside_KR, inside_LC = inside(rows_I, is_bad_RC.shape[0]), inside(cols_J, is_bad_RC.shape[1])
    is_bad_KL = inside_KR @ is_bad_RC.astype(np.int64) @ inside_LC.T > 0
    return np.asarray(inside_KR.T @ is_bad_KL.astype(np.int64) @ inside_LC > 0)


def _is_spanned(rows_I: Ints, cols_J: Ints, shape: tuple[int, ...]) -> Bools:
    is_spanned_RC = np.zeros(shape, dtype=np.bool_)
    is_spanned_RC[rows_I[0] : rows_I[-1] + 1, cols_J[0] : cols_J[-1] + 1] = True
    return is_spanned_RC


def _spline(cells: Cells, rows_I: Ints, cols_J: Ints, z_IJ: Floats, *, scale: Scale) -> Floats:
    y_I, x_J = cells.y_R[rows_I], cells.x_C[cols_J]
    z_RC = scale.back(interpolate_grid(y_I, x_J, scale.forth(z_IJ), y_R=cells.y_R, x_C=cells.x_C))
    low_RC, high_RC = _bounds(z_IJ, rows_I, cols_J, cells.z_RC.shape)
    with np.errstate(invalid="ignore"):
        extent_RC = high_RC - low_RC
        # No cubic on even nodes leaves the four around an interval by more than their range, along both axes.
        z_RC = np.clip(z_RC, low_RC - extent_RC, high_RC + extent_RC)
        positive = z_IJ[np.isfinite(z_IJ)]
        if positive.size and positive.min() > 0:  # a loss that is positive everywhere has a logarithm everywhere
            z_RC = np.maximum(z_RC, 0.1 * positive.min())
    return z_RC


def _bounds(z_IJ: Floats, rows_I: Ints, cols_J: Ints, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """The lowest and the highest of the 4 x 4 nodes around each cell's block."""
    low_KL = _windows(_windows(z_IJ, np.fmin).T, np.fmin).T
    high_KL = _windows(_windows(z_IJ, np.fmax).T, np.fmax).T
    block_R, block_C = _interval_of(rows_I, shape[0]), _interval_of(cols_J, shape[1])
    return low_KL[np.ix_(block_R, block_C)], high_KL[np.ix_(block_R, block_C)]


def _windows(z_IJ: Floats, pick: np.ufunc) -> Floats:
    """[K, J] over the 4 rows around each interval; the first and the last have theirs to one side."""
    num = len(z_IJ)
    starts = [max(0, min(k - 1, num - 4)) for k in range(max(1, num - 1))]
    return np.array([pick.reduce(z_IJ[start : start + 4], axis=0) for start in starts])


def _interval_of(lines_K: Ints, num: int) -> Ints:
    num_intervals = len(intervals(lines_K)[0])
    return np.clip(np.searchsorted(lines_K, np.arange(num), side="right") - 1, 0, num_intervals - 1)


def _gap(fine_RC: Floats, coarse_RC: Floats, is_smooth_RC: Bools) -> Floats:
    """The difference of two surfaces where both are, else the largest one found: what cannot be told is doubtful."""
    gap_RC = np.where(is_smooth_RC, np.abs(fine_RC - coarse_RC), 0.0)
    unknown_RC = np.isnan(gap_RC)
    gap_RC[unknown_RC] = gap_RC[~unknown_RC].max(initial=0.0)
    return gap_RC


__all__ = ["Estimate", "Surface", "View", "fill", "in_blocks_of", "look"]
