"""The scale on which a loss is interpolated: logarithmic, linear, or something between, whichever predicts best. Pure.

I rows and J columns of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from trackio_like.landscape.result import Floats
from trackio_like.landscape.spline import interpolate_grid

RESOLUTION: Final = 3e-5
"""A surface that varies by less, relative to its values, is flat: rounding to single precision is a percent of that."""
BEARS_HALVING: Final = 5
"""Lines of an axis from which every other one can be left out, to see what difference it makes."""
TINY: Final = 1e-250
"""Nor is there a logarithm of differences below this."""
SHIFTS: Final = (1e-4, 1e-2, 1e-1, 1.0)
"""Of log(z + shift), as fractions of the range; small is nearly logarithmic, large nearly linear."""
MUST_GAIN: Final = 0.8
"""A scale other than the logarithm must bring the error down to this; else the logarithm's true minima win."""


@dataclass(frozen=True, slots=True)
class Scale:
    """`log(z - base)`, or z itself."""

    base: float | None
    """Below every value; None is linear."""

    def forth(self, z_IJ: Floats) -> Floats:
        """Values on this scale; NaN stays."""
        return z_IJ if self.base is None else np.log(z_IJ - self.base)

    def back(self, t_IJ: Floats) -> Floats:
        """Values from this scale; overshoot becomes infinite rather than an error."""
        if self.base is None:
            return t_IJ
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(t_IJ) + self.base)


def choose_scale(y_I: Floats, x_J: Floats, z_IJ: Floats, *, half_I: Sequence[int], half_J: Sequence[int]) -> Scale:
    """The scale on which every other line predicts the lines between them best.

    Args:
        y_I: coordinates of the rows.
        x_J: coordinates of the columns.
        z_IJ: losses at the nodes; NaN where diverged.
        half_I: indices of the rows to predict from.
        half_J: indices of the columns to predict from.
    """
    finite = z_IJ[np.isfinite(z_IJ)]
    extent = extent_of(finite)
    if not finite.size or np.ptp(finite) < max(extent, TINY):
        return Scale(None)
    low = float(finite.min())
    is_positive = low > 0
    scales = [Scale((0.0 if is_positive else low) - share * extent) for share in SHIFTS] + [Scale(None)]
    if is_positive:
        scales.insert(0, Scale(0.0))
    errors = [_error(scale, y_I, x_J, z_IJ, half_I=half_I, half_J=half_J) for scale in scales]
    best = int(np.argmin(errors))
    return scales[0] if is_positive and errors[best] >= MUST_GAIN * errors[0] else scales[best]


def extent_of(losses: Floats) -> float:
    """The range of some finite losses, at least what single precision resolves; 0 of none."""
    return max(float(np.ptp(losses)), RESOLUTION * float(np.abs(losses).max())) if losses.size else 0.0


def _error(
    scale: Scale, y_I: Floats, x_J: Floats, z_IJ: Floats, *, half_I: Sequence[int], half_J: Sequence[int]
) -> float:
    """The root mean square error of a spline through every other line, at the nodes left out."""
    y_half, x_half, z_half = y_I[half_I], x_J[half_J], z_IJ[np.ix_(half_I, half_J)]
    guess_IJ = scale.back(interpolate_grid(y_half, x_half, scale.forth(z_half), y_R=y_I, x_C=x_J))
    miss_IJ = np.abs(guess_IJ - z_IJ)
    miss = miss_IJ[~np.isnan(miss_IJ)]
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean(miss**2))) if miss.size else 0.0


def every_other(num: int, *, of: int) -> list[int]:
    """Indices of every other line and both ends; all of fewer than 5, which would not bear it, and of a whole axis.

    Args:
        num: lines.
        of: lines that the axis could have; nothing is interpolated along one that has them all.
    """
    return list(range(num)) if num < BEARS_HALVING or num == of else [*range(0, num - 1, 2), num - 1]


__all__ = ["BEARS_HALVING", "Scale", "choose_scale", "every_other", "extent_of"]
