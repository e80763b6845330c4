"""All that training would notice of a model, bit for bit and object for object."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import nn

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks")


def bits(tensor: torch.Tensor) -> tuple[Any, ...]:
    found = tensor.detach().resolve_conj()
    if found.layout != torch.strided or found.device.type == "meta":
        return (str(found.layout), tuple(found.shape))
    return (
        str(found.dtype),
        tuple(found.shape),
        found.stride(),
        found.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes(),
    )


def told(value: Any, depth: int = 0) -> Any:
    """A value as something that can be compared: containers by what is in them, and by which object they are."""
    if isinstance(value, torch.Tensor):
        return ("tensor", id(value), value.data_ptr() if value.layout == torch.strided else 0, bits(value))
    if isinstance(value, np.ndarray):
        return ("array", id(value), value.tobytes(), value.shape)
    if isinstance(value, torch.Generator):
        return ("generator", value.get_state().numpy().tobytes())
    if isinstance(value, np.random.Generator):
        return ("generator", repr(value.bit_generator.state))
    if isinstance(value, random.Random):
        return ("generator", value.getstate())
    if depth > 5:
        return id(value)
    if isinstance(value, dict):
        return (type(value).__name__, id(value), [(told(k), told(v, depth + 1)) for k, v in value.items()])
    if isinstance(value, (list, deque, tuple)):
        return (type(value).__name__, id(value), [told(item, depth + 1) for item in value])
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, id(value), sorted(map(repr, value)))
    if isinstance(value, (int, float, str, bytes, bool, type(None))):
        return value
    return id(value)


def of_module(module: nn.Module) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in module.named_modules(remove_duplicate=False):
        # Private flags of torch's own appear with the first call; what matters of them is in the rest.
        found[f"{name}.__dict__"] = {key: told(value) for key, value in sorted(part.__dict__.items())}
        for table in HOOKS:
            found[f"{name}.{table}"] = (id(getattr(part, table)), list(getattr(part, table).items()))
    for name, parameter in module.named_parameters(remove_duplicate=False):
        grad = parameter.grad if parameter.is_leaf else None
        found[f"{name} (parameter)"] = (
            told(parameter), parameter.requires_grad, None if grad is None else told(grad), parameter.is_inference(),
        )  # fmt: skip
    for name, buffer in module.named_buffers(remove_duplicate=False):
        found[f"{name} (buffer)"] = (told(buffer), buffer.is_inference())
    return found


def of_process() -> dict[str, Any]:
    return {
        "python": random.getstate(),
        "numpy": repr(np.random.get_state()),  # noqa: NPY002
        "torch": torch.get_rng_state().numpy().tobytes(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.is_autocast_cache_enabled()),
        "threads": torch.get_num_threads(),
        "dtype": str(torch.get_default_dtype()),
    }


def of_optimizer(optimizer: torch.optim.Optimizer) -> Any:
    return [told(optimizer.param_groups), [(id(p), told(state)) for p, state in optimizer.state.items()]]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What differs, by name."""
    found = []
    for key in before.keys() | after.keys():
        mine, theirs = before.get(key), after.get(key)
        if mine != theirs:
            inner: list[str] = []
            if isinstance(mine, dict) and isinstance(theirs, dict):
                inner = [k for k in mine.keys() | theirs.keys() if mine.get(k) != theirs.get(k)]
            found.append(f"{key} {inner}")
    return found
