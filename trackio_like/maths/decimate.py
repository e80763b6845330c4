"""Fewer points, the same picture: minimum and maximum of every bucket, at their own x.

Shapes: N points, B buckets, K kept points.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_LOOP_FROM: Final = 256
"""Points per bucket from which one numpy call per bucket is cheaper than passes over all points."""
_MAX_GRID: Final = 2.0**50
"""Beyond so many widths from zero, multiples of the width are no longer exact in float64."""
_ROUNDED_UP: Final = 1 + 2.0**-50
"""Makes up for a span that float64 rounded down."""
_GRID_RANGE: Final = (1e-300, 1e300)
"""Widths that can be rounded up without leaving the normal numbers of float64."""


def bucket_edges(first: float, last: float, *, num_buckets: int) -> Floats:
    """The inner edges of the buckets of a range of x.

    Edges lie on multiples of a width that has few significant bits. So they stay where they are while a run grows,
    until the width steps up by a quarter at most: a live curve does not dance.

    Args:
        first: smallest x, finite.
        last: largest x, finite, not below `first`.
        num_buckets: how many buckets are wanted, at least 1; never more are made.

    Returns:
        [B - 1] rising. A bucket holds its left edge.
    """
    if not first < last or num_buckets < 2:
        return np.empty(0)
    raw = (last - first) / (num_buckets - 1) * _ROUNDED_UP
    if _GRID_RANGE[0] < raw < _GRID_RANGE[1]:
        mantissa, exponent = math.frexp(raw)
        width = math.ldexp(math.ceil(mantissa * 8) / 8, exponent)
        if max(abs(first), abs(last)) / width < _MAX_GRID:
            numbers = np.arange(math.floor(first / width) + 1, math.floor(last / width) + 1, dtype=np.float64)
            if len(numbers) < num_buckets:
                return numbers * width
    # Weighted ends, because their difference may be beyond float64.
    weight_E = np.arange(1, num_buckets) / num_buckets
    edges = np.unique(first * (1 - weight_E) + last * weight_E)
    return np.asarray(edges[(edges > first) & (edges <= last)], dtype=np.float64)


def decimate(x_N: Floats, y_N: Floats, *, num_buckets: int) -> Indices:
    """Which points to draw.

    Keeps the first smallest and the first largest finite y of each bucket, the first non-finite one where there is any,
    and the first and the last point of all. Up to two points per bucket are simply all kept. Applied to what it kept,
    it keeps all of it.

    Args:
        x_N: [N] rising (not strictly), finite.
        y_N: [N] any float.
        num_buckets: how many buckets to make at most, at least 1.

    Returns:
        [K] rising indices, K <= 3 * num_buckets + 2.

    Raises:
        ValueError: there is no bucket.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets={num_buckets} is too few; ask for at least 1.")
    num_points = len(x_N)
    if num_points <= 2 * num_buckets:
        return np.arange(num_points)
    starts_B = _bucket_starts(x_N, num_buckets=num_buckets)
    pick = _pick_by_bucket if num_points > _LOOP_FROM * len(starts_B) else _pick_at_once
    return np.unique(np.concatenate([[0, num_points - 1], *pick(y_N, starts_B)])).astype(np.intp, copy=False)


def _bucket_starts(x_N: Floats, *, num_buckets: int) -> Indices:
    edges = bucket_edges(float(x_N[0]), float(x_N[-1]), num_buckets=num_buckets)
    starts = np.concatenate([[0], np.searchsorted(x_N, edges, side="left"), [len(x_N)]])
    return starts[:-1][np.diff(starts) > 0]  # only buckets that hold a point


def _pick_by_bucket(y_N: Floats, starts_B: Indices) -> list[Indices]:
    """Few large buckets: `argmin` is one pass at memory speed, and meets a NaN first."""
    bounds = [*starts_B.tolist(), len(y_N)]
    slices = [y_N[start:stop] for start, stop in pairwise(bounds)]
    low_B = starts_B + np.fromiter((part.argmin() for part in slices), np.intp, len(slices))
    high_B = starts_B + np.fromiter((part.argmax() for part in slices), np.intp, len(slices))
    is_good_B = np.isfinite(y_N[low_B]) & np.isfinite(y_N[high_B])
    picked = [low_B[is_good_B], high_B[is_good_B]]
    for bucket in np.flatnonzero(~is_good_B):
        part = np.ascontiguousarray(slices[bucket])
        picked += [starts_B[bucket] + found for found in _pick_at_once(part, np.zeros(1, np.intp))]
    return picked


def _pick_at_once(y_N: Floats, starts_B: Indices) -> list[Indices]:
    """Many small buckets: a few passes over all points."""
    is_finite_N = np.isfinite(y_N)
    if is_finite_N.all():
        low_N = high_N = y_N
        picked = []
    else:
        low_N, high_N = np.where(is_finite_N, y_N, np.inf), np.where(is_finite_N, y_N, -np.inf)
        picked = [_first_of_each(~is_finite_N, starts_B)]
    counts_B = np.diff(starts_B, append=len(y_N))
    for reduce_, values_N in ((np.minimum, low_N), (np.maximum, high_N)):
        extreme_N = np.repeat(reduce_.reduceat(values_N, starts_B), counts_B)
        picked.append(_first_of_each(values_N == extreme_N, starts_B))
    return picked


def _first_of_each(is_hit_N: npt.NDArray[np.bool_], starts_B: Indices) -> Indices:
    """The first hit of each bucket that has one."""
    hits = np.flatnonzero(is_hit_N)
    bucket_of_hit = np.searchsorted(starts_B, hits, side="right")
    return hits[np.diff(bucket_of_hit, prepend=0) > 0]


def order_by_x(x_N: Floats) -> Indices | None:
    """How to sort points by x, equal ones in the order given.

    Returns:
        [K] indices of the points with a finite x, K <= N; None where all are finite and in order already.
    """
    is_finite_N = np.isfinite(x_N)
    if is_finite_N.all():
        return None if is_rising(x_N) else np.argsort(x_N, kind="stable")
    kept = np.flatnonzero(is_finite_N)
    return kept[np.argsort(x_N[kept], kind="stable")]


def is_rising(x_N: Floats) -> bool:
    """Whether no x is smaller than the one before."""
    return bool((x_N[1:] >= x_N[:-1]).all())


def window(x_N: Floats, first: float | None, last: float | None) -> tuple[int, int]:
    """The points of a window.

    Args:
        x_N: [N] rising.
        first: smallest x, inclusive; None for no bound.
        last: largest x, inclusive; None for no bound.

    Returns:
        Index of the first point in the window, and of the first one behind it.
    """
    start = 0 if first is None else int(np.searchsorted(x_N, first, side="left"))
    stop = len(x_N) if last is None else int(np.searchsorted(x_N, last, side="right"))
    return start, max(start, stop)


__all__ = ["Floats", "Indices", "bucket_edges", "decimate", "is_rising", "order_by_x", "window"]
