"""Names of what goes into a model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def input_name(model: nn.Module, place: str) -> str:
    """The name of an input.

    Args:
        model: what is called.
        place: where the input stands in `(args, kwargs)`: `0.` and its position, or `1.` and its name, and what is
            within, such as `0.1.state`.
    """
    which, _, rest = place.partition(".")
    if which == "1":
        return rest
    position, _, within = rest.partition(".")
    name = _positional(model, int(position))
    return f"{name}.{within}" if within else name


def _positional(model: nn.Module, position: int) -> str:
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        return f"input_{position}"
    if position < len(parameters) and parameters[position].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        return parameters[position].name
    return f"input_{position}"


__all__ = ["input_name"]
