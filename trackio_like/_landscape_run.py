"""`Run.log_loss_landscape`: its options by name, and as light as the rest of a run until it is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from trackio_like.landscape.budget import DEFAULT_MEMORY_BUDGET
from trackio_like.run.core import FINISH_TIMEOUT_S
from trackio_like.run.objects import ObjectRun

_GLUE: Final = "trackio_like._landscape"


class LandscapeRun(ObjectRun):
    """A run that loss landscapes can be logged into."""

    def log_loss_landscape(  # noqa: PLR0913 - each option by its name, where completion finds it
        self,
        model_or_grid: Any,
        loader: Any = None,
        *,
        step: int | None = None,
        name: str = "loss_landscape",
        n: int = 51,
        nbatches: int = 8,
        mode: Literal["serial", "vector"] | None = None,
        chunk: int | None = None,
        parallel: Literal["low", "medium", "high", "max"] | None = None,
        model_b: Any = None,
        criterion: Any = None,
        loss_fn: Callable[[Any, Any], Any] | None = None,
        seed: int = 0,
        x_range: Sequence[float] | None = None,
        y_range: Sequence[float] | None = None,
        directions: Any = "random",
        checkpoints: Sequence[Any] | Mapping[str, Any] | None = None,
        params: Literal["trainable", "all"] = "trainable",
        bn: Literal["eval", "recalibrate"] = "eval",
        tolerance: float = 0.01,
        exact: bool = False,
        line: bool = False,
        precision: Literal["bf16"] | None = None,
        memory_budget: int | None = None,
        workers: int = 0,
        time_limit_s: float | None = None,
        keep_hooks: bool = False,
        progress: bool | Callable[[int, int], Any] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """Stores a loss landscape: of a torch model, which is evaluated now and put back bit for bit, or a grid.

        Never raises but for Ctrl-C and the like, before which the part that was measured is stored. A call that fails
        costs one warning. docs/loss_landscapes.md says what each option does.

        Args:
            model_or_grid: a torch module; or rows of numbers, rows being y, 2 to 250 a side.
            loader: the data of a model. Its first batches are taken once for each run and name.
            step: the step that it belongs to; the last one of `log()` where None, and it does not count on.
            name: what it is called; a name has one landscape a step.
            n: points a side.
            nbatches: how many batches are taken of the loader.
            mode: how points are evaluated; what is faster where None.
            chunk: points of one vectorised pass.
            parallel: how much memory a vectorised pass may take.
            model_b: x leads to this module, state dict or file.
            criterion: the loss of outputs and targets.
            loss_fn: the loss of model and batch.
            seed: of the random directions.
            x_range: first and last x; (-1, 1) where None, (-0.5, 1.5) towards `model_b`.
            y_range: first and last y.
            directions: `random`, `hessian`, `trajectory`, or a pair of your own.
            checkpoints: what training went through, for `trajectory` and to be drawn; a dict gives them names.
            params: which parameters are moved.
            bn: what batch norm does.
            tolerance: error of interpolated points, as a share of the surface's range.
            exact: measure every point.
            line: one row, at y = 0.
            precision: what is computed in; what the model does where None.
            memory_budget: bytes beyond the model and its data; 1 GiB where None.
            workers: processes that measure too.
            time_limit_s: seconds after which what was measured is stored.
            keep_hooks: whether the model's hooks run.
            progress: False for no bar, True for lines where there is no terminal, or a function that is told how many
                points are measured and planned.
            meta: what else is to be shown with it.
        """
        options = {
            "n": n,
            "nbatches": nbatches,
            "mode": mode,
            "chunk": chunk,
            "parallel": parallel,
            "model_b": model_b,
            "criterion": criterion,
            "loss_fn": loss_fn,
            "seed": seed,
            "x_range": x_range,
            "y_range": y_range,
            "directions": directions,
            "checkpoints": checkpoints,
            "params": params,
            "bn": bn,
            "tolerance": tolerance,
            "exact": exact,
            "line": line,
            "precision": precision,
            "memory_budget": DEFAULT_MEMORY_BUDGET if memory_budget is None else memory_budget,
            "workers": workers,
            "time_limit_s": time_limit_s,
            "keep_hooks": keep_hooks,
        }
        try:
            # Loaded with the first landscape: it brings numpy and pyarrow, which training may do without.
            glue = importlib.import_module(_GLUE)
            call = glue.LandscapeCall(
                model_or_grid=model_or_grid,
                loader=loader,
                step=self.object_step(step),
                name=name,
                meta=meta,
                progress=progress if self._logs_metrics else False,
                options=options,
            )
            glue.log_landscape(self, self._guard, call)
        except Exception as error:  # noqa: BLE001 - as in log()
            self._failed("log_loss_landscape", error)

    def finish(
        self, state: str = "finished", *, error: str | None = None, timeout: float | None = FINISH_TIMEOUT_S
    ) -> None:
        """Records how the run ended and closes its journal; idempotent. Never raises.

        Everything is on this machine's disk then. Where rows are sent to the Hub or a server, it waits until they have
        arrived, and shows how far they are; the daemon sends what is left, also after this process ends.

        Args:
            state: finished, failed, terminated, cancelled, preempted, or a word of your own.
            error: what ended it, where it failed.
            timeout: seconds to wait at most for rows to arrive; 0 for not at all, None for as long as it takes.
        """
        glue = sys.modules.get(_GLUE)  # not loaded by a run that has no landscapes
        if glue is not None:
            glue.forget(self)
        super().finish(state, error=error, timeout=timeout)


__all__ = ["LandscapeRun"]
