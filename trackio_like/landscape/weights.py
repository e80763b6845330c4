"""Which tensors of a model are moved, and what a filter of each of them is.

O output channels (filters), F weights of a filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import torch
from torch import nn

from trackio_like.landscape.errors import LandscapeError
from trackio_like.module_state.wrappers import without_wrappers

Params = Literal["trainable", "all"]
PARAMS: Final = ("trainable", "all")
_NORMS: Final = (
    nn.modules.batchnorm._NormBase,  # noqa: SLF001 - the one base of batch and instance norms
    nn.GroupNorm,
    nn.LayerNorm,
    nn.LocalResponseNorm,
    *([nn.RMSNorm] if hasattr(nn, "RMSNorm") else []),
)
_TRANSPOSED: Final = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_LAYERS: Final = (
    nn.Linear, nn.Bilinear, nn.Embedding, nn.EmbeddingBag, nn.RNNBase, nn.RNNCellBase,
    nn.modules.conv._ConvNd,  # noqa: SLF001 - the one base of convolutions
)  # fmt: skip
"""Layers whose filters are told by their first axis (transposed ones aside), also where a filter is one number."""
_SCALES: Final = frozenset({"gamma", "layer_scale", "scale", "gain", "weight_g"})
"""What scales are called that have two or more dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weight:
    """One tensor that may be moved; storage that several names share is one weight."""

    name: str
    tensor: torch.Tensor
    """The parameter or buffer itself."""
    is_filtered: bool
    """Whether random directions move it: it is no bias, no scale and no part of a norm layer."""
    view: tuple[int, ...] = ()
    """How its shape is read to find the filters; the same number of elements in the same order."""
    axes: tuple[int, ...] = ()
    """The axes of `view` that one filter spans."""
    is_variance: bool = False
    """Whether it must not fall below 0."""
    aliases: tuple[str, ...] = ()
    """Other names of the very same tensor; files may have it by one of these alone."""
    is_optional: bool = False
    """Whether state dicts leave it out on purpose."""

    def norms(self, values: torch.Tensor) -> torch.Tensor:
        """The Frobenius norm of each filter, in the shape of `view` with filters kept as 1.

        Args:
            values: a tensor of the weight's shape.
        """
        return torch.linalg.vector_norm(values.reshape(self.view), dim=self.axes, keepdim=True)


def unwrapped(model: nn.Module) -> nn.Module:
    """The model itself, without what compiles or distributes it.

    Raises:
        LandscapeError: its weights are spread over processes.
    """
    model = without_wrappers(model)
    spread = type(model).__name__ == "FullyShardedDataParallel" or any(
        type(parameter).__name__ == "DTensor" or type(parameter.data).__name__ == "DTensor"
        for parameter in model.parameters()
    )
    if spread or any(type(part).__name__ == "FullyShardedDataParallel" for part in model.modules()):
        raise LandscapeError(
            "The model's weights are sharded over processes (FSDP or DTensor), which is not supported: evaluate a "
            "whole copy of it, for instance one that a full state dict was loaded into."
        )
    return model


def find_weights(model: nn.Module, *, params: Params = "trainable") -> list[Weight]:
    """The parameters of a model, each storage once, in the order of their names.

    Args:
        model: unwrapped.
        params: `trainable` for those that are trained, or `all`.

    Raises:
        LandscapeError: there is none, or one has no values yet.
    """
    owners = dict(model.named_modules(remove_duplicate=False))
    found: dict[tuple[object, ...], Weight] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise LandscapeError(f"The parameter {name!r} has no shape yet: run the model once before.")
        if parameter.device.type == "meta":
            raise LandscapeError(f"The parameter {name!r} has no values (device meta): load the model's weights first.")
        if params == "trainable" and not parameter.requires_grad:
            continue
        if not (parameter.is_floating_point() or parameter.is_complex()) or parameter.element_size() < 2:
            continue  # codes of quantised weights: there is nothing between them
        place = _place(parameter)
        if place not in found:
            found[place] = _weight(name, *_owner(name, model, owners), parameter)
        elif found[place].tensor is parameter:
            found[place] = replace(found[place], aliases=(*found[place].aliases, name))
    if not found:
        of = "trainable floating-point " if params == "trainable" else "floating-point "
        raise LandscapeError(f"The model has no {of}parameters, so there is nothing to move.")
    return list(found.values())


def find_buffers(model: nn.Module) -> list[Weight]:
    """The floating-point buffers of a model, such as running statistics, each storage once."""
    found: dict[tuple[object, ...], Weight] = {}
    passing = {
        f"{path}.{name}".removeprefix(".")
        for path, part in model.named_modules(remove_duplicate=False)
        for name in part._non_persistent_buffers_set  # noqa: SLF001 - torch has no other list of them
    }
    for name, buffer in model.named_buffers(remove_duplicate=False):
        if buffer.is_floating_point() and buffer.element_size() >= 2 and buffer.numel():
            is_variance = name.endswith("running_var")
            weight = Weight(
                name=name, tensor=buffer, is_filtered=False, is_variance=is_variance, is_optional=name in passing
            )
            found.setdefault(_place(buffer), weight)
    return list(found.values())


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    """Where a tensor lies. A transposed view of the same storage is the same weights, so strides do not count."""
    if tensor.device.type == "meta":
        return (id(tensor),)
    return (tensor.device, tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tensor.numel())


def _owner(name: str, model: nn.Module, owners: Mapping[str, nn.Module]) -> tuple[nn.Module, str]:
    """The layer that a parameter is of, and what it is there; parametrizations stand between them."""
    path, _, leaf = name.rpartition(".")
    layer, is_parametrized, what = path.rpartition("parametrizations.")
    if not is_parametrized:
        return owners.get(path, model), leaf
    has_gain = any(type(part).__name__ == "_WeightNorm" for part in owners[path].modules())
    return owners.get(layer.removesuffix("."), model), "weight_g" if has_gain and leaf == "original0" else what


def _weight(name: str, owner: nn.Module, leaf: str, tensor: torch.Tensor) -> Weight:
    view, axes = _filters(tensor, owner)
    filter_size = 1
    for axis in axes:
        filter_size *= view[axis]
    # Layer scales have many dimensions and still one number a filter: scales, not weights.
    is_weight = filter_size > 1 or (isinstance(owner, _LAYERS) and leaf.startswith("weight"))
    is_filtered = (
        tensor.ndim >= 2
        and is_weight
        and leaf not in _SCALES
        and not isinstance(owner, _NORMS)
        and not type(owner).__name__.endswith(("Norm", "Norm1d", "Norm2d", "Norm3d", "LayerScale"))
        and not leaf.startswith("bias")
        and not leaf.endswith("bias")
    )
    return Weight(name=name, tensor=tensor, is_filtered=is_filtered, view=view, axes=axes)


def _filters(tensor: torch.Tensor, owner: nn.Module) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(tensor.shape)
    if isinstance(owner, _TRANSPOSED) and len(shape) >= 3:
        # Stored as [in, out / groups, ...]: an output channel is a column within its group.
        view = (owner.groups, shape[0] // owner.groups, *shape[1:])
        return view, (1, *range(3, len(view)))
    if type(owner).__name__ == "Conv1D" and hasattr(owner, "nf") and len(shape) == 2:
        return shape, (0,)  # GPT-2's linear layer of transformers, stored as [in, out]
    if isinstance(owner, _LAYERS):
        return shape, tuple(range(1, len(shape)))
    if len(shape) >= 3 and shape[0] == 1:
        return shape, (len(shape) - 1,)  # position embeddings: a row each
    if len(shape) == 3:
        return shape, (2,)  # stacked experts: a row of each
    return shape, tuple(range(1, len(shape)))


def matched(weights: Iterable[Weight], state: Mapping[str, torch.Tensor], *, of: str) -> dict[str, torch.Tensor]:
    """The other model's tensor for each weight, by name; none for what state dicts leave out on purpose.

    Raises:
        LandscapeError: one is missing or has another shape.
    """
    tensors: dict[str, torch.Tensor] = {}
    missing: list[str] = []
    for weight in weights:
        other = next((state[name] for name in (weight.name, *weight.aliases) if name in state), None)
        if other is None:
            missing += [] if weight.is_optional else [weight.name]
        elif other.shape != weight.tensor.shape:
            raise LandscapeError(
                f"{weight.name!r} has the shape {tuple(weight.tensor.shape)} in the model and {tuple(other.shape)} in "
                f"{of}: there is no line between them."
            )
        else:
            tensors[weight.name] = other.detach()
    if missing:
        names = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise LandscapeError(f"{of} has no {names}: it must be a checkpoint of the same model.")
    return tensors


__all__ = ["PARAMS", "Params", "Weight", "find_buffers", "find_weights", "matched", "unwrapped"]
