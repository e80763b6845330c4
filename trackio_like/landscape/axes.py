"""The coordinates of a grid: both ends as asked for, and exact knots (0, and 1 between checkpoints). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trackio_like.landscape.result import Floats


def axis(num: int, ends: tuple[float, float], *, knots: Sequence[float] = (0.0,)) -> Floats:
    """Coordinates from one end to the other that hit every knot exactly.

    The parts between knots are evenly spaced, each with its share of the intervals: where the knots fit an evenly
    spaced axis, as 0 does a symmetric one of odd length, the whole is.

    Args:
        num: coordinates, at least 2.
        ends: the first and the last.
        knots: those within the ends are on the axis, as far as there are intervals for them.

    Returns:
        [num] rising strictly.
    """
    low, high = ends
    inner = sorted({float(knot) for knot in knots if low < knot < high})
    stops = [low, *inner[: num - 2], high]
    num_parts = len(stops) - 1
    widths = np.diff(stops)
    shares = (num - 1) * widths / (high - low)
    counts = np.maximum(1, np.round(shares)).astype(int)
    while counts.sum() != num - 1:  # rounding left one over or one short
        step = 1 if counts.sum() < num - 1 else -1
        misfit = (shares - counts) * step
        misfit[(counts + step) < 1] = -np.inf
        counts[int(np.argmax(misfit))] += step
    parts = [np.linspace(stops[i], stops[i + 1], counts[i] + 1) for i in range(num_parts)]
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


__all__ = ["axis"]
