"""Series as curves: x and y of each lane, sorted by x.

Shapes: N points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from trackio_like.maths.decimate import order_by_x
from trackio_like.query.points import Points
from trackio_like.query.series import Part, Series
from trackio_like.store.blocks import Floats, Ints

METRIC_AXIS: Final = "metric:"
PLAIN_AXES: Final = ("step", "relative", "time")


class Lane:
    """One curve; grown at the end where that is possible."""

    def __init__(
        self, parts: tuple[Part, ...], x_N: Floats, y_N: Floats, *, is_in_order: bool, counts: tuple[int, ...]
    ) -> None:
        """Takes the arrays over.

        Args:
            parts: what it was made of.
            x_N: [N] rising, finite.
            y_N: [N]
            is_in_order: whether the points stand as they were logged, none left out.
            counts: points of each part's writer when it was made.
        """
        self.parts = parts
        self.is_in_order = is_in_order
        self.counts = counts
        self._x, self._y = x_N, y_N
        self._size = len(x_N)
        self.num_non_finite = self._size - int(np.count_nonzero(np.isfinite(y_N)))

    @property
    def x(self) -> Floats:
        """[N] rising, finite."""
        return self._x[: self._size]

    @property
    def y(self) -> Floats:
        """[N] y of each point."""
        return self._y[: self._size]

    @property
    def num_bytes(self) -> int:
        """Bytes held; a curve of one writer shares its y with the series."""
        return self._x.nbytes + (self._y.nbytes if self._y.base is None else 0)

    def try_extend(self, x_N: Floats, points: Points) -> bool:
        """Adds the newest points of the only part.

        Args:
            x_N: [N] x of the new points.
            points: all points of the part's writer.

        Returns:
            False where they do not simply follow: the lane is then to be made anew.
        """
        old, new = self._size, self._size + len(x_N)
        # A NaN fails the comparison too, so it is one pass for both: rising, and finite from the first to the last.
        if not (x_N[1:] >= x_N[:-1]).all() or not -math.inf < x_N[0] <= x_N[-1] < math.inf:
            return False
        if old and x_N[0] < self._x[old - 1]:
            return False
        if new > len(self._x):
            grown = np.empty(new * 5 // 4 + 64)
            grown[:old] = self._x[:old]
            self._x = grown
        self._x[old:new] = x_N
        self._size, self._y = new, points.value
        self.counts = (new,)
        self.num_non_finite = points.num_non_finite
        return True


def draw(series: Series, *, axis: str, origin_us: int, x_series: Series | None) -> tuple[Lane, ...]:
    """The curves of a series.

    Args:
        series: marked since its points changed last.
        axis: `step` (`relative` where the kind has none), `relative` (seconds since the origin), `time` (seconds since
            the epoch) or `metric:<key>`.
        origin_us: the run's first row.
        x_series: the series of the axis's key, where the axis is a metric; None where the run does not have it.

    Returns:
        One lane per set of writers that are drawn as one curve; empty lanes stay, so that numbers are stable.
    """
    old = series.drawn.get(axis, ())
    maker = _Maker(series, axis=axis, origin_us=origin_us, x_series=x_series)
    lanes = []
    for number, parts in enumerate(series.layout):
        lane = old[number] if number < len(old) else None
        lanes.append(maker.extended(lane, parts) or maker.made(parts))
    series.keep_drawn(axis, tuple(lanes))
    return tuple(lanes)


class _Maker:
    def __init__(self, series: Series, *, axis: str, origin_us: int, x_series: Series | None) -> None:
        self._points = series.points
        self._has_steps = series.has_steps
        self._axis = axis
        self._origin_us = origin_us
        self._x_points: Mapping[str, Points] = {} if x_series is None else x_series.points

    def extended(self, lane: Lane | None, parts: tuple[Part, ...]) -> Lane | None:
        """The lane as drawn before with what came since, or None where it must be made anew."""
        if lane is None or lane.parts != parts:
            return None
        if lane.counts == tuple(len(self._points[part.writer]) for part in parts):
            return lane
        part = parts[0]
        if len(parts) > 1 or part.cut_step is not None or not lane.is_in_order:
            return None
        points = self._points[part.writer]
        is_grown = lane.try_extend(self._x(part.writer, points, start=lane.counts[0], before=None), points)
        return lane if is_grown else None

    def made(self, parts: tuple[Part, ...]) -> Lane:
        xs, ys = [], []
        is_in_order = True
        last_x: float | None = None
        for part in parts:
            points = self._points[part.writer]
            x_N, y_N = self._x(part.writer, points, start=0, before=last_x), points.value
            if part.cut_step is not None:
                kept_N = points.step < part.cut_step
                if not kept_N.all():
                    x_N, y_N = x_N[kept_N], y_N[kept_N]
            last_x = float(x_N[-1]) if len(x_N) else last_x
            xs.append(x_N)
            ys.append(y_N)
        x_N, y_N = (xs[0], ys[0]) if len(parts) == 1 else (np.concatenate(xs), np.concatenate(ys))
        order = order_by_x(x_N)
        if order is not None:
            x_N, y_N, is_in_order = x_N[order], y_N[order], False
        counts = tuple(len(self._points[part.writer]) for part in parts)
        return Lane(parts, x_N, y_N, is_in_order=is_in_order, counts=counts)

    def _x(self, writer: str, points: Points, *, start: int, before: float | None) -> Floats:
        """The x of a writer's points from one on.

        Args:
            writer: whose.
            points: all of that writer.
            start: the first point wanted.
            before: for a metric axis: its value in an earlier part of the lane.
        """
        if self._axis == "step" and self._has_steps:
            return points.step[start:].astype(np.float64)
        if self._axis == "time":
            return points.time_us[start:] / 1e6
        if self._axis in PLAIN_AXES:
            return (points.time_us[start:] - self._origin_us) / 1e6
        return self._metric_x(writer, points, start=start, before=before)

    def _metric_x(self, writer: str, points: Points, *, start: int, before: float | None) -> Floats:
        """The metric's value of the same row, else the last earlier one; NaN before there is any."""
        own = self._x_points.get(writer)
        if own is None or len(own) == 0:
            return self._other_x(points.time_us[start:], before=before)
        found_N = np.searchsorted(own.seq, points.seq[start:], side="right") - 1
        x_N = own.value[np.maximum(found_N, 0)]
        # Points from before the writer's first x stay where they were drawn when it had none.
        num_early = int(np.searchsorted(found_N, 0))
        if num_early:
            x_N[:num_early] = self._other_x(points.time_us[start : start + num_early], before=before)
        return x_N

    def _other_x(self, time_N: Ints, *, before: float | None) -> Floats:
        """For a writer that has not logged the metric: what the run's other writers last logged by then.

        Args:
            time_N: [N] microseconds since the epoch, when each point was logged.
            before: as `_x`.
        """
        others = [own for own in self._x_points.values() if len(own)]
        missing = np.nan if before is None else before
        if not others:
            return np.full(len(time_N), missing)
        time_M = np.concatenate([own.time_us for own in others])
        value_M = np.concatenate([own.value for own in others])
        order = np.argsort(time_M, kind="stable")
        found_N = np.searchsorted(time_M[order], time_N, side="right") - 1
        return np.where(found_N >= 0, value_M[order][np.maximum(found_N, 0)], missing)


__all__ = ["METRIC_AXIS", "PLAIN_AXES", "Lane", "draw"]
