"""Functions that are one operation for us, though they run as many: attention, recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from trackio_like.model.trace.flops import attention_macs, recurrent_macs
from trackio_like.model.trace.tracer import Tracer


class Functions(TorchFunctionMode):  # type: ignore[misc]  # torch ships no types that are followed here
    """Catches such functions before they come apart, while it is entered."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self._tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        handler = _HANDLERS.get(func)
        if handler is None:
            return func(*args, **(kwargs or {}))
        return handler(self._tracer, func, args, kwargs or {})


def _attention(tracer: Tracer, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given: list[Any] = [*args, *(kwargs[name] for name in ("query", "key", "value") if name in kwargs)]
    query, key, value, *rest = given
    others = {name: each for name, each in kwargs.items() if name not in ("query", "key", "value")}
    macs = attention_macs(query.shape, key.shape, value.shape)

    def run() -> Any:
        if not tracer.is_shell:
            return func(query, key, value, *rest, **others)
        if key.shape[-2] != value.shape[-2] or query.shape[-1] != key.shape[-1] or query.dim() < 2:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (query, key, value))
            raise RuntimeError(f"Queries, keys and values do not fit together: {shapes}.")
        batch = query.shape[:-2]
        if not others.get("enable_gqa"):
            batch = torch.broadcast_shapes(batch, key.shape[:-2], value.shape[:-2])
        return torch.empty((*batch, query.shape[-2], value.shape[-1]), dtype=query.dtype, device="meta")

    return tracer.as_one("scaled_dot_product_attention", (query, key, value, *rest), others, run, macs)


def _recurrent(tracer: Tracer, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func.__name__
    is_packed = (
        isinstance(args[1], torch.Tensor) and not isinstance(args[2], bool) and isinstance(args[3], (list, tuple))
    )
    data, state, weights = args[0], args[2 if is_packed else 1], args[3 if is_packed else 2]
    is_both_ways = bool(args[8 if is_packed else 7] if len(args) > 7 else kwargs.get("bidirectional", False))
    states = state if isinstance(state, (list, tuple)) else (state,)
    macs = recurrent_macs(math.prod(data.shape[:-1]), weights)

    def run() -> Any:
        if not tracer.is_shell:
            return func(*args, **kwargs)
        out = data.new_empty((*data.shape[:-1], states[0].shape[-1] * (2 if is_both_ways else 1)), device="meta")
        return (out, *(each.new_empty(each.shape, device="meta") for each in states))

    return tracer.as_one(name, args, kwargs, run, macs)


def _to_list(tracer: Tracer, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    if tracer.is_constant(tensor):
        return func(*args, **kwargs)
    number = tracer.answer_about(tensor, 0)
    kind = bool if tensor.dtype == torch.bool else float if tensor.dtype.is_floating_point else int
    answer = kind(number)
    tracer.answers.append(answer)

    def nested(shape: tuple[int, ...]) -> Any:
        return [nested(shape[1:]) for _ in range(shape[0])] if shape else answer

    return nested(tuple(tensor.shape))


_HANDLERS: Final[dict[Any, Callable[[Tracer, Any, Any, dict[str, Any]], Any]]] = {
    torch.nn.functional.scaled_dot_product_attention: _attention,
    torch.Tensor.tolist: _to_list,
    **{
        function: _recurrent
        for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
        for function in (getattr(torch, name), getattr(torch._VF, name))  # noqa: SLF001  # what nn.LSTM calls
    },
}

__all__ = ["Functions"]
