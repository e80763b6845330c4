"""Which way is fastest here: a few samples at a few points are evaluated in each, and timed.

No rule holds for all machines: `vmap` wins by orders of magnitude on one and loses on another, and so do threads,
layouts and batch sizes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import torch

from trackio_like.landscape.errors import LandscapeError
from trackio_like.landscape.evaluator import Evaluator, Losses, Point, free_memory
from trackio_like.landscape.plan import Way

_TRIAL_S: Final = 0.03
"""What one trial is to take, so that noise is small beside it."""
_WORTH_S: Final = 0.5
"""Of evaluations shorter than this only the number of threads is tried: on a busy machine it matters most."""
_SHORT_S: Final = 0.02
"""Evaluations shorter than this are begun without trials."""
_GAIN: Final = 0.97
"""A way is better where it takes less than this of the best one's time."""
_HOPELESS: Final = 2.0
_MAX_BATCH: Final = 1 << 12
_AGREE: Final = 5e-6
"""Largest relative difference between two ways of computing one loss in float32."""
_AGREE_BF16: Final = 3e-2


@dataclass(slots=True, kw_only=True)
class Choice:
    """The way that was chosen, and why."""

    way: Way
    seconds_per_point: dict[str, float] = field(default_factory=dict)
    """What a point takes, by mode, in the best way of each that was timed."""
    notes: list[str] = field(default_factory=list)
    """Ways that could not be used, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What trials may take, and where they are made."""

    far: Point
    """A point away from the centre, where ways are compared."""
    max_batch: int | None
    """The largest batch size that fits; None where batches may not be cut."""
    spare_bytes: Callable[[Way], int]
    """What a way leaves of the memory budget."""
    until_s: float | None = None
    """On the monotonic clock: no trial is begun after it."""

    @property
    def has_time(self) -> bool:
        """Whether another trial may begin."""
        return self.until_s is None or time.monotonic() < self.until_s


class Tuner:
    """Times ways of one evaluator."""

    def __init__(self, evaluator: Evaluator, limits: Limits) -> None:
        """Has tried nothing.

        Args:
            evaluator: evaluates.
            limits: what trials may take.
        """
        self._limits = limits
        self._evaluator = evaluator
        self._far = limits.far
        self._best: dict[Way, float] = {}
        self._samples = 1

    def seconds_per_sample(self, way: Way, *, against: float = math.inf) -> float:
        """What a sample takes at a point: the best of three runs, the first of which warms up.

        Args:
            way: how.
            against: what the best way takes; one that is far behind at first is not tried again.
        """
        known = self._best.get(way)
        if known is None:
            points = [self._far] * way.chunk
            samples = self._evaluator.num_samples(way, self._samples) * way.chunk
            with self._evaluator.using(way, max_samples=self._samples) as losses:
                known = _timed(losses, points) / samples
                if known < _HOPELESS * against:
                    known = min(known, *(_timed(losses, points) / samples for _ in range(2)))
            self._best[way] = known
        return known

    def set_size(self, base: Way, num_all: int) -> float:
        """Chooses how many samples a trial takes.

        Returns:
            Seconds that a point with all data takes in the base way, about.
        """
        samples = self._evaluator.num_samples(base, 1)
        with self._evaluator.using(base, max_samples=1) as losses:
            losses([self._far])
            seconds = _timed(losses, [self._far])
        self._samples = max(1, min(num_all, math.ceil(samples * _TRIAL_S / max(seconds, 1e-7))))
        return seconds / samples * num_all

    def improve_serial(self, base: Way, *, only_threads: bool = False) -> Way:
        """The fastest serial way: threads, layout, batch size, products of the first layer, in this order."""
        best = base
        others = () if only_threads else (self._layouts, self._batch_sizes, self._first_layers)
        for candidates in (self._threads, *others):
            for way in candidates(best):
                if not self._limits.has_time:
                    return best
                so_far = self.seconds_per_sample(best)
                if self.seconds_per_sample(way, against=so_far) < _GAIN * so_far:
                    best = way
        return best

    def _threads(self, best: Way) -> Iterator[Way]:
        if torch.get_num_threads() > 1:
            yield replace(best, num_threads=1)

    def _layouts(self, best: Way) -> Iterator[Way]:
        way = replace(best, channels_last=True)
        if self._evaluator.data.has_images and self._limits.spare_bytes(way) >= 0:
            yield way

    def _batch_sizes(self, best: Way) -> Iterator[Way]:
        """Powers of two on both sides of what there is, as long as they get better."""
        if self._limits.max_batch is None:
            return
        data = self._evaluator.data
        start = best.batch_size or data.first_batch_size
        most = min(self._limits.max_batch, data.num_samples, _MAX_BATCH)
        for sizes in (_halves(start), _doubles(start, most)):
            last = self.seconds_per_sample(best)
            for size in sizes:
                if size > most:
                    continue
                if not self._limits.has_time:
                    return
                # A trial has to hold a whole piece of this size.
                self._samples = max(self._samples, size)
                way = replace(best, batch_size=size)
                found = self.seconds_per_sample(way, against=last)
                yield way
                if found > last:
                    break
                last = found

    def _first_layers(self, best: Way) -> Iterator[Way]:
        if self._evaluator.precision is not None:
            return  # the sum of rounded products would be rounded once more
        first = self._evaluator.first_layers(best)
        if not first.is_empty and first.num_bytes <= self._limits.spare_bytes(best):
            yield replace(best, first_layer=True)


def _halves(start: int) -> Iterator[int]:
    size = 1 << max(0, (start - 1).bit_length() - 1)  # the power of two below
    while size >= 4:
        yield size
        size //= 2


def _doubles(start: int, most: int) -> Iterator[int]:
    size = 1 << start.bit_length()
    while size < most:
        yield size
        size *= 2
    yield most


def _timed(losses: Losses, points: Sequence[Point]) -> float:
    started = time.perf_counter()
    losses(points)
    return time.perf_counter() - started


def choose_serial(evaluator: Evaluator, base: Way, limits: Limits, *, num_points: int) -> tuple[Tuner, Choice]:
    """The fastest serial way for so many points; the plainest where trying costs more than it gains."""
    tuner = Tuner(evaluator, limits)
    seconds = tuner.set_size(base, evaluator.data.num_samples)
    if seconds * num_points < _SHORT_S:
        return tuner, Choice(way=base, seconds_per_point={"serial": seconds})
    way = tuner.improve_serial(base, only_threads=seconds * num_points < _WORTH_S)
    choice = Choice(way=way)
    if way != base and not agree(evaluator, base, way, far=limits.far):
        choice.notes.append(f"{describe(way)} gave another loss than the batches as they came, so these are used")
        choice.way = base
    choice.seconds_per_point["serial"] = tuner.seconds_per_sample(choice.way) * evaluator.data.num_samples
    return tuner, choice


def try_vector(
    tuner: Tuner, choice: Choice, limits: Limits, *, evaluator: Evaluator, ways: Sequence[Way], must: bool
) -> Choice:
    """Adds the fastest vector way to a choice, and takes it where it is faster than the serial one.

    Args:
        tuner: has timed the serial way.
        choice: the serial choice.
        limits: what trials may take.
        evaluator: evaluates.
        ways: of growing chunks, all of which fit.
        must: whether the caller wants vector mode, however slow.
    """
    best: Way | None = None
    fastest = math.inf
    serial = tuner.seconds_per_sample(choice.way)
    try:
        for way in ways:
            if not limits.has_time and not (must and best is None):
                break
            found = tuner.seconds_per_sample(way, against=math.inf if must else serial)
            if found >= fastest:
                break
            best, fastest = way, found
            if not must and found > _HOPELESS * serial and way.chunk > 1:
                break
        is_worth = best is not None and (must or fastest < _GAIN * serial)
        if best is not None and is_worth and not agree(evaluator, choice.way, best, far=limits.far):
            choice.notes.append("vector mode gave other losses than serial mode, so this is used")
            best = None
    except LandscapeError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever torch raises here is the reason not to vectorise
        choice.notes.append(f"vector mode cannot be used: {reason(error)}")
        best = None
        free_memory(evaluator.device)
    if best is None:
        return choice
    seconds = tuner.seconds_per_sample(best) * evaluator.data.num_samples
    choice.seconds_per_point["vector"] = seconds
    if must or seconds < _GAIN * choice.seconds_per_point["serial"]:
        choice.way = best
    return choice


def agree(evaluator: Evaluator, left: Way, right: Way, *, far: Point) -> bool:
    """Whether two ways give the same loss on all data at a point away from the centre."""
    found = []
    for way in (left, right):
        with evaluator.using(way) as losses:
            found.append(losses([far])[0])
    bound = _AGREE if evaluator.precision is None and not evaluator.is_half else _AGREE_BF16
    a, b = found
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.isfinite(a) == math.isfinite(b)
    return abs(a - b) <= bound * max(abs(a), abs(b), 1e-9)


def reason(error: BaseException) -> str:
    """The first line of an error, for people."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__


def describe(way: Way) -> str:
    """A way in words."""
    parts: list[str] = [way.mode]
    if way.mode == "vector":
        parts.append(f"{way.chunk} points at once")
    if way.batch_size is not None:
        parts.append(f"batches of {way.batch_size}")
    if way.channels_last:
        parts.append("channels last")
    if way.num_threads is not None:
        parts.append("1 thread" if way.num_threads == 1 else f"{way.num_threads} threads")
    if way.first_layer:
        parts.append("products of the first layer kept")
    return ", ".join(parts)


__all__ = ["Choice", "Limits", "Tuner", "agree", "choose_serial", "describe", "reason", "try_vector"]
