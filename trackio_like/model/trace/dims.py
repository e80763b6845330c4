"""A second pass with another batch and other lengths: sizes that change get names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils._pytree import tree_flatten, tree_unflatten

from trackio_like.model.graph import Port, TensorIO
from trackio_like.model.trace.records import ModuleCall, Trace
from trackio_like.model.trace.rungs import Pass, run_meta
from trackio_like.model.trace.sizes import Plan, Sequences, Shape, name_of, plan
from trackio_like.model.trace.tape import Call

_TRIES: tuple[Sequences, ...] = ("all", "indices", "none")
_Signature = tuple[Any, ...]


def with_dims(
    trace: Trace, done: Pass, model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, end_s: float
) -> Trace:
    """The trace with names for sizes; as it was where the model takes no other sizes.

    Args:
        trace: of the first pass.
        done: the first pass.
        model: the model.
        args: of the first pass.
        kwargs: of the first pass.
        end_s: when to stop at the latest, in seconds of `time.monotonic()`.
    """
    values, spec = tree_flatten((tuple(args), dict(kwargs)), is_leaf=lambda value: isinstance(value, PackedSequence))
    if any(isinstance(value, PackedSequence) for value in values):
        return trace  # the sizes of its batches are not free
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    inputs = [Shape(sizes=tuple(t.shape), is_float=t.dtype.is_floating_point or t.dtype.is_complex) for t in tensors]
    # A second pass goes through one of the modules that went the same way in the first.
    same = _same_calls(done.tracer.tape.calls)
    tried: list[tuple[tuple[int, ...], ...]] = []
    for sequences in _TRIES:
        planned = plan(inputs, is_batch_first=_is_batch_first(model), sequences=sequences)
        if planned is None:
            return trace
        if planned.shapes in tried:
            continue
        tried.append(planned.shapes)
        other = iter(planned.shapes)
        changed = [
            torch.empty(next(other), dtype=value.dtype, device="meta") if isinstance(value, torch.Tensor) else value
            for value in values
        ]
        other_args, other_kwargs = tree_unflatten(changed, spec)
        again = run_meta(
            model, other_args, other_kwargs, max_ops=1, end_s=end_s,
            skipped={path: first for path, (first, _, _) in same.items()}, answers=done.tracer.answers,
        )  # fmt: skip
        if not again.error:
            found = _named(trace, done.tracer.tape.calls, again.tracer.tape.calls, same, planned)
            if found is not None:
                return found
    return trace


def _is_batch_first(model: nn.Module) -> bool:
    """Whether a batch stands first, as everywhere but where a module says that it does not."""
    return not any(getattr(part, "batch_first", None) is False for part in model.modules())


def _same_calls(calls: Sequence[Call]) -> dict[str, tuple[str, int, int]]:
    """Modules whose only call went as that of an earlier sibling, with all calls in it.

    Returns:
        By path: the sibling's path, its call, and the module's own.
    """
    children: list[list[int]] = [[] for _ in calls]
    for index, call in enumerate(calls):
        if call.parent >= 0:
            children[call.parent].append(index)
    signatures: list[_Signature] = [()] * len(calls)
    num_calls: dict[str, int] = {}
    for index in range(len(calls) - 1, -1, -1):
        call = calls[index]
        num_calls[call.path] = num_calls.get(call.path, 0) + 1
        inner = tuple((calls[child].path[len(call.path) :], hash(signatures[child])) for child in children[index])
        signatures[index] = (call.inputs, call.outputs, inner)
    found: dict[str, tuple[str, int, int]] = {}
    for index in range(len(calls)):
        first: dict[tuple[str, _Signature], int] = {}
        for child in children[index]:
            call = calls[child]
            if not children[child] or num_calls[call.path] != 1:
                continue
            container = call.path.rpartition(".")[0]
            known = first.setdefault((container, signatures[child]), child)
            if known != child:
                found[call.path] = (calls[known].path, known, child)
    return found


def _named(
    trace: Trace, first: Sequence[Call], second: Sequence[Call], same: Mapping[str, tuple[str, int, int]], planned: Plan
) -> Trace | None:
    """The trace with names; None where the two passes went different ways."""
    labels: list[tuple[list[tuple[str, ...]], list[tuple[str, ...]]] | None] = [None] * len(first)
    names = planned.names
    index = position = 0
    ends = _ends(first)
    while index < len(first):
        call = first[index]
        if call.path in same:
            _, known, _ = same[call.path]
            for offset in range(ends[index] - index):
                labels[index + offset] = labels[known + offset]
            index = ends[index]
            continue
        if position >= len(second) or second[position].path != call.path:
            return None
        other = second[position]
        labels[index] = (_dims(call.inputs, other.inputs, names), _dims(call.outputs, other.outputs, names))
        index, position = index + 1, position + 1
    by_path: dict[str, list[Any]] = {}
    for call, label in zip(first, labels, strict=True):
        by_path.setdefault(call.path, []).append(label)
    memory: dict[tuple[TensorIO, tuple[str, ...]], TensorIO] = {}
    calls = {
        path: tuple(_with_dims(call, label, memory) for call, label in zip(of_path, by_path[path], strict=True))
        for path, of_path in trace.calls.items()
    }
    root = labels[0]
    outputs = trace.outputs if root is None else _port_dims(trace.outputs, root[1])
    return replace(
        trace, calls=calls, inputs=_port_dims(trace.inputs, planned.dims), outputs=outputs,
        dims={name: pair[0] for name, pair in names.items()},
    )  # fmt: skip


def _ends(calls: Sequence[Call]) -> list[int]:
    """Of each call, the first one after it that did not happen in it."""
    ends = [index + 1 for index in range(len(calls))]
    for index in range(len(calls) - 1, 0, -1):
        parent = calls[index].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[index])
    return ends


def _dims(
    first: Sequence[TensorIO], second: Sequence[TensorIO], names: Mapping[str, tuple[int, int]]
) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for one, other in zip(first, second, strict=False):
        if len(one.shape) != len(other.shape):
            found.append(())
            continue
        found.append(tuple(name_of(a, b, names) for a, b in zip(one.shape, other.shape, strict=True)))
    return found


def _with_dims(call: ModuleCall, label: Any, memory: dict[Any, TensorIO]) -> ModuleCall:
    if label is None:
        return call

    def named(tensors: Sequence[TensorIO], dims: Sequence[tuple[str, ...]]) -> tuple[TensorIO, ...]:
        padded = [*dims, *[()] * (len(tensors) - len(dims))]
        return tuple(
            memory.setdefault((tensor, each), replace(tensor, dims=each if any(each) else ()))
            for tensor, each in zip(tensors, padded, strict=True)
        )

    return replace(call, inputs=named(call.inputs, label[0]), outputs=named(call.outputs, label[1]))


def _port_dims(ports: Sequence[Port], dims: Sequence[tuple[str, ...]]) -> tuple[Port, ...]:
    if len(ports) != len(dims):
        return tuple(ports)
    return tuple(replace(port, dims=each if any(each) else ()) for port, each in zip(ports, dims, strict=True))


__all__ = ["with_dims"]
