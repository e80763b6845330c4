"""Measures cells of a grid one chunk after the other: keeps each value at once, retreats where memory runs out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol

from trackio_like.landscape.errors import TimeIsUpError
from trackio_like.landscape.evaluator import Evaluator, Point, free_memory, is_out_of_memory
from trackio_like.landscape.plan import Way
from trackio_like.landscape.tune import Choice, reason

Stored = Callable[[int, float], None]
"""Takes the number of a point in its list, and its loss."""
Take = Callable[[int], Sequence[tuple[int, Point]]]
"""Gives the next points of a list with their numbers: about as many as asked for, none at its end."""


class Source(Protocol):
    """Whoever gives the losses at points: this process, or several."""

    def measure(self, points: Sequence[Point], stored: Stored) -> None:
        """Hands over each loss as soon as it is known.

        Args:
            points: (x, y) of each.
            stored: takes them, in any order.

        Raises:
            TimeIsUpError: the time is up; what was handed over is kept.
        """
        ...


class LocalSource:
    """This process."""

    def __init__(self, evaluator: Evaluator, choice: Choice, fallback: Way, *, deadline_s: float | None) -> None:
        """Measures nothing yet.

        Args:
            evaluator: evaluates.
            choice: the way; what becomes of it is noted there.
            fallback: the serial way that is taken where vectorising fails.
            deadline_s: on the monotonic clock; None for none.
        """
        self.evaluator = evaluator
        self.choice = choice
        self.fallback = fallback
        self.deadline_s = deadline_s

    def measure(self, points: Sequence[Point], stored: Stored) -> None:
        """Hands over each loss as soon as it is known; see `Source`."""
        numbered = iter(enumerate(points))
        self.measure_taken(lambda num: list(islice(numbered, num)), stored)

    def measure_taken(self, take: Take, stored: Stored) -> None:
        """Measures what it can take of a list that others may take from as well, until nothing is left.

        Args:
            take: gives points; each is measured before more are asked for.
            stored: takes each loss as soon as it is known.

        Raises:
            TimeIsUpError: the time is up.
        """
        left: list[tuple[int, Point]] = []
        is_done = False
        while not is_done:
            way = self.choice.way
            try:
                with self.evaluator.using(way) as losses:
                    while True:
                        self._check_time()
                        left = left or list(take(way.chunk))
                        if is_done := not left:
                            break
                        part = left[: way.chunk]
                        for (number, _), loss in zip(part, losses([point for _, point in part]), strict=True):
                            stored(number, loss)
                        left = left[way.chunk :]
            except TimeIsUpError:
                raise
            except Exception as error:
                smaller = self._retreat(way, error)
                if smaller is None:
                    raise
                self.choice.way = smaller
                free_memory(self.evaluator.device)

    def _check_time(self) -> None:
        if self.deadline_s is not None and time.monotonic() >= self.deadline_s:
            raise TimeIsUpError

    def _retreat(self, way: Way, error: Exception) -> Way | None:
        """A smaller way; None where there is none, and the error is the caller's."""
        if way.mode == "vector":
            if is_out_of_memory(error) and way.chunk > 1:
                self.choice.notes.append(f"{way.chunk} points at once ran out of memory")
                return replace(way, chunk=max(1, way.chunk // 4))
            self.choice.notes.append(f"vector mode failed: {reason(error)}")
            return self.fallback
        if is_out_of_memory(error) and self.evaluator.data.is_cuttable:
            size = way.batch_size or self.evaluator.data.first_batch_size
            if size > 1:
                self.choice.notes.append(f"batches of {size} ran out of memory")
                return replace(way, batch_size=size // 2, first_layer=False)
        return None


__all__ = ["LocalSource", "Source", "Stored", "Take"]
