"""`trace_model`: one way after another until one goes all the way, and what it has shown."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from trackio_like.model.graph import Rung, TraceMode
from trackio_like.model.trace.attention import Core
from trackio_like.model.trace.cache_size import kv_bytes_per_token
from trackio_like.model.trace.dims import with_dims
from trackio_like.model.trace.finish import finished
from trackio_like.model.trace.records import Trace
from trackio_like.model.trace.rungs import Pass, run_fake, run_meta, run_real


def trace_model(
    model: nn.Module, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, allow_forward: bool = False,
    names_dims: bool = True, time_limit_s: float = 20.0, max_ops: int = 20_000,
) -> Trace:  # fmt: skip
    """Looks on while a model, or its shell, is called; the model is what it was before.

    Nothing that the model raises comes out: where no way goes to the end, the trace is of the one that came furthest,
    and says where it ended and why.

    Args:
        model: the model; never moved, copied, or changed.
        args: what it is called with, by position: tensors of any device, in any lists and dicts.
        kwargs: what it is called with, by name.
        allow_forward: whether it may be called for real, with its weights, where its shell does not do.
        names_dims: whether to find names of sizes, by a second pass of the shell.
        time_limit_s: for each way.
        max_ops: operations written down, turns of a loop counted once.

    Raises:
        ValueError: the arguments are not what they must be.
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"A model is a torch.nn.Module; this is a {type(model).__name__}.")  # noqa: TRY004
    if isinstance(args, (torch.Tensor, str)) or not isinstance(args, Sequence):
        raise ValueError("`args` is a tuple of what the model is called with by position; write (x,) for one tensor.")  # noqa: TRY004
    if time_limit_s <= 0 or max_ops < 1:
        raise ValueError("`time_limit_s` and `max_ops` are greater than 0.")
    kwargs = kwargs or {}
    rungs: list[Rung] = []
    best: Pass | None = None
    with _no_collections():
        for name, run in _ways(allow_forward=allow_forward):
            end_s = time.monotonic() + time_limit_s
            try:
                done = run(model, args, kwargs, max_ops=max_ops, end_s=end_s)
            except Exception as error:  # noqa: BLE001  # a stand-in that cannot be made is this way's end, not ours
                rungs.append(Rung(mode=name, error=_one_line(error)))
                continue
            rungs.append(Rung(mode=done.mode, error=done.error))
            if best is None or not done.error or done.num_ops > best.num_ops:
                best = done
            if not done.error or done.is_limit:
                break
        if best is None:
            return Trace(rungs=tuple(rungs), is_partial=True, error=rungs[-1].error)
        try:
            trace = finished(best, rungs, kv_bytes=_kv_bytes(model))
        except Exception as error:  # noqa: BLE001  # a fault of ours must not end a training either
            return Trace(rungs=tuple(rungs), is_partial=True, error=_one_line(error))
        if names_dims and best.mode == "meta" and not best.error:
            try:
                end_s = time.monotonic() + time_limit_s / 2
                trace = with_dims(trace, best, model, args, kwargs, end_s=end_s)
            except Exception as error:  # noqa: BLE001  # sizes without names are worth having
                trace = replace(trace, notes=(*trace.notes, f"Sizes have no names: {_one_line(error)}"))
    return trace


def _ways(*, allow_forward: bool) -> Iterator[tuple[TraceMode, Callable[..., Pass]]]:
    yield "meta", run_meta
    yield "fake", run_fake
    if allow_forward:
        yield "hooks", run_real


def _kv_bytes(model: nn.Module) -> Callable[[str, Core], int]:
    parts = dict(model.named_modules())

    def kv_bytes(path: str, core: Core) -> int:
        part = parts.get(path)
        if part is None:
            return 0
        dtype = getattr(torch, core.dtype, torch.float32)
        return kv_bytes_per_token(part, core, torch.empty((), dtype=dtype, device="meta").element_size())

    return kv_bytes


@contextmanager
def _no_collections() -> Iterator[None]:
    """No garbage collection meanwhile: with many objects, as large libraries have, it takes longer than the trace."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


__all__ = ["trace_model"]
