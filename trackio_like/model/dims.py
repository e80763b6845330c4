"""What the sizes of tensors are: by the attributes of the module that they go through, and by the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from trackio_like.model.facts import number
from trackio_like.model.graph import Module, Port, TensorIO

_SIZES: Final = re.compile(
    r"(size|dim|heads|labels|channels|features|experts|embd|inner|positions|width|d_model|d_ff|d_kv|bins)$"
)
_INPUT: Final = re.compile(r"^(in_|input_|num_embeddings$|nx$|kdim$)")
_OUTPUT: Final = re.compile(r"^(out_|output_|embedding_dim$|nf$)")
_WHOLE: Final = re.compile(r"^[0-9]+$")
_MIN: Final = 3
"""Smaller sizes are met by chance."""


def config_sizes(model: Any) -> dict[int, str]:
    """Names of sizes in a model's `config`; a size with several names has the first."""
    config = getattr(model, "config", None)
    found: dict[int, str] = {}
    for source in (getattr(config, "text_config", None), config):
        values = source if isinstance(source, Mapping) else getattr(source, "__dict__", {})
        for name, value in values.items():
            if number(value) >= _MIN and _SIZES.search(str(name)):
                found.setdefault(value, str(name))
    return found


def named_module(module: Module, sizes: Mapping[int, str]) -> Module:
    """The module with names for what its tensors' sizes are, where it or the configuration tells."""
    if not module.inputs and not module.outputs:
        return module
    own = {name: int(value) for name, value in module.attrs.items() if _WHOLE.match(value) and int(value) >= _MIN}
    inputs = {value: name for name, value in reversed(own.items()) if not _OUTPUT.match(name) and _is_size(name)}
    outputs = {value: name for name, value in reversed(own.items()) if not _INPUT.match(name) and _is_size(name)}
    return replace(
        module,
        inputs=tuple(_named(io, inputs, sizes) for io in module.inputs),
        outputs=tuple(_named(io, outputs, sizes) for io in module.outputs),
    )


def named_ports(ports: Sequence[Port], sizes: Mapping[int, str]) -> tuple[Port, ...]:
    """The same for the inputs and outputs of the model."""
    return tuple(replace(port, dims=_dims(port.shape, port.dims, {}, sizes)) for port in ports)


def _is_size(name: str) -> bool:
    return bool(_INPUT.match(name) or _OUTPUT.match(name) or _SIZES.search(name))


def _named(io: TensorIO, own: Mapping[int, str], sizes: Mapping[int, str]) -> TensorIO:
    return replace(io, dims=_dims(io.shape, io.dims, own, sizes))


def _dims(
    shape: tuple[int, ...], dims: tuple[str, ...], own: Mapping[int, str], sizes: Mapping[int, str]
) -> tuple[str, ...]:
    known = dims if len(dims) == len(shape) else ("",) * len(shape)
    found = tuple(name or own.get(size) or sizes.get(size, "") for name, size in zip(known, shape, strict=True))
    return found if any(found) else ()


__all__ = ["config_sizes", "named_module", "named_ports"]
