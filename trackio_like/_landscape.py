"""From `log_loss_landscape()` to a row: takes a grid or evaluates a model, and keeps every failure out of training."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard

from trackio_like._progress import Progress
from trackio_like.datatypes import LOSS_LANDSCAPE
from trackio_like.datatypes.landscape import encode
from trackio_like.errors import TrackioLikeError
from trackio_like.landscape.errors import LandscapeError
from trackio_like.landscape.result import LossLandscape
from trackio_like.run.guard import Guard, warn_user
from trackio_like.run.objects import ObjectRun

if TYPE_CHECKING:
    from trackio_like.landscape.session import Evaluation

_MANUAL_RANGE: Final = (-1.0, 1.0)
_TOLD_LENGTH: Final = 60
"""So much of a reason tells it from others."""
_PUT_BACK: Final = "The model was put back as it was, and training goes on."


@dataclass(frozen=True, slots=True, kw_only=True)
class LandscapeCall:
    """One call of `log_loss_landscape()`."""

    model_or_grid: Any
    loader: Any
    step: int
    name: Any
    meta: Any
    progress: Any
    options: Mapping[str, Any]
    """What `Evaluation` takes."""


class _Watcher(Protocol):
    """What is told how far an evaluation is."""

    def __call__(self, num_measured: int, num_planned: int, /) -> None: ...


class _Frozen:
    """The batches of one name, and the loader that they were taken from."""

    def __init__(self, batches: Any, loader: Any) -> None:
        self.batches = batches
        self._id = id(loader)
        try:
            self._loader: weakref.ref[Any] | None = weakref.ref(loader)
        except TypeError:  # such as a list: its id has to do
            self._loader = None

    def is_of(self, loader: Any) -> bool:
        """Whether they were taken from this loader."""
        return id(loader) == self._id if self._loader is None else self._loader() is loader


_frozen: Final[weakref.WeakKeyDictionary[ObjectRun, dict[str, _Frozen]]] = weakref.WeakKeyDictionary()
"""The batches of each run, by name: the same data at every step, or the surfaces could not be compared."""


def log_landscape(run: ObjectRun, guard: Guard, call: LandscapeCall) -> None:
    """Stores a landscape. What goes wrong is told by the guard; only Ctrl-C and the like pass through.

    Args:
        run: where it is stored.
        guard: where problems go.
        call: what was asked for.
    """
    is_model = _is_model(call.model_or_grid)
    try:
        _check(call)
        landscape = _evaluate(run, guard, call) if is_model else _take(guard, call)
        if landscape is not None:
            _store(run, landscape, call)
    except TrackioLikeError:
        raise  # strict: a problem that was told by raising it
    except Exception as error:  # noqa: BLE001 - a model, its data and its loss may raise anything
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        guard.problem(
            f"landscape {call.name}: {reason[:_TOLD_LENGTH]}",
            f"No loss landscape was stored for {call.name!r} (step {call.step}): {reason.rstrip('.')}. "
            + (_PUT_BACK if is_model else "Training goes on."),
        )


def _is_model(model_or_grid: Any) -> bool:
    return hasattr(model_or_grid, "parameters")


def _check(call: LandscapeCall) -> None:
    """Refuses what could not be stored, before minutes are spent on it."""
    if not isinstance(call.name, str) or not call.name:
        raise ValueError(f"name={call.name!r} is not a name; give a non-empty string")
    if call.meta is not None and not isinstance(call.meta, Mapping):
        raise ValueError(f"meta= is a {type(call.meta).__name__}; give a dict")
    if not (call.progress is None or isinstance(call.progress, bool) or callable(call.progress)):
        raise ValueError(f"progress={call.progress!r} is unknown; give True, False or a function of two numbers")


def _store(run: ObjectRun, landscape: LossLandscape, call: LandscapeCall) -> None:
    if call.meta:
        landscape = replace(landscape, meta={**landscape.meta, **call.meta})
    payload, file = encode(landscape)
    run.log_object(
        call.name, LOSS_LANDSCAPE.name, payload, file=file, extension=LOSS_LANDSCAPE.extension, step=call.step
    )


# -- given ------------------------------------------------------------------------------------------------------------


def _take(guard: Guard, call: LandscapeCall) -> LossLandscape:
    if call.loader is not None:
        guard.problem(
            f"landscape {call.name} grid with loader",
            f"log_loss_landscape() was given a grid and a loader: the grid was stored for {call.name!r}, and the "
            "loader was not used. Give a model to have it evaluated.",
        )
    if isinstance(call.model_or_grid, LossLandscape):
        return call.model_or_grid
    x_range, y_range = call.options["x_range"], call.options["y_range"]
    return LossLandscape.from_grid(
        call.model_or_grid,
        x_range=_MANUAL_RANGE if x_range is None else x_range,
        y_range=_MANUAL_RANGE if y_range is None else y_range,
    )


# -- evaluated --------------------------------------------------------------------------------------------------------


def _evaluate(run: ObjectRun, guard: Guard, call: LandscapeCall) -> LossLandscape | None:
    evaluation_class = _evaluation_class(guard)
    if evaluation_class is None:
        return None
    data = _data_of(run, guard, call)
    watcher = _watcher(guard, call.progress)
    evaluation = evaluation_class(call.model_or_grid, data, on_progress=watcher, **call.options)
    own = _frozen.setdefault(run, {})
    if call.name not in own:
        own[call.name] = _Frozen(evaluation.batches, call.loader)
    try:
        evaluation.run()
    except Exception:
        raise
    except BaseException:  # Ctrl-C, or somebody ends the process: the model is put back, and the part is kept
        _store_part(run, evaluation, call)
        raise
    finally:
        if isinstance(watcher, _Bar):
            watcher.clear()
    found = evaluation.result()
    if found is None:
        raise LandscapeError("no point was measured; is time_limit_s= too short?")
    return found


def _store_part(run: ObjectRun, evaluation: Evaluation, call: LandscapeCall) -> None:
    try:
        found = evaluation.result()
        if found is not None:
            _store(run, found, call)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not take the interrupt's place
        warn_user(f"What was measured of {call.name!r} was not stored ({type(error).__name__}: {error}).")


def forget(run: ObjectRun) -> None:
    """Lets go of the batches of a run that is over: the process holds its runs to its end."""
    _frozen.pop(run, None)


def _evaluation_class(guard: Guard) -> type[Evaluation] | None:
    try:
        from trackio_like.landscape.session import Evaluation
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        guard.problem(
            "no torch",
            "To draw the loss landscape of a model, install torch: pip install 'trackio-like[torch]'. Nothing was "
            "stored of this call, and training goes on.",
        )
        return None
    return Evaluation


def _data_of(run: ObjectRun, guard: Guard, call: LandscapeCall) -> Any:
    """The batches that this name was evaluated on before, else the loader."""
    known = _frozen.get(run, {}).get(call.name)
    if known is None:
        if call.loader is None:
            raise LandscapeError("a model needs data: log_loss_landscape(model, loader)")
        return call.loader
    if call.loader is not None and not known.is_of(call.loader):
        guard.problem(
            f"landscape {call.name} loader",
            f"{call.name!r} was given another loader than the first time: it is evaluated on the batches that were "
            "taken then, so that its steps can be compared. Give another name= to have fresh ones taken.",
        )
    return known.batches


# -- watching ---------------------------------------------------------------------------------------------------------


class _Bar:
    """Shows on stderr how many points are measured."""

    def __init__(self, *, is_for_terminals: bool) -> None:
        self._bar = Progress("Measuring a loss landscape", amount=str, is_for_terminals=is_for_terminals)
        self._started_s = time.monotonic()

    def __call__(self, num_measured: int, num_planned: int, /) -> None:
        self._bar.show(num_measured, num_planned, time.monotonic() - self._started_s)

    def clear(self) -> None:
        """Takes it off the terminal."""
        self._bar.clear()


class _Told:
    """A function of the user's; one that fails is not called again."""

    def __init__(self, guard: Guard, function: Callable[[int, int], Any]) -> None:
        self._guard = guard
        self._function = function
        self._is_broken = False

    def __call__(self, num_measured: int, num_planned: int, /) -> None:
        if self._is_broken:
            return
        try:
            self._function(num_measured, num_planned)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the evaluation has nothing to do with it
            self._is_broken = True
            self._guard.problem(
                "landscape progress",
                f"progress= failed ({type(error).__name__}: {error}); the landscape is evaluated without it.",
            )


def _watcher(guard: Guard, progress: Any) -> _Watcher | None:
    if progress is False:
        return None
    if _is_function(progress):
        return _Told(guard, progress)
    return _Bar(is_for_terminals=progress is None)


def _is_function(progress: Any) -> TypeGuard[Callable[[int, int], Any]]:
    return callable(progress)


__all__ = ["LandscapeCall", "forget", "log_landscape"]
