"""What a model is called with: examples as given, or made by what the model says about itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch import nn

from trackio_like.model.facts import number

BATCH: Final = 2
LENGTH: Final = 128
"""Tokens, where a model takes as many."""
_IMAGE: Final = {1: 64, 2: 64, 3: 32}
"""Points along each axis of what a convolution of that many dimensions is given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spec:
    """A tensor that goes into a model."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    dims: tuple[str, ...]
    """Names of sizes that may be others: `B` batch, `T` length, `S` length of the source; "" for the rest."""
    high: int = 0
    """Integers are below it."""
    value: torch.Tensor | None = None
    """The tensor that was given."""

    def tensor(self, device: torch.device | str) -> torch.Tensor:
        """The tensor that was given, as it is; else one made on the device. No random generator of others is used."""
        if self.value is not None:
            return self.value
        if self.dtype.is_floating_point or self.dtype.is_complex:
            if torch.device(device).type == "meta":
                return torch.empty(self.shape, dtype=self.dtype, device=device)
            generator = torch.Generator().manual_seed(0)
            return torch.randn(self.shape, generator=generator, dtype=torch.float32).to(device, self.dtype)
        return torch.zeros(self.shape, dtype=self.dtype, device=device)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """The arguments of one call; tensors in them are `Spec`."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was assumed about them."""

    @property
    def specs(self) -> list[Spec]:
        """All tensors."""
        found: list[Spec] = []
        _mapped((self.args, dict(self.kwargs)), lambda spec: found.append(spec))
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by name; the first where a name has several."""
        found: dict[str, int] = {}
        for spec in self.specs:
            for name, size in zip(spec.dims, spec.shape, strict=True):
                if name:
                    found.setdefault(name, size)
        return found

    def made(self, device: torch.device | str = "meta") -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments and keyword arguments with tensors; those that were given are on the device where they were."""
        args, kwargs = _mapped((self.args, dict(self.kwargs)), lambda spec: spec.tensor(device))
        return args, kwargs

    def resized(self, sizes: Mapping[str, int]) -> Inputs:
        """The same with other sizes of some names; tensors that were given are replaced by made ones.

        Args:
            sizes: by name; other names stay.
        """

        def other(spec: Spec) -> Spec:
            shape = tuple(
                sizes.get(name, size) if name else size for name, size in zip(spec.dims, spec.shape, strict=True)
            )
            return spec if shape == spec.shape else replace(spec, shape=shape, value=None)

        args, kwargs = _mapped((self.args, dict(self.kwargs)), other)
        return Inputs(args=args, kwargs=kwargs, notes=self.notes)


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
    tensors: list[torch.Tensor] = []
    _mapped((args, kwargs), lambda tensor: tensors.append(tensor), of=torch.Tensor)
    if not tensors:
        raise ValueError(
            f"example_inputs is a {type(example).__name__} without a tensor in it; give a tensor, a tuple of "
            "arguments, a dict of keyword arguments, or ((arguments), {keyword arguments})."
        )
    named = _named_axes(tensors)
    args, kwargs = _mapped(
        (args, kwargs),
        lambda tensor: Spec(shape=tuple(tensor.shape), dtype=tensor.dtype, dims=named[id(tensor)], value=tensor),
        of=torch.Tensor,
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
    if (from_config := config_inputs(model, shapes)) is not None:
        return from_config
    first = first_layer(model)
    if isinstance(first, nn.Embedding | nn.EmbeddingBag):
        dtype, high = torch.int64, first.num_embeddings
    else:
        dtype, high = _dtype(model), 0
    empty = [torch.empty(shape, dtype=dtype, device="meta") for shape in shapes]
    named = _named_axes(empty)
    specs = [Spec(shape=tuple(t.shape), dtype=dtype, dims=named[id(t)], high=high) for t in empty]
    return Inputs(args=tuple(specs))


def guessed_inputs(model: nn.Module) -> Inputs | None:
    """Arguments by what a model says about itself; None where it says nothing that helps."""
    if (from_config := config_inputs(model, None)) is not None:
        return from_config
    first, dtype = first_layer(model), _dtype(model)
    if isinstance(model, nn.Transformer):
        is_first = bool(getattr(model, "batch_first", False))
        shapes = [(BATCH, length, model.d_model) if is_first else (length, BATCH, model.d_model) for length in (16, 12)]
        names = [("B", name, "") if is_first else (name, "B", "") for name in ("S", "T")]
        specs = tuple(Spec(shape=s, dtype=dtype, dims=n) for s, n in zip(shapes, names, strict=True))
        return Inputs(args=specs, notes=("The inputs were chosen by d_model.",))
    guess = _by_first_layer(first)
    if guess is None or len(_required(model)) > 1:
        return None
    shape, dims, high = guess
    spec = Spec(shape=shape, dtype=torch.int64 if high else dtype, dims=dims, high=high)
    return Inputs(args=(spec,), notes=(f"The input was chosen by the first layer: {list(shape)}.",))


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


def first_layer(model: nn.Module) -> nn.Module | None:
    """The first module with parameters, as they are registered."""
    for module in model.modules():
        if module._parameters and any(value is not None for value in module._parameters.values()):  # noqa: SLF001
            return module
    return None


def config_inputs(model: nn.Module, shapes: Sequence[tuple[int, ...]] | None) -> Inputs | None:
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
    names = _accepted(model)
    shape = None if shapes is None else shapes[0]
    made = dict(_config_specs(model, config, main, names, shape))
    if not made:
        return None
    wanted = made.get(main)
    if shape is not None and wanted is not None and len(wanted.shape) != len(shape):
        raise ValueError(
            f"input_shape={shape} does not fit: {type(model).__name__} takes {main} of {len(wanted.shape)} dimensions, "
            f"such as {wanted.shape}."
        )
    return Inputs(kwargs=made)


def _config_specs(
    model: nn.Module, config: Any, main: str, names: set[str], shape: tuple[int, ...] | None
) -> Iterator[tuple[str, Spec]]:
    text, vision = getattr(config, "text_config", None) or config, getattr(config, "vision_config", None) or config
    is_pair = bool(getattr(config, "is_encoder_decoder", False)) and "decoder_input_ids" in names
    dtype = _dtype(model)
    batch = shape[0] if shape else BATCH
    longest = number(getattr(text, "max_position_embeddings", None)) or number(getattr(text, "n_positions", None))
    length = shape[1] if shape and main == "input_ids" and len(shape) > 1 else min(LENGTH, longest or LENGTH)
    high = number(getattr(text, "vocab_size", None)) or 2
    if main == "pixel_values" and "pixel_values" in names:
        yield main, _pixels(vision, batch, dtype, shape)
    elif main in ("input_features", "input_values"):
        yield main, _sound(config, main, batch, dtype, shape)
    elif "input_ids" in names:
        dims = ("B", "S") if is_pair else ("B", "T")
        yield "input_ids", Spec(shape=(batch, length), dtype=torch.int64, dims=dims, high=high)
        is_dual = hasattr(config, "vision_config") and hasattr(config, "text_config") and not _generates(model)
        if is_dual and "pixel_values" in names:
            yield "pixel_values", _pixels(vision, batch, dtype, None)
    if is_pair:
        limit = number(getattr(config, "max_target_positions", None)) or length
        yield (
            "decoder_input_ids",
            Spec(shape=(batch, min(length, limit)), dtype=torch.int64, dims=("B", "T"), high=high),
        )


def _pixels(config: Any, batch: int, dtype: torch.dtype, shape: tuple[int, ...] | None) -> Spec:
    channels = number(getattr(config, "num_channels", None)) or 3
    size = getattr(config, "image_size", None)
    sides = (
        (size, size)
        if number(size)
        else tuple(size)
        if isinstance(size, tuple | list) and len(size) == 2
        else (224, 224)
    )
    frames = number(getattr(config, "num_frames", None))
    found = (batch, frames, channels, *sides) if frames else (batch, channels, *sides)
    found = shape if shape is not None else found
    return Spec(shape=found, dtype=dtype, dims=("B", *[""] * (len(found) - 1)))


def _sound(config: Any, main: str, batch: int, dtype: torch.dtype, shape: tuple[int, ...] | None) -> Spec:
    mels, source = number(getattr(config, "num_mel_bins", None)), number(getattr(config, "max_source_positions", None))
    if shape is not None:
        found = shape
    elif main == "input_features":
        found = (batch, mels or 80, 2 * (source or 1500))  # two frames become one position
    elif mels:
        found = (batch, number(getattr(config, "max_length", None)) or 1024, mels)
    else:
        found = (batch, 16_000)
    return Spec(shape=found, dtype=dtype, dims=("B", *[""] * (len(found) - 1)))


def _generates(model: nn.Module) -> bool:
    can = getattr(model, "can_generate", None)
    return bool(can()) if callable(can) else False


def _by_first_layer(first: nn.Module | None) -> tuple[tuple[int, ...], tuple[str, ...], int] | None:
    """Shape, names of its sizes and a bound of the integers, by the layer that takes the input."""
    if isinstance(first, nn.Embedding):
        return (BATCH, 16), ("B", "T"), first.num_embeddings
    if isinstance(first, nn.modules.conv._ConvNd):  # noqa: SLF001
        num_dims = len(first.kernel_size)
        shape = (BATCH, first.in_channels, *[_IMAGE[num_dims]] * num_dims)
        return (shape, ("B", *[""] * (num_dims + 1)), 0) if first.in_channels else None
    if isinstance(first, nn.RNNBase):
        is_first = first.batch_first
        dims = ("B", "T", "") if is_first else ("T", "B", "")
        return ((BATCH, 16, first.input_size) if is_first else (16, BATCH, first.input_size)), dims, 0
    if isinstance(first, nn.TransformerEncoderLayer | nn.MultiheadAttention):
        return None
    width = number(getattr(first, "in_features", None)) if first is not None else 0
    return ((BATCH, width), ("B", ""), 0) if width else None


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
    found = (p.dtype for p in model.parameters() if p.is_floating_point() and p.element_size() > 1)
    return next(found, torch.get_default_dtype())


def _named_axes(tensors: Sequence[torch.Tensor]) -> dict[int, tuple[str, ...]]:
    """Names of sizes: the batch is the first axis that all share, the length the next of sequences."""
    shapes = [tuple(t.shape) for t in tensors if t.ndim]
    batch_axis = 0
    if len(shapes) > 1 and len({shape[0] for shape in shapes}) > 1:
        is_second = all(len(shape) > 1 for shape in shapes) and len({shape[1] for shape in shapes}) == 1
        batch_axis = 1 if is_second else -1
    lengths: dict[int, str] = {}
    found: dict[int, tuple[str, ...]] = {}
    for tensor in tensors:
        names = [""] * tensor.ndim
        if tensor.ndim > batch_axis >= 0:
            names[batch_axis] = "B"
        is_sequence = tensor.ndim == 3 or (tensor.ndim == 2 and not tensor.is_floating_point())
        if is_sequence and batch_axis >= 0:
            axis = 1 - batch_axis
            names[axis] = lengths.setdefault(tensor.shape[axis], "TSUV"[min(len(lengths), 3)])
        found[id(tensor)] = tuple(names)
    return found


def _mapped(value: Any, change: Callable[[Any], Any], *, of: type = Spec) -> Any:
    """The same nested value with each object of a class changed."""
    if isinstance(value, of):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(item, change, of=of) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(_mapped(item, change, of=of) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, change, of=of) for key, item in value.items()}
    return value


__all__ = [
    "BATCH", "LENGTH", "Inputs", "Spec", "checked_shapes", "config_inputs", "first_layer", "given_inputs",
    "guessed_inputs", "shaped_inputs",
]  # fmt: skip
