"""What the first layer makes of the data, once for all points.

The input of the first layer does not depend on the weights, so for a linear layer or a convolution
(W + x·dW + y·eW) * input = W * input + x·(dW * input) + y·(eW * input): two additions in place of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - the name it has everywhere

from trackio_like.landscape.batches import tensors_of
from trackio_like.landscape.data import Piece
from trackio_like.landscape.directions import Direction
from trackio_like.landscape.scoring import Scorer
from trackio_like.landscape.weights import Weight

_LAYERS: Final = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_DTYPES: Final = (torch.float32, torch.float64)
"""In half precision a sum of rounded products would be rounded once more."""
_Products = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]


class FirstLayers:
    """The layers that data goes into directly, and their products."""

    def __init__(self, scorer: Scorer, pieces: Sequence[Piece]) -> None:
        """Finds them by one forward pass.

        Args:
            scorer: its model is lent and at the centre.
            pieces: the data that will be evaluated; the very same tensors.
        """
        self.point = (0.0, 0.0)
        """Where the next forward pass is."""
        self._pieces = pieces
        self._data = {_place(tensor) for piece in pieces for tensor in tensors_of(piece.batch)}
        self._layers: list[nn.Module] = []
        self._output_bytes = 0
        self._products: dict[tuple[int, tuple[int, ...], int], _Products] = {}
        self._find(scorer, pieces[0])

    @property
    def is_empty(self) -> bool:
        """Whether there is no such layer."""
        return not self._layers

    @property
    def num_bytes(self) -> int:
        """What the products of all data take."""
        first, total = self._pieces[0].num_samples, sum(piece.num_samples for piece in self._pieces)
        return 3 * self._output_bytes * total // max(1, first)

    def _find(self, scorer: Scorer, piece: Piece) -> None:
        calls: dict[nn.Module, int] = {}

        def seen(layer: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            is_data = (
                len(args) == 1
                and isinstance(args[0], torch.Tensor)
                and _place(args[0]) in self._data
                and output.dtype == layer.weight.dtype
                and output.dtype in _DTYPES
            )
            calls[layer] = calls.get(layer, 0) + 1
            if is_data and layer not in self._layers:
                self._layers.append(layer)
                self._output_bytes += output.numel() * output.element_size()

        scorer(piece.batch)  # a scorer's first pass is over a copy
        handles = [part.register_forward_hook(seen) for part in scorer.model.modules() if _is_plain(part)]
        try:
            scorer(piece.batch)
        finally:
            for handle in handles:
                handle.remove()
        self._layers = [layer for layer in self._layers if calls[layer] == 1]

    @contextmanager
    def installed(self, weights: Sequence[Weight], x: Direction, y: Direction) -> Iterator[None]:
        """Lets the layers answer from their products, made at the first pass over each piece at the centre.

        Args:
            weights: all that may move.
            x: the direction of columns.
            y: the direction of rows.
        """
        by_tensor = {id(weight.tensor): weight for weight in weights}
        for number, layer in enumerate(self._layers):
            steps = [_steps(layer, by_tensor, direction) for direction in (x, y)]
            centre = (layer.weight.detach().clone(), None if layer.bias is None else layer.bias.detach().clone())
            layer.__dict__["forward"] = self._forward(layer, number, centre, steps)
        try:
            yield
        finally:
            for layer in self._layers:
                layer.__dict__.pop("forward", None)
            self._products.clear()

    def _forward(self, layer: nn.Module, number: int, centre: Any, steps: Sequence[Any]) -> Callable[..., torch.Tensor]:
        def forward(data: torch.Tensor) -> torch.Tensor:
            if _place(data) not in self._data:  # another batch may go another way
                return _apply(layer, data, layer.weight, layer.bias)
            key = (data.data_ptr(), tuple(data.shape), number)
            products = self._products.get(key)
            if products is None:
                base = _apply(layer, data, *centre)
                products = (base, *(None if step is None else _apply(layer, data, *step) for step in steps))
                self._products[key] = products
            total = products[0].clone()
            for product, by in zip(products[1:], self.point, strict=True):
                if product is not None and by:
                    total.add_(product, alpha=by)
            return total

        return forward


def _place(tensor: torch.Tensor) -> int:
    """Which memory a tensor is in; that of data is not freed meanwhile, so that no other tensor can be in it."""
    return int(tensor.untyped_storage().data_ptr())


def _is_plain(part: nn.Module) -> bool:
    """Whether a layer computes with its own parameters as they are, and in its class's way."""
    return (
        type(part) in _LAYERS
        and getattr(part, "padding_mode", "zeros") == "zeros"
        and "weight" in part._parameters  # noqa: SLF001 - old weight norm and pruning make it anew at each call
        and "forward" not in part.__dict__
    )


def _steps(layer: nn.Module, weights: dict[int, Weight], direction: Direction) -> Any:
    """The direction's weight and bias of a layer; None where it moves neither."""
    found = []
    for tensor in (layer.weight, layer.bias):
        weight = None if tensor is None else weights.get(id(tensor))
        found.append(None if weight is None else direction.of(weight))
    if found[0] is None and found[1] is None:
        return None
    moved = torch.zeros_like(layer.weight) if found[0] is None else found[0]
    return moved.to(layer.weight.dtype), None if found[1] is None else found[1].to(layer.weight.dtype)


def _apply(layer: Any, data: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    if isinstance(layer, nn.Linear):
        return F.linear(data, weight, bias)
    found: torch.Tensor = layer._conv_forward(data, weight, bias)  # noqa: SLF001 - torch's own for this very purpose
    return found


__all__ = ["FirstLayers"]
