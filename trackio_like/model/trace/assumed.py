"""Answers of operators whose result depends on data, where there are none: a number is 0, a size the largest possible.

Only whether an expert was chosen, and how often, is not 0 but 1: else no expert would run.

Every answer is counted by who asks. Also shapes of operators that the meta device refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

Rule = Callable[[Sequence[Any], dict[str, Any]], Any]
"""Arguments by position and by name; gives the result."""


def _scalar(args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    dtype = args[0].dtype
    if dtype == torch.bool:
        return False
    return 0.0 if dtype.is_floating_point else 0j if dtype.is_complex else 0


def _indices(args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    data = args[0]
    return torch.empty((data.numel(), data.dim()), dtype=torch.int64, device=args[0].device)


def _where_indices(args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    data = args[0]
    return [torch.empty((data.numel(),), dtype=torch.int64, device=args[0].device) for _ in range(max(data.dim(), 1))]


def _masked_select(args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    shape = torch.broadcast_shapes(args[0].shape, args[1].shape)
    return args[0].new_empty((math.prod(shape),))


def _unique(args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    data = args[0]
    counts = torch.empty((data.numel(),), dtype=torch.int64, device=data.device)
    return data.new_empty((data.numel(),)), torch.empty(data.shape, dtype=torch.int64, device=args[0].device), counts


def _unique_dim(args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    data, size = args[0], args[0].shape[args[1]]
    return data.new_empty(data.shape), *(
        torch.empty((size,), dtype=torch.int64, device=args[0].device) for _ in range(2)
    )


def _bincount(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    weights = args[1] if len(args) > 1 else kwargs.get("weights")
    size = int(args[2] if len(args) > 2 else kwargs.get("minlength", 0)) or args[0].numel()
    return torch.empty((size,), dtype=torch.int64 if weights is None else weights.dtype, device=args[0].device)


def _repeat_interleave(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    size = kwargs.get("output_size")
    return args[0].new_empty((args[0].numel() if size is None else size,))


def _same(_args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    return False


ASSUMED: Final[dict[str, Rule]] = {
    "_local_scalar_dense": _scalar, "item": _scalar, "is_nonzero": _scalar, "equal": _same, "nonzero": _indices,
    "argwhere": _indices, "nonzero_numpy": _where_indices, "masked_select": _masked_select, "_unique2": _unique,
    "_unique": _unique, "unique_dim": _unique_dim, "unique_consecutive": _unique, "unique_dim_consecutive": _unique,
    "bincount": _bincount, "repeat_interleave": _repeat_interleave,
}  # fmt: skip
"""Operators that are answered so."""


def _grouped_mm(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    left, right = args[0], args[1]
    offsets: Any = args[2] if len(args) > 2 else kwargs.get("offs")
    rows, columns = left.shape[-2], right.shape[-1]
    if left.dim() == 2 and right.dim() == 2:
        shape: tuple[int, ...] = (offsets.shape[0], rows, columns)
    elif left.dim() == 3 and right.dim() == 3:
        shape = (left.shape[0], rows, columns)
    else:
        shape = (rows, columns)
    return left.new_empty(shape, dtype=kwargs.get("out_dtype") or left.dtype)


def _histc(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return args[0].new_empty((int(args[1] if len(args) > 1 else kwargs.get("bins", 100)),))


REFUSED: Final[dict[str, Rule]] = {"_grouped_mm": _grouped_mm, "histc": _histc}
"""Shapes of operators that the meta device refuses, or takes in some dtypes only."""


def without_masks(args: Sequence[Any]) -> tuple[Sequence[Any], int]:
    """The arguments of `index`, where indices that are masks choose everything.

    Returns:
        The arguments, and how many masks there were.
    """
    if len(args) < 2 or not isinstance(args[1], (list, tuple)):
        return args, 0
    indices: list[Any] = []
    num_masks = 0
    for index in args[1]:
        if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
            num_masks += 1
            indices += [
                torch.empty((index.numel(),), dtype=torch.int64, device=index.device) for _ in range(index.dim())
            ]
        else:
            indices.append(index)
    return (args[0], indices, *args[2:]), num_masks


__all__ = ["ASSUMED", "REFUSED", "Rule", "without_masks"]
