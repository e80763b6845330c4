"""The series of one project as files: every row, and beside them the few points that a chart of all of it shows.

Shapes: N points, K points kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from space_app.freeze.packs import Pack, PackWriter
from trackio_like.format.records import ScalarKind
from trackio_like.format.schemas import SCHEMAS
from trackio_like.maths.decimate import decimate
from trackio_like.query.history import read_history
from trackio_like.query.index import ProjectIndex
from trackio_like.query.lanes import draw
from trackio_like.query.points import Points
from trackio_like.query.run_index import RunIndex
from trackio_like.query.series import Series, SeriesId

BUCKETS: Final = (50, 75, 150, 225, 300, 375)
"""The numbers of buckets that a chart on the page asks for; others are drawn from all rows."""
OVERVIEW_FROM: Final = 5000
"""Points from which on a series has an overview."""
AXES: Final[Mapping[ScalarKind, tuple[str, ...]]] = {
    "metrics": ("step", "relative", "time"),
    "system": ("relative", "time"),
}
_MAX_POINTS_AT_ONCE: Final = 1_000_000
_EXACT_LIMIT: Final = 2.0**53
"""From here on a double cannot hold every integer."""
_ROW_ENCODINGS: Final = {
    "seq": "DELTA_BINARY_PACKED",
    "step": "DELTA_BINARY_PACKED",
    "time": "DELTA_BINARY_PACKED",
    "value": "BYTE_STREAM_SPLIT",
    "value_int": "DELTA_BINARY_PACKED",
}
_OVERVIEW_ENCODINGS: Final = {"x": "BYTE_STREAM_SPLIT", "y": "BYTE_STREAM_SPLIT"}


class SeriesExport:
    """Writes one kind of one project."""

    def __init__(self, index: ProjectIndex, kind: ScalarKind, folder: Path) -> None:
        """Writes nothing yet.

        Args:
            index: refreshed, of files that no longer change.
            kind: metrics or system.
            folder: where the files go.
        """
        self._index = index
        self._kind: ScalarKind = kind
        self._runs = index.runs()
        self._rows = PackWriter(folder, kind, _ROW_ENCODINGS)
        self._overviews = {axis: PackWriter(folder, f"{kind}-{axis}", _OVERVIEW_ENCODINGS) for axis in AXES[kind]}

    def write(self) -> tuple[list[Pack], dict[str, list[Pack]]]:
        """Writes all series.

        Returns:
            The files with every row, and those with overviews by x axis.

        Raises:
            OSError: the disk refuses.
        """
        for keys in self._portions():
            ids = [SeriesId(run.run_id, self._kind, key) for key in keys for run in self._runs]
            found = self._index.series(ids)
            exact = {run.run_id: self._big_integers(run, keys) for run in self._runs}
            for key in keys:
                for number, run in enumerate(self._runs):
                    series = found.get(SeriesId(run.run_id, self._kind, key))
                    if series is not None:
                        self._add_rows(number, run, key, series, exact[run.run_id])
                        self._add_overviews(number, run, key, series)
        for writer in (self._rows, *self._overviews.values()):
            writer.flush()
        return self._rows.packs, {axis: writer.packs for axis, writer in self._overviews.items()}

    def _portions(self) -> Iterator[list[str]]:
        """The keys in order, so many at a time that their points fit into memory."""
        counts: dict[str, int] = {}
        for run in self._runs:
            summary = run.summaries[self._kind]
            for key in summary.keys:
                known = summary.of(key)
                counts[key] = counts.get(key, 0) + (0 if known is None else known.count)
        portion: list[str] = []
        num_points = 0
        for key in sorted(counts):
            if portion and num_points + counts[key] > _MAX_POINTS_AT_ONCE:
                yield portion
                portion, num_points = [], 0
            portion.append(key)
            num_points += counts[key]
        if portion:
            yield portion

    def _big_integers(self, run: RunIndex, keys: Sequence[str]) -> dict[tuple[str, str], dict[int, int]]:
        """The integers that a double cannot hold, by key and writer, then by seq."""
        summary = run.summaries[self._kind]
        large = []
        for key in keys:
            known = summary.of(key)
            if known is not None and max(abs(known.min or 0.0), abs(known.max or 0.0)) >= _EXACT_LIMIT:
                large.append(key)
        if not large:
            return {}
        table = read_history(run.path, self._kind, keys=large, faults=self._index.faults)
        table = table.filter(pc.is_valid(table["value_int"]))
        found: dict[tuple[str, str], dict[int, int]] = {}
        columns = (table[name].to_pylist() for name in ("key", "writer", "seq", "value_int"))
        for key, writer, seq, value in zip(*columns, strict=True):
            found.setdefault((key, writer), {})[seq] = value
        return found

    def _add_rows(
        self, number: int, run: RunIndex, key: str, series: Series, exact: Mapping[tuple[str, str], dict[int, int]]
    ) -> None:
        for writer in sorted(series.points, key=lambda w: (run.writers[w].attempt, run.writers[w].rank, w)):
            points = series.points[writer]
            if len(points):
                table = self._table(run, writer, key, points, exact.get((key, writer), {}))
                self._rows.add(key, [key, number, writer], table)

    def _table(self, run: RunIndex, writer: str, key: str, points: Points, big: Mapping[int, int]) -> pa.Table:
        num = len(points)
        is_metric = self._kind == "metrics"
        columns = {
            "project": _repeated(run.project, num),
            "run_id": _repeated(run.run_id, num),
            "writer": _repeated(writer, num),
            "seq": pa.array(points.seq),
            "attempt": pa.repeat(pa.scalar(run.writers[writer].attempt, pa.int32()), num),
            "step": pa.array(points.step) if is_metric else pa.nulls(num, pa.int64()),
            "time": pa.array(points.time_us).cast(pa.timestamp("us", tz="UTC")),
            "key": _repeated(key, num),
            "value": pa.array(points.value),
            "value_int": _exact(points.seq, big),
        }
        fields = [field.with_type(columns[field.name].type) for field in SCHEMAS[self._kind]]
        return pa.table(list(columns.values()), schema=pa.schema(fields))

    def _add_overviews(self, number: int, run: RunIndex, key: str, series: Series) -> None:
        if sum(map(len, series.points.values())) < OVERVIEW_FROM:
            return
        for axis, writer in self._overviews.items():
            lanes = draw(series, axis=axis, origin_us=run.origin_us, x_series=None)
            for lane, curve in enumerate(lanes):
                kept = np.unique(np.concatenate([decimate(curve.x, curve.y, num_buckets=num) for num in BUCKETS]))
                table = pa.table(
                    {
                        "run_id": _repeated(run.run_id, len(kept)),
                        "key": _repeated(key, len(kept)),
                        "x": pa.array(curve.x[kept]),
                        "y": pa.array(curve.y[kept]),
                    }
                )
                writer.add(key, [key, number, lane, len(lanes), len(curve.x), curve.num_non_finite], table)


def _repeated(text: str, num: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(num, np.int32)), pa.array([text], pa.string()))


def _exact(seq_N: npt.NDArray[np.int64], big: Mapping[int, int]) -> pa.Array:
    if not big:
        return pa.nulls(len(seq_N), pa.int64())
    values: list[Any] = [big.get(seq) for seq in seq_N.tolist()]
    return pa.array(values, pa.int64())


__all__ = ["AXES", "BUCKETS", "OVERVIEW_FROM", "SeriesExport"]
