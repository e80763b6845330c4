"""One key of one run in memory: its points by writer, how they are laid out in lanes, and what changed when."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from trackio_like.query.points import Points
from trackio_like.query.records import WriterSigns

if TYPE_CHECKING:
    from trackio_like.format.records import ScalarKind
    from trackio_like.query.lanes import Lane

CACHE_BYTES: Final = 128 << 20
_MAX_MARKS: Final = 64
"""Changes that a page may be behind and still get only the new points."""
_MAX_AXES: Final = 4
"""Axes whose lanes are kept: each is a copy of x."""


class SeriesId(NamedTuple):
    """Which series; a tuple, because thousands are looked up at each poll."""

    run_id: str
    kind: ScalarKind
    key: str


@dataclass(frozen=True, slots=True)
class Part:
    """One writer's points within a lane."""

    writer: str
    cut_step: int | None
    """Only points below this step: a later attempt draws from there on. None takes all."""


Layout = tuple[tuple[Part, ...], ...]
"""The parts of each lane, in the order they are drawn."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How a series stood at a cursor."""

    cursor: int
    layout: Layout
    counts: dict[str, int]
    """Points by writer."""


class Series:
    """Points of all writers; not thread-safe."""

    def __init__(self, points: dict[str, Points], *, has_steps: bool) -> None:
        self.points = points
        self.has_steps = has_steps
        self.layout: Layout = ()
        self.drawn: dict[str, tuple[Lane, ...]] = {}
        """Lanes by x axis, as they were last drawn; of a few axes."""
        self._marks: deque[Mark] = deque(maxlen=_MAX_MARKS)
        self._laid_out: tuple[str, ...] = ()

    @property
    def num_bytes(self) -> int:
        """Bytes held."""
        drawn = sum(lane.num_bytes for lanes in self.drawn.values() for lane in lanes)
        return 512 + drawn + sum(points.num_bytes for points in self.points.values())

    def mark(self, cursor: int, writers: Mapping[str, WriterSigns]) -> None:
        """Notes that the points are now those of a cursor."""
        # A writer's attempt, rank and first point never change, so only a new writer makes another layout.
        present = tuple(self.points)
        if present != self._laid_out:
            self.layout, self._laid_out = lay_out(self.points, writers, has_steps=self.has_steps), present
        counts = {writer: len(points) for writer, points in self.points.items()}
        self._marks.append(Mark(cursor, self.layout, counts))

    def forget(self) -> None:
        """Forgets what was drawn, and how the series stood before."""
        self._marks.clear()
        self.drawn.clear()

    def keep_drawn(self, axis: str, lanes: tuple[Lane, ...]) -> None:
        """Notes the lanes of an axis; those of the axis drawn longest ago make room."""
        self.drawn.pop(axis, None)
        self.drawn[axis] = lanes
        while len(self.drawn) > _MAX_AXES:
            del self.drawn[next(iter(self.drawn))]

    def mark_at(self, cursor: int) -> Mark | None:
        """How the series stood at a cursor, or None where that is no longer known."""
        return next((mark for mark in reversed(self._marks) if mark.cursor <= cursor), None)


def lay_out(points: Mapping[str, Points], writers: Mapping[str, WriterSigns], *, has_steps: bool) -> Layout:
    """Which writers' points make up which lane.

    Writers of one attempt that log the same key are drawn apart, by rank and then by who came first; the first writer
    of a later attempt continues the first lane. From the step where a later attempt begins, only that is drawn.

    Args:
        points: by writer.
        writers: attempt and rank, by writer.
        has_steps: whether the kind has steps; without, nothing is replaced.
    """
    attempts: dict[int, list[str]] = {}
    for writer, own in points.items():
        if len(own):
            attempts.setdefault(writers[writer].attempt, []).append(writer)
    lanes: list[list[Part]] = []
    cut_step: int | None = None
    for attempt in sorted(attempts, reverse=True):
        members = sorted(attempts[attempt], key=lambda w: (writers[w].rank, int(points[w].time_us[0]), w))
        for lane, writer in enumerate(members):
            if lane == len(lanes):
                lanes.append([])
            lanes[lane].insert(0, Part(writer, cut_step))
        if has_steps:
            first_step = min(int(points[writer].step[0]) for writer in members)
            cut_step = first_step if cut_step is None else min(cut_step, first_step)
    return tuple(tuple(lane) for lane in lanes)


class SeriesCache:
    """The series in memory, least recently asked for first; not thread-safe."""

    def __init__(self, *, max_bytes: int = CACHE_BYTES) -> None:
        self._series: OrderedDict[SeriesId, Series] = OrderedDict()
        self._by_run: dict[str, dict[SeriesId, Series]] = {}
        self._max_bytes = max_bytes

    def get(self, id_: SeriesId) -> Series | None:
        """A series, now the most recently asked for; None where it is not in memory."""
        series = self._series.get(id_)
        if series is not None:
            self._series.move_to_end(id_)
        return series

    def of_run(self, run_id: str) -> Mapping[SeriesId, Series]:
        """All of a run's series that are in memory."""
        return self._by_run.get(run_id, {})

    def put(self, id_: SeriesId, series: Series) -> None:
        """Takes a series in."""
        self._series[id_] = series
        self._by_run.setdefault(id_.run_id, {})[id_] = series

    def drop(self, id_: SeriesId) -> None:
        """Forgets a series: it is loaded again when it is asked for."""
        self._series.pop(id_, None)
        own = self._by_run.get(id_.run_id, {})
        own.pop(id_, None)
        if not own:
            self._by_run.pop(id_.run_id, None)

    def drop_run(self, run_id: str) -> None:
        """Forgets all series of a run."""
        for id_ in list(self.of_run(run_id)):
            self.drop(id_)

    def shrink(self, *, keep: int = 1) -> None:
        """Forgets the series that were asked for longest ago, until the rest fits.

        Args:
            keep: how many of the most recent ones stay, whatever their size.
        """
        used = sum(series.num_bytes for series in self._series.values())
        while used > self._max_bytes and len(self._series) > keep:
            id_, series = next(iter(self._series.items()))
            used -= series.num_bytes
            self.drop(id_)


__all__ = ["CACHE_BYTES", "Layout", "Mark", "Part", "Series", "SeriesCache", "SeriesId", "lay_out"]
