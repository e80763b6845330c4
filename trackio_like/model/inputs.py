"""What a model is called with: examples as given, or made by what the model says about itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import nn
from torch.utils._pytree import tree_flatten

from trackio_like.model.facts import number

BATCH: Final = 2
LENGTH: Final = 128
"""Tokens, where a model takes as many."""
_IMAGE: Final = {1: 64, 2: 64, 3: 32}
"""Points along each axis of what a convolution of that many dimensions is given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """The arguments of one call."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was assumed about them."""


def given_inputs(example: Any) -> Inputs:
    """Arguments that somebody gave.

    Args:
        example: a tensor, a tuple or list of arguments, a mapping of keyword arguments, or a pair of both.

    Raises:
        ValueError: there is no tensor in it.
    """
    match example:
        case tuple() | list() if (
            len(example) == 2 and isinstance(example[0], tuple | list) and isinstance(example[1], Mapping)
        ):
            args, kwargs = tuple(example[0]), dict(example[1])
        case Mapping():
            args, kwargs = (), {str(name): value for name, value in example.items()}
        case tuple() | list():
            args, kwargs = tuple(example), {}
        case _:
            args, kwargs = (example,), {}
    if not any(isinstance(value, torch.Tensor) for value in tree_flatten((args, kwargs))[0]):
        raise ValueError(
            f"example_inputs is a {type(example).__name__} without a tensor in it; give a tensor, a tuple of "
            "arguments, a dict of keyword arguments, or ((arguments), {keyword arguments})."
        )
    return Inputs(args=args, kwargs=kwargs)


def shaped_inputs(model: nn.Module, input_shape: Any) -> Inputs:
    """Arguments by their shapes: of one tensor, or of several.

    Args:
        model: decides the dtype: whole numbers where its first layer is an embedding.
        input_shape: sizes, or a sequence of such.

    Raises:
        ValueError: it is no shape.
    """
    shapes = checked_shapes(input_shape)
    if (from_config := _config_inputs(model, shapes)) is not None:
        return from_config
    is_index = isinstance(_first_layer(model), nn.Embedding | nn.EmbeddingBag)
    dtype = torch.int64 if is_index else _dtype(model)
    return Inputs(args=tuple(_tensor(model, shape, dtype) for shape in shapes))


def guessed_inputs(model: nn.Module) -> Inputs | None:
    """Arguments by what a model says about itself; None where it says nothing that helps."""
    if (from_config := _config_inputs(model, None)) is not None:
        return from_config
    if isinstance(model, nn.Transformer):
        lengths = (16, 12)
        shapes = [(BATCH, n, model.d_model) if model.batch_first else (n, BATCH, model.d_model) for n in lengths]
        args = tuple(_tensor(model, shape, _dtype(model)) for shape in shapes)
        return Inputs(args=args, notes=("The inputs were chosen by d_model.",))
    guess = _by_first_layer(_first_layer(model))
    if guess is None or len(_required(model)) > 1:
        return None
    shape, is_index = guess
    args = (_tensor(model, shape, torch.int64 if is_index else _dtype(model)),)
    return Inputs(args=args, notes=(f"The input was chosen by the first layer: {list(shape)}.",))


def checked_shapes(input_shape: Any) -> list[tuple[int, ...]]:
    """Shapes from the shape of one tensor, or those of several.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(input_shape, torch.Size | tuple | list) and input_shape:
        several = [input_shape] if all(type(size) is int for size in input_shape) else list(input_shape)
        if all(
            isinstance(shape, tuple | list) and shape and all(type(size) is int and size > 0 for size in shape)
            for shape in several
        ):
            return [tuple(shape) for shape in several]
    raise ValueError(
        f"input_shape={input_shape!r} is no shape; give positive integers such as (1, 3, 224, 224), or a list of such "
        "shapes for a model with several inputs."
    )


def _first_layer(model: nn.Module) -> nn.Module | None:
    """The first module with parameters, as they are registered."""
    for module in model.modules():
        if module._parameters and any(value is not None for value in module._parameters.values()):  # noqa: SLF001
            return module
    return None


def _config_inputs(model: nn.Module, shapes: Sequence[tuple[int, ...]] | None) -> Inputs | None:
    """Arguments of a model of `transformers`, by its configuration; None for any other model.

    Args:
        model: the model.
        shapes: of its main input; None chooses.

    Raises:
        ValueError: the shape does not fit the kind of input that the model takes.
    """
    config, main = getattr(model, "config", None), getattr(model, "main_input_name", None)
    if not hasattr(config, "model_type") or not isinstance(main, str):
        return None
    shape = None if shapes is None else shapes[0]
    made = dict(_config_shapes(model, config, main, shape))
    if not made:
        return None
    wanted = made.get(main)
    if shape is not None and wanted is not None and len(wanted) != len(shape):
        raise ValueError(
            f"input_shape={shape} does not fit: {type(model).__name__} takes {main} of {len(wanted)} dimensions, "
            f"such as {wanted}."
        )
    return Inputs(
        kwargs={
            name: _tensor(model, sizes, torch.int64 if name.endswith("_ids") else _dtype(model))
            for name, sizes in made.items()
        }
    )


def _config_shapes(
    model: nn.Module, config: Any, main: str, shape: tuple[int, ...] | None
) -> Iterator[tuple[str, tuple[int, ...]]]:
    names = _accepted(model)
    text, vision = getattr(config, "text_config", None) or config, getattr(config, "vision_config", None) or config
    is_pair = bool(getattr(config, "is_encoder_decoder", False)) and "decoder_input_ids" in names
    batch = shape[0] if shape else BATCH
    longest = number(getattr(text, "max_position_embeddings", None)) or number(getattr(text, "n_positions", None))
    length = shape[1] if shape and main == "input_ids" and len(shape) > 1 else min(LENGTH, longest or LENGTH)
    if main == "pixel_values" and main in names:
        yield main, _fitting(shape, _pixels(vision, batch))
    elif main in ("input_features", "input_values"):
        yield main, _fitting(shape, _sound(config, main, batch))
    elif "input_ids" in names:
        yield "input_ids", (batch, length)
        is_dual = hasattr(config, "vision_config") and hasattr(config, "text_config") and not _generates(model)
        if is_dual and "pixel_values" in names:
            yield "pixel_values", _pixels(vision, batch)
    if is_pair:
        limit = number(getattr(config, "max_target_positions", None)) or length
        yield "decoder_input_ids", (batch, min(length, limit))


def _fitting(given: tuple[int, ...] | None, usual: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that was given where it is of the same kind; the usual one else, which says what was expected."""
    return given if given is not None and len(given) == len(usual) else usual


def _pixels(config: Any, batch: int) -> tuple[int, ...]:
    channels = number(getattr(config, "num_channels", None)) or 3
    size = getattr(config, "image_size", None)
    side = number(size) or 224
    sides = tuple(size) if isinstance(size, tuple | list) and len(size) == 2 else (side, side)
    frames = number(getattr(config, "num_frames", None))
    return (batch, frames, channels, *sides) if frames else (batch, channels, *sides)


def _sound(config: Any, main: str, batch: int) -> tuple[int, ...]:
    mels, source = number(getattr(config, "num_mel_bins", None)), number(getattr(config, "max_source_positions", None))
    if main == "input_features":
        return (batch, mels or 80, 2 * (source or 1500))  # two frames become one position
    return (batch, number(getattr(config, "max_length", None)) or 1024, mels) if mels else (batch, 16_000)


def _generates(model: nn.Module) -> bool:
    can = getattr(model, "can_generate", None)
    return bool(can()) if callable(can) else False


def _by_first_layer(first: nn.Module | None) -> tuple[tuple[int, ...], bool] | None:
    """A shape by the layer that takes the input, and whether it takes whole numbers."""
    if isinstance(first, nn.Embedding):
        return (BATCH, 16), True
    if isinstance(first, nn.modules.conv._ConvNd):  # noqa: SLF001 - the one base of all convolutions
        num_dims = len(first.kernel_size)
        return ((BATCH, first.in_channels, *[_IMAGE[num_dims]] * num_dims), False) if first.in_channels else None
    if isinstance(first, nn.RNNBase):
        return ((BATCH, 16, first.input_size) if first.batch_first else (16, BATCH, first.input_size)), False
    width = number(getattr(first, "in_features", None)) if first is not None else 0
    return ((BATCH, width), False) if width else None


def _tensor(model: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor on the model's device; none of the random generators of others is used."""
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    if device.type == "meta":
        return torch.empty(shape, dtype=dtype, device=device)
    if not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype, device=device)
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator).to(device, dtype)


def _required(model: nn.Module) -> list[str]:
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind in kinds]


def _accepted(model: nn.Module) -> set[str]:
    try:
        return set(inspect.signature(model.forward).parameters)
    except (TypeError, ValueError):
        return set()


def _dtype(model: nn.Module) -> torch.dtype:
    found = (p.dtype for p in model.parameters() if p.is_floating_point())
    return next((dtype for dtype in found if dtype.itemsize > 1), torch.get_default_dtype())


__all__ = ["BATCH", "LENGTH", "Inputs", "checked_shapes", "given_inputs", "guessed_inputs", "shaped_inputs"]
