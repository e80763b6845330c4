"""The points of one writer and key, as arrays that grow at the end.

Shapes: N points.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from trackio_like.store.blocks import Floats, Ints

_SPARE: Final = 1.25
"""Growth of a full buffer: 25 % costs five copies of a point on average and little memory."""


class Points:
    """Points in the order they were logged; not thread-safe."""

    __slots__ = ("_buffers", "_size", "num_non_finite")

    def __init__(self, seq_N: Ints, step_N: Ints, time_N: Ints, value_N: Floats) -> None:
        """Takes the arrays over.

        Args:
            seq_N: [N] rising strictly.
            step_N: [N] steps; zeros where the kind has none.
            time_N: [N] microseconds since the epoch.
            value_N: [N] values.
        """
        self._buffers = (seq_N, step_N, time_N, value_N)
        self._size = len(seq_N)
        self.num_non_finite = _count_non_finite(value_N)

    def __len__(self) -> int:
        return self._size

    @property
    def seq(self) -> Ints:
        """[N] rising strictly."""
        return self._buffers[0][: self._size]

    @property
    def step(self) -> Ints:
        """[N] as logged."""
        return self._buffers[1][: self._size]

    @property
    def time_us(self) -> Ints:
        """[N] microseconds since the epoch."""
        return self._buffers[2][: self._size]

    @property
    def value(self) -> Floats:
        """[N] as logged."""
        return self._buffers[3][: self._size]

    @property
    def num_bytes(self) -> int:
        """Bytes held, spare room included."""
        return sum(buffer.nbytes for buffer in self._buffers)

    def extend(self, seq_N: Ints, step_N: Ints, time_N: Ints, value_N: Floats) -> None:
        """Adds later points."""
        old, new = self._size, self._size + len(seq_N)
        if new > len(self._buffers[0]):
            capacity = int(new * _SPARE) + 64
            seq, step, time_us, value = self._buffers
            self._buffers = (
                _room(seq, old, capacity),
                _room(step, old, capacity),
                _room(time_us, old, capacity),
                _roomf(value, old, capacity),
            )
        new_points = slice(old, new)
        seq, step, time_us, value = self._buffers
        seq[new_points], step[new_points], time_us[new_points], value[new_points] = seq_N, step_N, time_N, value_N
        self._size = new
        self.num_non_finite += _count_non_finite(value_N)


def _room(array: Ints, size: int, capacity: int) -> Ints:
    grown = np.empty(capacity, np.int64)
    grown[:size] = array[:size]
    return grown


def _roomf(array: Floats, size: int, capacity: int) -> Floats:
    grown = np.empty(capacity, np.float64)
    grown[:size] = array[:size]
    return grown


def _count_non_finite(value_N: Floats) -> int:
    is_finite_N = np.isfinite(value_N)
    return 0 if is_finite_N.all() else len(value_N) - int(np.count_nonzero(is_finite_N))


__all__ = ["Points"]
