"""Which siblings repeat, one by one or in groups."""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

MAX_PERIOD: Final = 64
"""Siblings that a group spans at most."""
_NUMBERED: Final = re.compile(r"^(.*?)(\d+)(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`count` times the same `period` siblings, one after the other."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        """The position after the last sibling."""
        return self.start + self.period * self.count


def runs(keys: Sequence[Hashable], *, max_period: int = MAX_PERIOD) -> list[Run]:
    """The repeats in a row of keys, from left to right, each as long as it can be.

    Args:
        keys: what siblings are compared by.
        max_period: siblings that a group spans at most.

    Returns:
        Runs that cover every position once, in order; a sibling that does not repeat is a run of its own.
        Where two periods cover as many siblings, the shorter one is taken.
    """
    codes: dict[Hashable, int] = {}
    row = [codes.setdefault(key, len(codes)) for key in keys]
    where: list[list[int]] = [[] for _ in codes]
    for position, code in enumerate(row):
        where[code].append(position)
    found: list[Run] = []
    position = 0
    while position < len(row):
        best = _longest(row, position, where[row[position]], max_period)
        found.append(best)
        position = best.end
    return found


def are_numbered(names: Sequence[str]) -> bool:
    """Whether names are one name with rising numbers, such as `block1, block2`, or numbers alone."""
    matches = [_NUMBERED.match(name) for name in names]
    parts = [match.groups() for match in matches if match]
    if len(parts) != len(names) or len({(stem, tail) for stem, _, tail in parts}) != 1:
        return False
    numbers = [int(number) for _, number, _ in parts]
    return all(a < b for a, b in itertools.pairwise(numbers))


def _longest(row: Sequence[int], start: int, same: Sequence[int], max_period: int) -> Run:
    best = Run(start=start, period=1, count=1)
    for other in _after(same, start):
        period = other - start
        if period > max_period or start + 2 * period > len(row):
            break
        num_equal = 0  # of siblings with the one that is a period further on
        while start + period + num_equal < len(row) and row[start + num_equal] == row[start + period + num_equal]:
            num_equal += 1
        count = num_equal // period + 1
        if count > 1 and period * count > best.period * best.count:
            best = Run(start=start, period=period, count=count)
        if best.end == len(row):
            break
    return best


def _after(positions: Sequence[int], start: int) -> Sequence[int]:
    low, high = 0, len(positions)
    while low < high:
        middle = (low + high) // 2
        if positions[middle] <= start:
            low = middle + 1
        else:
            high = middle
    return positions[low : low + MAX_PERIOD]


__all__ = ["MAX_PERIOD", "Run", "are_numbered", "runs"]
