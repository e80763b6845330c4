"""A metric as it is drawn, whole: for Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trackio_like.query.index import ProjectIndex
from trackio_like.query.lanes import draw
from trackio_like.query.run_index import RunIndex
from trackio_like.query.series import SeriesId
from trackio_like.store.blocks import Floats


class DrawnSeries(NamedTuple):
    """A metric as it is drawn."""

    x: Floats
    """[K] steps, rising within each writer's points."""
    y: Floats
    """[K] values."""


def whole_series(index: ProjectIndex, run: RunIndex, key: str) -> DrawnSeries:
    """Every point of a metric, in the order of its steps; several writers follow one another."""
    id_ = SeriesId(run_id=run.run_id, kind="metrics", key=key)
    series = index.series([id_]).get(id_)
    lanes = () if series is None else draw(series, axis="step", origin_us=run.origin_us, x_series=None)
    return DrawnSeries(x=joined([lane.x for lane in lanes]), y=joined([lane.y for lane in lanes]))


def joined(arrays: Sequence[Floats]) -> Floats:
    """Arrays, one behind the other."""
    return np.concatenate([np.empty(0), *arrays])


__all__ = ["DrawnSeries", "joined", "whole_series"]
