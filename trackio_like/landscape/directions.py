"""Directions in weight space: random and filter-normalised, or from one checkpoint to another.

O output channels (filters), F weights of a filter; tensors have the shape of the weight that they move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import nn

from trackio_like.landscape.weights import Weight, find_weights, unwrapped


class Direction(Protocol):
    """Where a step of length 1 along an axis leads."""

    @property
    def label(self) -> str:
        """What the axis is called."""
        ...

    def of(self, weight: Weight) -> torch.Tensor | None:
        """The tensor that is added to a weight for a step of 1, on its device; None where it does not move."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDirection:
    """Gaussian noise whose filters have the norms of the model's filters (Li et al. 2018, arXiv 1712.09913, section 4).

    Made anew at each call, from the weight's name alone: it takes no memory, and no other layer changes it.
    """

    seed: int
    axis: int
    """0 for x, 1 for y."""
    norms: Mapping[str, torch.Tensor] = field(repr=False)
    """Norms of the filters at the centre, by the weight's name: θ may be elsewhere when the noise is made again."""

    @property
    def label(self) -> str:
        """What the axis is called."""
        return f"{'δη'[self.axis]} (random, filter-normalized)"

    def of(self, weight: Weight) -> torch.Tensor | None:
        """The noise for a weight; None where random directions do not move it."""
        if not weight.is_filtered or weight.name not in self.norms:
            return None
        noise = noise_like(weight.tensor, key=f"{self.seed}/{self.axis}/{weight.name}")
        wide = noise.reshape(weight.view)
        scale = self.norms[weight.name] / weight.norms(noise).clamp_min(torch.finfo(torch.float32).tiny)
        return (wide * scale).reshape(weight.tensor.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDirection:
    """Tensors that are there: of another checkpoint, an eigenvector, a principal component, or the caller's own."""

    label: str
    tensors: Mapping[str, torch.Tensor] = field(repr=False)
    """By the weight's name; a missing one does not move."""

    def of(self, weight: Weight) -> torch.Tensor | None:
        """The tensor of a weight; None where there is none."""
        tensor = self.tensors.get(weight.name)
        return None if tensor is None else tensor.to(weight.tensor.device)


def noise_like(tensor: torch.Tensor, *, key: str) -> torch.Tensor:
    """Standard Gaussian noise in the shape of a tensor, in float32 (or complex64), on its device.

    Drawn on the CPU by a generator of its own, so that the same key gives the same noise on every device, for every
    dtype, and whatever else was drawn.

    Args:
        tensor: gives shape, device, and whether it is complex.
        key: what seeds the generator.
    """
    generator = torch.Generator("cpu").manual_seed(
        int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little") >> 1
    )
    dtype = torch.complex64 if tensor.is_complex() else torch.float32
    return torch.randn(tensor.shape, generator=generator, dtype=dtype, device="cpu").to(tensor.device)


def random_direction(weights: Sequence[Weight], *, seed: int, axis: int) -> RandomDirection:
    """The random direction of an axis, scaled to where the weights are now."""
    norms = {weight.name: weight.norms(wide(weight.tensor.detach())) for weight in weights if weight.is_filtered}
    return RandomDirection(seed=seed, axis=axis, norms=norms)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in the precision that directions are made in: at least float32."""
    if tensor.is_complex():
        return tensor.to(torch.complex64) if tensor.dtype != torch.complex128 else tensor
    return tensor.float() if tensor.dtype != torch.float64 else tensor


def difference(weights: Sequence[Weight], other: Mapping[str, torch.Tensor], *, label: str) -> GivenDirection:
    """From the weights as they are now to another checkpoint: a step of 1 arrives there.

    Args:
        weights: what moves.
        other: by name, on any device; what is not there does not move.
        label: what the axis is called.
    """
    tensors = {
        weight.name: wide(other[weight.name].to(weight.tensor.device)) - wide(weight.tensor.detach())
        for weight in weights
        if weight.name in other
    }
    return GivenDirection(label=label, tensors=tensors)


def dead_share(weights: Sequence[Weight]) -> float:
    """The share of the moved weights whose filter is 0, so that a random direction leaves them where they are."""
    num_all, num_dead = 0, 0
    for weight in weights:
        if weight.is_filtered:
            norms = weight.norms(wide(weight.tensor.detach()))
            num_all += weight.tensor.numel()
            num_dead += int((norms == 0).sum()) * (weight.tensor.numel() // max(1, norms.numel()))
    return num_dead / max(1, num_all)


def filter_normalized_directions(
    model: nn.Module, seed: int = 0, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Two random directions in which a surface may be drawn: each filter has the norm of the model's own.

    `d_f <- d_f / |d_f| * |θ_f|` for each output channel f (Li et al. 2018, arXiv 1712.09913, section 4). Biases, norm
    layers, scales and frozen parameters do not move: their tensors are 0, as is every parameter whose storage an
    earlier one shares.

    Args:
        model: the model at the centre.
        seed: another seed gives another plane; the same one gives the same plane on every device.
        device: where the directions lie; beside each parameter where it is None.
        dtype: their dtype; float32, or float64 for float64 parameters, where it is None.

    Returns:
        δ and η: tensors in the order and the shapes of `model.parameters()`.

    Raises:
        LandscapeError: the model has no parameters that could move.
    """
    model = unwrapped(model)
    weights = {id(weight.tensor): weight for weight in find_weights(model)}
    found: list[list[torch.Tensor]] = []
    for axis in (0, 1):
        direction = random_direction(list(weights.values()), seed=seed, axis=axis)
        tensors = []
        for parameter in model.parameters():
            weight = weights.get(id(parameter))
            tensor = None if weight is None else direction.of(weight)
            tensor = torch.zeros_like(wide(parameter.detach())) if tensor is None else tensor
            tensors.append(tensor.to(device=device or parameter.device, dtype=dtype or wide(parameter.detach()).dtype))
        found.append(tensors)
    return found[0], found[1]


__all__ = [
    "Direction",
    "GivenDirection",
    "RandomDirection",
    "dead_share",
    "difference",
    "filter_normalized_directions",
    "noise_like",
    "random_direction",
    "wide",
]
