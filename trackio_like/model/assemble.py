"""`build_model_graph`: a network, read and traced, as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from trackio_like.model.combine import with_combines
from trackio_like.model.dims import config_sizes, named_module, named_ports
from trackio_like.model.flows import fold_flows
from trackio_like.model.graph import ModelGraph, Rung
from trackio_like.model.inputs import Inputs, checked_shapes, given_inputs, guessed_inputs, shaped_inputs
from trackio_like.model.static import Still, bare_graph, still_graph
from trackio_like.model.trace import trace_model
from trackio_like.model.trace.records import Trace
from trackio_like.model.traced import called_order, measured
from trackio_like.module_state.wrappers import without_wrappers


def build_model_graph(
    model: nn.Module,
    name: str = "model",
    input_shape: Any = None,
    trace: bool = False,
    *,
    example_inputs: Any = None,
    allow_forward: bool = False,
    fold: bool = True,
    time_limit_s: float = 20.0,
) -> ModelGraph:
    """A graph of a network: what it is made of and, when traced, how data go through it.

    The model is what it was before, bit for bit: flags, buffers, attributes, hooks and random generators too. Whatever
    the model does, a graph comes back; why it says less than it could is in `meta.notes` and `meta.rungs`.

    Args:
        model: on any device, also the meta device; compiled and distributed ones are looked into.
        name: of the graph.
        input_shape: sizes of the input, or a list of such for several inputs. Whole numbers go in where the first layer
            is an embedding. A model of `transformers` needs none.
        trace: whether to run the model without computing anything, to see what goes where.
        example_inputs: what to call the model with instead: a tensor, a tuple of arguments, a dict of keyword
            arguments, or a pair of both.
        allow_forward: whether the model may really be run where nothing less will do.
        fold: False shows every module, also those that repeat.
        time_limit_s: for each way of tracing; what was seen until then is kept.

    Raises:
        TypeError: the model is no `nn.Module`.
        ValueError: an argument cannot be understood.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"A model graph is of a torch.nn.Module, not of a {type(model).__name__}.")
    if input_shape is not None and example_inputs is not None:
        raise ValueError("Give input_shape or example_inputs, not both: they say the same thing.")
    if time_limit_s <= 0:
        raise ValueError(f"time_limit_s={time_limit_s!r} must be more than 0 seconds.")
    model = without_wrappers(model)
    given = None if example_inputs is None else given_inputs(example_inputs)
    shapes = None if input_shape is None else checked_shapes(input_shape)
    try:
        still = still_graph(model, name, is_folding=fold)
    except Exception as error:  # noqa: BLE001 - anybody's module may do anything when it is looked at
        return bare_graph(model, name, f"Its modules could not be read: {type(error).__name__}: {error}")
    if not trace:
        return still.graph
    inputs = given or _inputs(model, shapes)
    if isinstance(inputs, str):
        return _noted(still.graph, f"It was not traced: {inputs}")
    return _traced(model, still, inputs, allow_forward=allow_forward, time_limit_s=time_limit_s)


def _inputs(model: nn.Module, shapes: Sequence[tuple[int, ...]] | None) -> Inputs | str:
    """What to call the model with, or why that is not known.

    Raises:
        ValueError: the shapes do not fit the model.
    """
    try:
        found = guessed_inputs(model) if shapes is None else shaped_inputs(model, shapes)
    except Exception as error:
        if shapes is not None and isinstance(error, ValueError):
            raise
        return f"its inputs could not be made: {type(error).__name__}: {error}"
    return found or "nothing says what goes into it. Pass input_shape or example_inputs."


def _traced(model: nn.Module, still: Still, inputs: Inputs, *, allow_forward: bool, time_limit_s: float) -> ModelGraph:
    try:
        seen = trace_model(model, inputs.args, inputs.kwargs, allow_forward=allow_forward, time_limit_s=time_limit_s)
        if seen.mode != "static" and seen.ops:
            return joined(model, still, seen, notes=inputs.notes)
    except Exception as error:  # noqa: BLE001 - a picture never ends a training
        graph = _noted(still.graph, f"It was not traced: {type(error).__name__}: {error}")
        return replace(graph, meta=replace(graph.meta, rungs=(Rung(mode="static"),)))
    why = [f"It was not traced: {seen.error}"] if seen.error else []
    graph = _noted(still.graph, *inputs.notes, *why, *seen.notes)
    return replace(graph, meta=replace(graph.meta, rungs=seen.rungs))


def joined(model: nn.Module, still: Still, trace: Trace, *, notes: Sequence[str] = ()) -> ModelGraph:
    """The graph of a network that was read, with what a trace of it has shown.

    Args:
        model: the network.
        still: what was read.
        trace: of one call.
        notes: what else to say.
    """
    graph, folded = still.graph, still.folded
    sizes = config_sizes(model)
    modules = [named_module(module, sizes) for module in measured(graph.modules, trace, folded)]
    flows = fold_flows(trace, folded)
    ops = with_combines(flows.ops, flows.edges, modules)
    order = called_order(trace, folded)
    position = {old: new for new, old in enumerate(order)}
    parents = [module.parent for module in modules]
    failed = f"The trace ended in {trace.failed_at or 'the model'}: {trace.error}" if trace.is_partial else ""
    totals = replace(
        graph.meta.totals, flops=trace.flops, macs=trace.macs, activation_bytes=trace.activation_bytes,
        peak_bytes=trace.peak_bytes, kv_bytes_per_token=sum(trace.kv_bytes.values()),
    )  # fmt: skip
    meta = replace(
        graph.meta, trace_mode=trace.mode, rungs=trace.rungs, is_partial=trace.is_partial, failed_at=trace.failed_at,
        num_assumed=trace.num_assumed, dims=dict(trace.dims), totals=totals,
        notes=tuple(note for note in (*graph.meta.notes, *notes, failed, *trace.notes) if note),
    )  # fmt: skip
    return ModelGraph(
        meta=meta,
        modules=tuple(replace(modules[old], parent=position.get(parents[old], -1)) for old in order),
        ops=tuple(replace(op, module=position[op.module]) for op in ops),
        edges=flows.edges,
        inputs=named_ports(flows.inputs, sizes),
        outputs=named_ports(flows.outputs, sizes),
        ties=tuple(replace(tie, modules=tuple(position[at] for at in tie.modules)) for tie in graph.ties),
    )


def _noted(graph: ModelGraph, *notes: str) -> ModelGraph:
    return replace(graph, meta=replace(graph.meta, notes=(*graph.meta.notes, *notes)))


__all__ = ["build_model_graph", "joined"]
