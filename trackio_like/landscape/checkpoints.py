"""A checkpoint, in whatever form it is given, as tensors by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from trackio_like.landscape.errors import LandscapeError

_INSIDE: Final = ("state_dict", "model_state_dict", "model", "module", "model_state", "net", "params", "weights")
"""Under which name training scripts put the weights into a larger checkpoint."""
_PREFIXES: Final = ("module.", "_orig_mod.", "model.")


def read_state(source: Any, *, names: set[str]) -> Mapping[str, torch.Tensor]:
    """The tensors of a model, a state dict or a file, by the names that the model has for them.

    Args:
        source: a module, a mapping, or the path of what `torch.save` or safetensors wrote.
        names: of the model's parameters; tells which prefix is none of them.

    Raises:
        LandscapeError: it is none of these, or the file cannot be read.
    """
    if isinstance(source, nn.Module):
        found = {name: tensor.detach() for name, tensor in _named(source)}
    elif isinstance(source, Mapping):
        found = _tensors(source)
    elif isinstance(source, (str, os.PathLike)):
        found = _tensors(_load(Path(source)))
    else:
        raise LandscapeError(f"A {type(source).__name__} is no checkpoint: give a module, a state dict or a file.")
    return _renamed(found, names)


def _named(model: nn.Module) -> list[tuple[str, torch.Tensor]]:
    return [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]


def _load(path: Path) -> Any:
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        # Weights alone: a checkpoint from elsewhere must not run code.
        return torch.load(path, map_location="cpu", weights_only=True)
    except ImportError:
        raise LandscapeError(f"To read safetensors, install safetensors: {path}") from None
    except Exception as error:
        raise LandscapeError(f"The checkpoint cannot be read ({type(error).__name__}: {error}): {path}") from error


def _tensors(mapping: Any) -> dict[str, torch.Tensor]:
    for _ in range(3):
        found = {str(key): value for key, value in _items(mapping) if isinstance(value, torch.Tensor)}
        if found:
            return found
        inner = next((mapping[name] for name in _INSIDE if isinstance(mapping, Mapping) and name in mapping), None)
        if isinstance(inner, nn.Module):
            return dict(_named(inner))
        mapping = inner
    raise LandscapeError("The checkpoint holds no weights by name: give a state dict, or a file that holds one.")


def _items(mapping: Any) -> Any:
    return mapping.items() if isinstance(mapping, Mapping) else ()


def _renamed(found: dict[str, torch.Tensor], names: set[str]) -> Mapping[str, torch.Tensor]:
    """Takes off what wrappers put before names, where the model's own names come out."""
    for _ in range(len(_PREFIXES)):
        if names & found.keys():
            return found
        prefix = next((p for p in _PREFIXES if all(key.startswith(p) for key in found)), None)
        if prefix is None:
            break
        found = {key.removeprefix(prefix): value for key, value in found.items()}
    return found


__all__ = ["read_state"]
