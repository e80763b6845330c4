"""From `log_model()` to a row: takes a graph or builds one of a model, and keeps every failure out of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trackio_like.datatypes import MODEL_GRAPH
from trackio_like.datatypes.model_graph import encode
from trackio_like.errors import TrackioLikeError
from trackio_like.model import ModelGraph
from trackio_like.run.guard import Guard
from trackio_like.run.objects import ObjectRun

_TOLD_LENGTH: Final = 60
"""So much of a reason tells it from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of `log_model()`."""

    model: Any
    name: Any
    step: int
    meta: Any
    options: Mapping[str, Any]
    """What `build_model_graph` takes."""


def log_model(run: ObjectRun, guard: Guard, call: ModelCall) -> None:
    """Stores a model graph. What goes wrong is told by the guard; only Ctrl-C and the like pass through.

    Args:
        run: where it is stored.
        guard: where problems go.
        call: what was asked for.
    """
    try:
        _check(call)
        graph = _graph(guard, call)
        if graph is not None:
            payload, file = encode(graph, call.meta)
            run.log_object(
                call.name, MODEL_GRAPH.name, payload, file=file, extension=MODEL_GRAPH.extension, step=call.step
            )
    except TrackioLikeError:
        raise  # strict: a problem that was told by raising it
    except Exception as error:  # noqa: BLE001 - a model and its forward may raise anything
        is_plain = isinstance(error, ValueError | TypeError)
        reason = str(error) if is_plain else f"{type(error).__name__}: {error}"
        guard.problem(
            f"model {call.name}: {reason[:_TOLD_LENGTH]}",
            f"No model graph was stored for {call.name!r} (step {call.step}): {reason.rstrip('.')}. The model is as it "
            "was, and training goes on.",
        )


def _check(call: ModelCall) -> None:
    if not isinstance(call.name, str) or not call.name:
        raise ValueError(f"name={call.name!r} is not a name; give a non-empty string")
    if call.meta is not None and not isinstance(call.meta, Mapping):
        raise ValueError(f"meta= is a {type(call.meta).__name__}; give a dict")


def _graph(guard: Guard, call: ModelCall) -> ModelGraph | None:
    if isinstance(call.model, ModelGraph | Mapping):
        graph = call.model if isinstance(call.model, ModelGraph) else ModelGraph.from_document(call.model)
        return replace(graph, meta=replace(graph.meta, name=call.name))
    try:
        from trackio_like.model import build_model_graph
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        guard.problem(
            "no torch for models",
            "To draw the graph of a model, install torch: pip install 'trackio-like[torch]'. Nothing was stored of "
            "this call, and training goes on.",
        )
        return None
    graph = build_model_graph(call.model, call.name, **call.options)
    if call.options["trace"] and graph.meta.trace_mode == "static":
        why = next((rung.error for rung in reversed(graph.meta.rungs) if rung.error), "")
        why = why or next(iter(graph.meta.notes), "")
        guard.problem(
            f"model {call.name} untraced",
            f"{call.name!r} was stored without a trace: its modules are drawn, what flows between them is not known. "
            + (f"{why.rstrip('.')}. " if why else "")
            + "Pass input_shape= or example_inputs= that the model takes.",
        )
    return graph


__all__ = ["ModelCall", "log_model"]
