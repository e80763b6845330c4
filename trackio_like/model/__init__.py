"""Model graphs: what a network is made of, and how data go through it.

Knows nothing of the tracker. `ModelGraph` needs no torch; building one does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trackio_like.model.graph import ModelGraph

if TYPE_CHECKING:
    from trackio_like.model.assemble import build_model_graph

__all__ = ["ModelGraph", "build_model_graph"]


def __getattr__(name: str) -> Any:
    """Loads `build_model_graph` on first use.

    Raises:
        AttributeError: there is no such name.
        ImportError: it needs torch, which is not installed.
    """
    if name != "build_model_graph":
        raise AttributeError(f"module 'trackio_like.model' has no attribute {name!r}")
    try:
        value = importlib.import_module("trackio_like.model.assemble").build_model_graph
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            "To build a model graph, install torch: pip install 'trackio-like[torch]'.", name="torch"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
