"""`LossLandscape`: a measured or given surface, as values. Needs numpy and nothing else.

C columns (x), R rows (y); row-major, both axes rise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MIN_EDGE: Final = 2
MAX_EDGE: Final = 250
"""Cells of a side: beyond that a page shows less, not more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point of the plane that has a name."""

    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The way that training took, projected onto the plane."""

    x_S: tuple[float, ...]
    y_S: tuple[float, ...]
    labels_S: tuple[str, ...]
    """What each of the S points is, such as `step 100`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLandscape:
    """Losses on a grid around some weights, and how they were got."""

    x_C: Floats
    """Coordinates of the columns, rising strictly."""
    y_R: Floats
    """Coordinates of the rows, rising strictly; [0] of a line."""
    z_RC: Floats
    """Losses; NaN and infinities are values that were measured."""
    is_measured_RC: Bools
    """False where a cell is interpolated, or unknown."""
    is_known_RC: Bools
    """False where a cell is neither measured nor interpolated."""
    x_label: str = "x"
    y_label: str = "y"
    marks: tuple[Mark, ...] = ()
    path: Path | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.y_R), len(self.x_C))
        for name in ("z_RC", "is_measured_RC", "is_known_RC"):
            found = getattr(self, name).shape
            if found != shape:
                raise ValueError(f"{name} has the shape {found}, but the axes have {shape}.")
        check_edges(*shape)
        for name, axis in (("x_C", self.x_C), ("y_R", self.y_R)):
            if not np.isfinite(axis).all() or (np.diff(axis) <= 0).any():
                raise ValueError(f"{name} must rise strictly and be finite.")

    @classmethod
    def from_grid(
        cls,
        z_RC: Any,
        *,
        x_range: Sequence[float] = (-1.0, 1.0),
        y_range: Sequence[float] = (-1.0, 1.0),
        meta: Mapping[str, Any] | None = None,
    ) -> Self:
        """A surface that somebody else computed.

        Args:
            z_RC: [R, C] numbers: an array, a tensor or nested lists; rows are y. `None` is a cell that is not known.
            x_range: coordinates of the first and the last column.
            y_range: coordinates of the first and the last row.
            meta: how it was computed.

        Raises:
            ValueError: it is no grid of 2 to 250 cells a side, or a range is none.
        """
        if hasattr(z_RC, "detach"):  # a tensor, which may lie on a device or have a dtype that numpy lacks
            z_RC = z_RC.detach().cpu().double().numpy()
        try:
            z = np.array(z_RC, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The grid is not a rectangle of numbers: {error}") from None
        if z.ndim != 2:
            raise ValueError(f"The grid must have two dimensions, rows (y) and columns (x); this one has {z.ndim}.")
        check_edges(*z.shape)
        is_known = np.array(
            [[value is not None for value in row] for row in z_RC] if isinstance(z_RC, list) else np.ones(z.shape),
            dtype=np.bool_,
        )
        return cls(
            x_C=spread(x_range, z.shape[1], name="x_range"),
            y_R=spread(y_range, z.shape[0], name="y_range") if z.shape[0] > 1 else np.zeros(1),
            z_RC=z,
            is_measured_RC=is_known.copy(),
            is_known_RC=is_known,
            meta=dict(meta or {}),
        )


def check_edges(num_rows: int, num_cols: int) -> None:
    """Refuses what is too small to be a surface or too large to be seen.

    Raises:
        ValueError: a side is out of range; one row, a line, is allowed.
    """
    for what, number, least in (("rows", num_rows, 1), ("columns", num_cols, MIN_EDGE)):
        if not least <= number <= MAX_EDGE:
            raise ValueError(f"The grid has {number} {what}; it may have {least} to {MAX_EDGE}.")


def spread(ends: Sequence[float], num: int, *, name: str) -> Floats:
    """Evenly spaced coordinates.

    Raises:
        ValueError: the ends are not two rising finite numbers.
    """
    low, high = check_range(ends, name=name)
    return np.linspace(low, high, num)


def check_range(ends: Sequence[float], *, name: str) -> tuple[float, float]:
    """The two ends of an axis.

    Raises:
        ValueError: they are not two rising finite numbers.
    """
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={ends!r} is no range; give two numbers, such as (-1, 1).") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"{name}={ends!r} is no range; give two finite numbers, the smaller one first.")
    return low, high


__all__ = ["MAX_EDGE", "MIN_EDGE", "LossLandscape", "Mark", "Path", "check_edges", "check_range", "spread"]
