"""`Run.log_model`: its options by name, and as light as the rest of a run until it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from trackio_like.run.objects import ObjectRun


class ModelRun(ObjectRun):
    """A run that model graphs can be logged into."""

    def log_model(
        self,
        model: Any,
        name: str = "model",
        *,
        step: int | None = None,
        input_shape: Any = None,
        trace: bool = False,
        example_inputs: Any = None,
        allow_forward: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """Stores a graph of a network: its modules and, when traced, what flows between them.

        Never raises, and the model is what it was before. A call that fails costs one warning. docs/dashboard.md says
        what the page makes of it.

        Args:
            model: a torch module; or a graph that was built before, a `ModelGraph` or its document.
            name: what it is called; a name has one graph a step.
            step: the step that it belongs to; the last one of `log()` where None, and it does not count on.
            input_shape: sizes of the input, or a list of such for several inputs.
            trace: whether to run the model without computing anything, to see what goes where.
            example_inputs: what to call the model with instead of `input_shape`: a tensor, a tuple of arguments, a dict
                of keyword arguments, or a pair of both. With either of them, `trace=True` has shapes to work with.
            allow_forward: whether the model may really be run where nothing less will do.
            meta: what else is to be shown with it.
        """
        try:
            # Loaded with the first graph: training may do without it.
            glue = importlib.import_module("trackio_like._model")
            call = glue.ModelCall(
                model=model,
                name=name,
                step=self.object_step(step),
                meta=meta,
                options={
                    "input_shape": input_shape,
                    "trace": trace,
                    "example_inputs": example_inputs,
                    "allow_forward": allow_forward,
                },
            )
            glue.log_model(self, self._guard, call)
        except Exception as error:  # noqa: BLE001 - as in log()
            self._failed("log_model", error)


__all__ = ["ModelRun"]
