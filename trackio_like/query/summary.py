"""Last value, count and range of every key of a run, kept up as rows arrive.

Shapes: K keys of a run, U keys of an update, C calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trackio_like.store.blocks import Block, Ints

_INT_MIN = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySummary:
    """What is known of one key of a run without reading its points."""

    key: str
    count: int
    num_non_finite: int
    min: float | None
    """Over finite values; None where there is none."""
    max: float | None
    last: float | int
    """Of the newest attempt's last row; an int where float64 cannot hold it."""
    last_step: int | None
    last_us: int
    first_us: int


class Summary:
    """The keys of one run and kind; not thread-safe."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.index: dict[str, int] = {}
        self._positions: dict[tuple[str, ...], npt.NDArray[np.intp]] = {}
        self._ints = np.empty((8, 0), np.int64)
        self._floats = np.empty((3, 0))
        self._big_last: dict[int, int] = {}

    # Rows of the two tables.
    _COUNT, _NON_FINITE, _LAST_ATTEMPT, _LAST_US, _LAST_SEQ, _LAST_STEP, _FIRST_US, _CHANGED = range(8)
    _MIN, _MAX, _LAST = range(3)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def changed_K(self) -> Ints:
        """[K] cursor of each key's last change."""
        return self._ints[self._CHANGED, : len(self.keys)]

    @property
    def num_rows(self) -> int:
        """Rows of all keys."""
        return int(self._ints[self._COUNT, : len(self.keys)].sum())

    def changed_at(self, key: str) -> int | None:
        """The cursor of a key's last change, or None where the run does not have the key."""
        position = self.index.get(key)
        return None if position is None else int(self._ints[self._CHANGED, position])

    def last_values(self, *, since: int = 0) -> dict[str, float | int]:
        """The last value of each key that changed behind a cursor."""
        num_keys = len(self.keys)
        lasts = self._floats[self._LAST, :num_keys]
        if since <= 0:
            result: dict[str, float | int] = dict(zip(self.keys, lasts.tolist(), strict=True))
            result.update((self.keys[position], value) for position, value in self._big_last.items())
            return result
        positions = np.flatnonzero(self.changed_K > since).tolist()
        return {self.keys[p]: self._big_last.get(p, float(lasts[p])) for p in positions}

    def last_value(self, key: str) -> float | int | None:
        """The last value of one key, or None where the run does not have it."""
        position = self.index.get(key)
        if position is None:
            return None
        return self._big_last.get(position, float(self._floats[self._LAST, position]))

    def of(self, key: str) -> KeySummary | None:
        """All that is known of a key, or None where the run does not have it."""
        position = self.index.get(key)
        if position is None:
            return None
        ints, floats = self._ints[:, position].tolist(), self._floats[:, position].tolist()
        has_finite = ints[self._COUNT] > ints[self._NON_FINITE]
        return KeySummary(
            key=key,
            count=ints[self._COUNT],
            num_non_finite=ints[self._NON_FINITE],
            min=floats[self._MIN] if has_finite else None,
            max=floats[self._MAX] if has_finite else None,
            last=self._big_last.get(position, floats[self._LAST]),
            last_step=None if ints[self._LAST_STEP] == _INT_MIN else ints[self._LAST_STEP],
            last_us=ints[self._LAST_US],
            first_us=ints[self._FIRST_US],
        )

    def add_block(self, block: Block, *, attempt: int, cursor: int) -> None:
        """Takes in calls from a journal."""
        at_U = self._at(block.keys)
        values_CU = block.value_CK
        is_finite_CU = np.isfinite(values_CU)
        if is_finite_CU.all():
            low_U, high_U = values_CU.min(axis=0), values_CU.max(axis=0)
            num_non_finite: Any = 0
        else:
            low_U = np.where(is_finite_CU, values_CU, np.inf).min(axis=0)
            high_U = np.where(is_finite_CU, values_CU, -np.inf).max(axis=0)
            num_non_finite = len(values_CU) - is_finite_CU.sum(axis=0)
        num_calls = len(block.seq_C)
        self._merge(at_U, count=num_calls, num_non_finite=num_non_finite, low=low_U, high=high_U, cursor=cursor)
        self._ints[self._FIRST_US, at_U] = np.minimum(self._ints[self._FIRST_US, at_U], block.time_C[0])
        step = _INT_MIN if block.step_C is None else int(block.step_C[-1])
        is_newer_U = self._is_newer(at_U, attempt, int(block.time_C[-1]), int(block.seq_C[-1]))
        big = {key: value for call, key, value in block.big_ints if call == num_calls - 1}
        self._set_last(at_U, is_newer_U, attempt, block.time_C[-1], block.seq_C[-1], step, values_CU[-1], big)

    def add_columns(self, columns: dict[str, list[Any]], *, attempt: int, cursor: int) -> None:
        """Takes in a shard's rows from its footer.

        Args:
            columns: `SUMMARY_COLUMNS`, [U] each.
            attempt: the shard's attempt.
            cursor: of this change.
        """
        keys: Sequence[str] = columns.get("key", ())
        if not keys:
            return
        at_U = self._at(tuple(keys))
        low_U = np.array([np.inf if v is None else v for v in columns["min"]], np.float64)
        high_U = np.array([-np.inf if v is None else v for v in columns["max"]], np.float64)
        count_U, non_finite_U = np.array(columns["count"]), np.array(columns["num_non_finite"])
        self._merge(at_U, count=count_U, num_non_finite=non_finite_U, low=low_U, high=high_U, cursor=cursor)
        first_U = np.array(columns["first_time_us"], np.int64)
        self._ints[self._FIRST_US, at_U] = np.minimum(self._ints[self._FIRST_US, at_U], first_U)
        time_U, seq_U = np.array(columns["last_time_us"], np.int64), np.array(columns["last_seq"], np.int64)
        step_U = np.array([_INT_MIN if v is None else v for v in columns["last_step"]], np.int64)
        is_newer_U = self._is_newer(at_U, attempt, time_U, seq_U)
        last = columns["last"]
        big = {u: v for u, v in enumerate(last) if type(v) is int and abs(v) > 2**53}
        self._set_last(at_U, is_newer_U, attempt, time_U, seq_U, step_U, np.array(last, np.float64), big)

    def _at(self, keys: tuple[str, ...]) -> npt.NDArray[np.intp]:
        """Where the keys are, made where they are new."""
        known = self._positions.get(keys)
        if known is not None:
            return known
        for key in keys:
            if key not in self.index:
                self.index[key] = len(self.keys)
                self.keys.append(key)
        self._make_room()
        positions = np.fromiter((self.index[key] for key in keys), np.intp, len(keys))
        if len(self._positions) > 256:  # a writer whose keys never repeat
            self._positions.clear()
        self._positions[keys] = positions
        return positions

    def _make_room(self) -> None:
        old, new = self._ints.shape[1], len(self.keys)
        if new <= old:
            return
        capacity = max(8, new, old * 5 // 4)
        ints, floats = np.zeros((8, capacity), np.int64), np.empty((3, capacity))
        ints[[self._LAST_ATTEMPT, self._LAST_US, self._LAST_SEQ, self._LAST_STEP]] = _INT_MIN
        ints[self._FIRST_US] = np.iinfo(np.int64).max
        floats[self._MIN], floats[self._MAX], floats[self._LAST] = np.inf, -np.inf, np.nan
        ints[:, :old], floats[:, :old] = self._ints, self._floats
        self._ints, self._floats = ints, floats

    def _merge(
        self, at_U: npt.NDArray[np.intp], *, count: Any, num_non_finite: Any, low: Any, high: Any, cursor: int
    ) -> None:
        ints, floats = self._ints, self._floats
        ints[self._COUNT, at_U] += count
        ints[self._NON_FINITE, at_U] += num_non_finite
        ints[self._CHANGED, at_U] = cursor
        floats[self._MIN, at_U] = np.minimum(floats[self._MIN, at_U], low)
        floats[self._MAX, at_U] = np.maximum(floats[self._MAX, at_U], high)

    def _is_newer(self, at_U: npt.NDArray[np.intp], attempt: int, time: Any, seq: Any) -> npt.NDArray[np.bool_]:
        """Whether a row comes behind the last one known, in call order: (attempt, time, seq)."""
        old_attempt, old_time, old_seq = self._ints[self._LAST_ATTEMPT : self._LAST_SEQ + 1, at_U]
        same = old_attempt == attempt
        newer: npt.NDArray[np.bool_] = (old_attempt < attempt) | (
            same & ((old_time < time) | ((old_time == time) & (old_seq <= seq)))
        )
        return newer

    def _set_last(
        self,
        at_U: npt.NDArray[np.intp],
        is_newer_U: npt.NDArray[np.bool_],
        attempt: int,
        *columns: Any,
    ) -> None:
        time, seq, step, value_U, big = columns
        at = at_U[is_newer_U]
        for row, value in (
            (self._LAST_ATTEMPT, attempt),
            (self._LAST_US, time),
            (self._LAST_SEQ, seq),
            (self._LAST_STEP, step),
        ):
            self._ints[row, at] = np.broadcast_to(value, is_newer_U.shape)[is_newer_U]
        self._floats[self._LAST, at] = value_U[is_newer_U]
        if self._big_last:
            for position in at.tolist():
                self._big_last.pop(position, None)
        for position, value in big.items():
            if is_newer_U[position]:
                self._big_last[int(at_U[position])] = value


__all__ = ["KeySummary", "Summary"]
