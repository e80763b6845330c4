"""How many bytes of keys and values one token leaves in a cache, by an attention module's own attributes or as seen."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from trackio_like.model.trace.attention import Core


def kv_bytes_per_token(part: nn.Module, core: Core, item_bytes: int) -> int:
    """Of one attention module; 0 where it is no module that a cache would serve.

    A cache serves what looks back only: decoders. What is cached by whoever it is cached, is keys and values of each
    head of keys.

    Args:
        part: the module, or one around it.
        core: its attention, as it ran.
        item_bytes: of one number of keys and values.
    """
    config = _first(part, "config")
    is_causal = core.is_causal or bool(getattr(part, "is_causal", False)) or bool(getattr(part, "is_decoder", False))
    num_heads = _number(part, config, "num_key_value_heads", "num_kv_heads", "n_kv_heads")
    size = _number(part, config, "head_dim", "key_value_proj_dim", "d_kv")
    if not is_causal or not core.key_shape or not core.value_shape:
        return 0
    if len(core.key_shape) == 4 and not num_heads:
        num_heads = core.key_shape[1]
    num_heads = num_heads or _number(part, config, "num_heads", "num_attention_heads", "n_heads", "n_head") or 1
    seen_key, seen_value = core.key_shape[-1], core.value_shape[-1]
    key_size = size if size and size == seen_key else seen_key
    return int(num_heads * (key_size + seen_value) * item_bytes)


def _first(part: nn.Module, name: str) -> Any:
    return part.__dict__.get(name)


def _number(part: nn.Module, config: Any, *names: str) -> int:
    for holder in (part, config):
        for name in names:
            value = getattr(holder, name, None) if holder is not None else None
            if isinstance(value, int) and not isinstance(value, (bool, torch.Tensor)) and value > 0:
                return value
    return 0


__all__ = ["kv_bytes_per_token"]
