"""What may be asked of an evaluation, checked before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

from trackio_like.landscape.batches import as_whole
from trackio_like.landscape.budget import DEFAULT_MEMORY_BUDGET, PARALLEL_PRESETS
from trackio_like.landscape.errors import LandscapeError
from trackio_like.landscape.plan import MODES
from trackio_like.landscape.result import MAX_EDGE, MIN_EDGE, check_range
from trackio_like.landscape.scoring import BATCH_NORM_MODES, BatchNormMode, Criterion, LossFunction, Precision
from trackio_like.landscape.weights import PARAMS, Params

DirectionKind = Literal["random", "hessian", "trajectory"]
DIRECTION_KINDS: Final = get_args(DirectionKind)
BETWEEN_RANGE: Final = (-0.5, 1.5)
"""x from one checkpoint to another: half the way beyond each."""

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a landscape is evaluated."""

    n: int = 51
    """Points a side, 2 to 250."""
    x_range: tuple[float, float] | None = None
    """First and last x; (-1, 1), or what fits the directions, where None."""
    y_range: tuple[float, float] | None = None
    line: bool = False
    """One row, at y = 0."""
    mode: Literal["serial", "vector"] | None = None
    """None chooses what is faster."""
    chunk: int | None = None
    """Points of one vectorised pass; None chooses."""
    parallel: str | None = None
    """`low`, `medium`, `high` or `max`: bytes of perturbed weights of one vectorised pass."""
    criterion: Criterion | None = None
    loss_fn: LossFunction | None = None
    model_b: Any = None
    """x leads to this model, state dict or file."""
    directions: Any = "random"
    """`random`, `hessian`, `trajectory`, or a pair of directions of your own."""
    checkpoints: Sequence[Any] | Mapping[str, Any] | None = None
    """Models, state dicts or files that training went through, for `trajectory` and to be drawn."""
    seed: int = 0
    params: Params = "trainable"
    bn: BatchNormMode = "eval"
    precision: Precision | None = None
    tolerance: float = 0.01
    """Error, as a share of the surface's range, that interpolated points may have."""
    exact: bool = False
    """Measure every point."""
    memory_budget: int = DEFAULT_MEMORY_BUDGET
    workers: int = 0
    """Processes that measure beside this one, on the CPU."""
    time_limit_s: float | None = None
    keep_hooks: bool = False
    """Whether hooks run that only watch."""

    def __post_init__(self) -> None:
        for name in ("n", "chunk", "seed", "memory_budget", "workers"):
            if (whole := as_whole(getattr(self, name))) is not None:
                object.__setattr__(self, name, whole)  # numpy has integers of its own
        self._check_grid()
        _check("mode", self.mode, (None, *MODES))
        _check("parallel", self.parallel, (None, *PARALLEL_PRESETS))
        _check("params", self.params, PARAMS)
        _check("bn", self.bn, BATCH_NORM_MODES)
        _check("precision", self.precision, (None, *get_args(Precision)))
        self._check_directions()
        if not 0 < self.tolerance < 1:
            raise LandscapeError(f"tolerance={self.tolerance!r} is no share of the range; give more than 0, below 1.")
        if not _is_whole(self.memory_budget) or self.memory_budget <= 0:
            raise LandscapeError(f"memory_budget={self.memory_budget!r} is no number of bytes.")
        if not _is_whole(self.seed) or self.seed < 0:
            raise LandscapeError(f"seed={self.seed!r} is no seed; give a whole number, 0 or more.")
        if not _is_whole(self.workers) or self.workers < 0:
            raise LandscapeError(f"workers={self.workers!r} is no number of processes.")
        if self.chunk is not None and (not _is_whole(self.chunk) or self.chunk < 1):
            raise LandscapeError(f"chunk={self.chunk!r} is no number of points; give 1 or more.")
        if self.time_limit_s is not None and not self.time_limit_s > 0:
            raise LandscapeError(f"time_limit_s={self.time_limit_s!r} is no time; give seconds, more than 0.")

    def _check_grid(self) -> None:
        if not _is_whole(self.n) or not MIN_EDGE <= self.n <= MAX_EDGE:
            raise LandscapeError(f"n={self.n!r} is no number of points a side; give {MIN_EDGE} to {MAX_EDGE}.")
        for name in ("x_range", "y_range"):
            if getattr(self, name) is not None:
                try:
                    object.__setattr__(self, name, check_range(getattr(self, name), name=name))
                except ValueError as error:
                    raise LandscapeError(str(error)) from None

    def _check_directions(self) -> None:
        if isinstance(self.directions, str):
            _check("directions", self.directions, DIRECTION_KINDS)
        elif not isinstance(self.directions, Sequence) or len(self.directions) not in (1, 2):
            choices = ", ".join(DIRECTION_KINDS)
            raise LandscapeError(f"directions= takes one of {choices}, or a pair of directions of your own.")
        if self.model_b is not None and self.directions != "random":
            raise LandscapeError("model_b= gives the direction of x: leave directions= out.")
        if self.directions == "trajectory" and not self.checkpoints:
            raise LandscapeError("directions='trajectory' needs checkpoints=[...], two or more of this run.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(name: str, value: Choice, allowed: Sequence[Choice]) -> None:
    if value not in allowed:
        choices = ", ".join(str(choice) for choice in allowed if choice is not None)
        raise LandscapeError(f"{name}={value!r} is unknown; choose one of {choices}, or leave it out.")


__all__ = ["BETWEEN_RANGE", "DIRECTION_KINDS", "DirectionKind", "Options"]
