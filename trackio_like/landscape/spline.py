"""Cubic splines through values on a grid, as matrices, and through values with holes. Pure numpy.

K knots, N places between them, M columns of values; an index set of I rows and J columns of knots on a grid of R x C.
The spline is not-a-knot (de Boor, A Practical Guide to Splines, chapter IV): it reproduces cubics up to the ends, where
a natural spline would force the curvature of a loss to zero.
"""

from __future__ import annotations

import numpy as np

from trackio_like.landscape.result import Bools, Floats


def spline_matrix(x_K: Floats, x_N: Floats) -> Floats:
    """What to multiply values at the knots with, to get the spline's values elsewhere.

    Args:
        x_K: knots, rising strictly, at least 1. Through 4 or more goes a cubic spline, through fewer one polynomial.
        x_N: places from the first to the last knot; at a knot the row is that knot's unit vector exactly.

    Returns:
        [N, K]
    """
    num = len(x_K)
    if num == 1:
        return np.ones((len(x_N), 1))
    left_N = np.clip(np.searchsorted(x_K, x_N, side="right") - 1, 0, num - 2)
    h_N = np.diff(x_K)[left_N]
    a_N, b_N = (x_K[left_N + 1] - x_N) / h_N, (x_N - x_K[left_N]) / h_N
    knot_KK, curve_KK = np.eye(num), _curvature_matrix(x_K)
    bend_N, bend_right_N = (a_N**3 - a_N) * h_N**2 / 6, (b_N**3 - b_N) * h_N**2 / 6
    straight_NK = a_N[:, None] * knot_KK[left_N] + b_N[:, None] * knot_KK[left_N + 1]
    return straight_NK + bend_N[:, None] * curve_KK[left_N] + bend_right_N[:, None] * curve_KK[left_N + 1]


def _curvature_matrix(x_K: Floats) -> Floats:
    """The second derivatives at the knots, as a matrix to multiply the values with; at least 2 knots."""
    num, h = len(x_K), np.diff(x_K)
    left_KK, right_KK = np.zeros((num, num)), np.zeros((num, num))
    for k in range(1, num - 1):  # the slope is continuous at each inner knot
        left_KK[k, k - 1 : k + 2] = h[k - 1] / 6, (h[k - 1] + h[k]) / 3, h[k] / 6
        right_KK[k, k - 1 : k + 2] = 1 / h[k - 1], -1 / h[k - 1] - 1 / h[k], 1 / h[k]
    if num == 2:
        return right_KK
    if num == 3:  # a parabola: its curvature is the same everywhere
        left_KK[0, :2] = left_KK[2, 1:] = 1, -1
    else:  # the third derivative is continuous at the second and the last but one knot
        left_KK[0, :3] = h[1], -h[0] - h[1], h[0]
        left_KK[-1, -3:] = h[-1], -h[-2] - h[-1], h[-2]
    return np.asarray(np.linalg.solve(left_KK, right_KK), dtype=np.float64)


def interpolate(x_K: Floats, v_KM: Floats, x_N: Floats) -> Floats:
    """Splines down each column; each unbroken stretch of finite values has one of its own, so that nothing leaks.

    Args:
        x_K: knots, rising strictly.
        v_KM: values; NaN where there is none.
        x_N: where values are wanted.

    Returns:
        [N, M], NaN at each place that has not a value on both sides.
    """
    v_NM = np.full((len(x_N), v_KM.shape[1]), np.nan)
    holes_KM = ~np.isfinite(v_KM)
    patterns_PK, which_M = np.unique(holes_KM.T, axis=0, return_inverse=True)
    for pattern, holes_K in enumerate(patterns_PK):
        columns = np.flatnonzero(which_M.ravel() == pattern)
        for first, last in _stretches(holes_K):
            is_inside_N = (x_N >= x_K[first]) & (x_N <= x_K[last - 1])
            matrix_NK = spline_matrix(x_K[first:last], x_N[is_inside_N])
            v_NM[np.ix_(is_inside_N, columns)] = matrix_NK @ v_KM[first:last, columns]
    return v_NM


def _stretches(holes_K: Bools) -> list[tuple[int, int]]:
    """The unbroken runs of False, each from its first index to one past its last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], holes_K, [True]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def interpolate_grid(y_I: Floats, x_J: Floats, v_IJ: Floats, *, y_R: Floats, x_C: Floats) -> Floats:
    """The tensor product of splines along x and along y.

    Returns:
        [R, C], NaN where a place is not between four finite values.
    """
    v_IC = interpolate(x_J, v_IJ.T, x_C).T
    return interpolate(y_I, v_IC, y_R)


__all__ = ["interpolate", "interpolate_grid", "spline_matrix"]
