"""What one chart needs to be drawn, or to be drawn on: curves, or only what they gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from trackio_like.format.records import ScalarKind
from trackio_like.maths.decimate import decimate, window
from trackio_like.query.index import ProjectIndex
from trackio_like.query.lanes import METRIC_AXIS, PLAIN_AXES, Lane, draw
from trackio_like.query.series import Mark, Series, SeriesId
from trackio_like.store.blocks import Floats

MAX_BUCKETS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelQuery:
    """One chart: a key, its x axis, the runs drawn."""

    key: str
    kind: ScalarKind = "metrics"
    axis: str = "step"
    """`step`, `relative`, `time` or `metric:<key>`."""
    run_ids: tuple[str, ...]
    num_buckets: int
    since: int = 0
    """Cursor up to which the caller has these curves; 0 for none."""
    x0: float | None = None
    """Window, inclusive; None for no bound."""
    x1: float | None = None

    def __post_init__(self) -> None:
        if self.axis not in PLAIN_AXES and not self.axis.startswith(METRIC_AXIS):
            raise ValueError(f"x={self.axis!r} is unknown; choose one of {', '.join(PLAIN_AXES)}, {METRIC_AXIS}<key>.")
        if not 1 <= self.num_buckets <= MAX_BUCKETS:
            raise ValueError(f"buckets={self.num_buckets} is out of range; choose 1 to {MAX_BUCKETS}.")

    @property
    def has_window(self) -> bool:
        """Whether only a part of x is wanted."""
        return self.x0 is not None or self.x1 is not None

    @property
    def x_key(self) -> str | None:
        """The metric that is the x axis, if one is."""
        return self.axis.removeprefix(METRIC_AXIS) if self.axis.startswith(METRIC_AXIS) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One lane of one run."""

    run_id: str
    key: str
    lane: int
    num_lanes: int
    mode: Literal["replace", "append"]
    """append: raw points behind those that the caller has."""
    num_points: int
    """Raw points, within the window where there is one."""
    num_non_finite: int
    is_exact: bool
    """Whether every raw point is in x_K: for `append`, every one that is new."""
    x_K: Floats
    y_K: Floats


def curves(index: ProjectIndex, query: PanelQuery) -> list[Curve]:
    """The curves of a chart that changed behind the query's cursor.

    Args:
        index: refreshed as far as the caller wants.
        query: which chart.
    """
    ids = [
        SeriesId(run_id=run_id, kind=query.kind, key=query.key)
        for run_id in query.run_ids
        if _has_changed(index, query, run_id)
    ]
    x_ids = {} if query.x_key is None else {id_.run_id: _x_id(id_, query.x_key) for id_ in ids}
    found = index.series([*ids, *x_ids.values()])
    return [
        curve
        for id_ in ids
        if id_ in found
        for curve in _of_run(
            index, query, found[id_], run_id=id_.run_id, x_series=found.get(x_ids.get(id_.run_id, id_))
        )
    ]


def _x_id(id_: SeriesId, x_key: str) -> SeriesId:
    return SeriesId(run_id=id_.run_id, kind="metrics", key=x_key)


def _has_changed(index: ProjectIndex, query: PanelQuery, run_id: str) -> bool:
    run = index.run(run_id)
    changed_at = None if run is None else run.summaries[query.kind].changed_at(query.key)
    return changed_at is not None and changed_at > query.since


def _of_run(
    index: ProjectIndex, query: PanelQuery, series: Series, *, run_id: str, x_series: Series | None
) -> Sequence[Curve]:
    run = index.run(run_id)
    if run is None:
        return []
    lanes = draw(series, axis=query.axis, origin_us=run.origin_us, x_series=None if query.x_key is None else x_series)
    mark = series.mark_at(query.since) if query.since > 0 else None
    drawn = []
    for number, lane in enumerate(lanes):
        curve = _curve(query, series, lane, run_id=run_id, number=number, mark=mark)
        if curve is not None:
            drawn.append(curve)
    return drawn


def _curve(
    query: PanelQuery, series: Series, lane: Lane, *, run_id: str, number: int, mark: Mark | None
) -> Curve | None:
    x_N, y_N = lane.x, lane.y
    num_new = None if mark is None else _num_new(lane, series, mark)
    if num_new == 0:
        return None
    if num_new is not None and query.has_window and not _touches(query, x_N[-num_new:]):
        return None
    is_append = num_new is not None and not query.has_window and num_new <= query.num_buckets
    if is_append and num_new is not None:
        x_K, y_K = x_N[-num_new:], y_N[-num_new:]
        num_points, num_non_finite, is_exact = len(x_N), lane.num_non_finite, True
    else:
        start, stop = window(x_N, query.x0, query.x1)
        num_points = stop - start
        is_all = num_points == len(x_N)
        num_non_finite = lane.num_non_finite if is_all else num_points - int(np.isfinite(y_N[start:stop]).sum())
        kept = start + decimate(x_N[start:stop], y_N[start:stop], num_buckets=query.num_buckets)
        is_exact = len(kept) == num_points
        # One point beyond each side, so that the line leaves the window.
        edges = [i for i in (start - 1, stop) if query.has_window and 0 <= i < len(x_N)]
        kept = np.sort(np.concatenate([kept, edges]).astype(np.intp)) if edges else kept
        x_K, y_K = x_N[kept], y_N[kept]
    return Curve(
        run_id=run_id,
        key=query.key,
        lane=number,
        num_lanes=len(series.layout),
        mode="append" if is_append else "replace",
        num_points=num_points,
        num_non_finite=num_non_finite,
        is_exact=is_exact,
        x_K=x_K,
        y_K=y_K,
    )


def _num_new(lane: Lane, series: Series, mark: Mark) -> int | None:
    """How many points a lane gained at its end since a mark; None where it changed otherwise."""
    if mark.layout != series.layout or not lane.is_in_order:
        return None
    last = lane.parts[-1]
    num_new = len(series.points[last.writer]) - mark.counts[last.writer]
    if last.cut_step is not None and num_new:
        return None
    if any(len(series.points[part.writer]) != mark.counts[part.writer] for part in lane.parts[:-1]):
        return None
    return num_new


def _touches(query: PanelQuery, x_N: Floats) -> bool:
    # A new point beyond the window's right side may still be the one that the line leaves to: worth no redraw.
    start, stop = window(x_N, query.x0, query.x1)
    return stop > start


__all__ = ["MAX_BUCKETS", "Curve", "PanelQuery", "curves"]
