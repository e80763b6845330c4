"""Loss surfaces around a model's weights: what is moved, where it is measured, and what lies between.

Knows nothing of the tracker. Needs numpy, and torch where a model is evaluated.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trackio_like.landscape.budget import DEFAULT_MEMORY_BUDGET, PARALLEL_PRESETS
from trackio_like.landscape.errors import LandscapeError, NeedsMemoryError

if TYPE_CHECKING:
    from trackio_like.landscape.directions import filter_normalized_directions
    from trackio_like.landscape.grid import evaluate_grid
    from trackio_like.landscape.result import LossLandscape
    from trackio_like.landscape.session import Evaluation

__all__ = [
    "DEFAULT_MEMORY_BUDGET",
    "PARALLEL_PRESETS",
    "Evaluation",
    "LandscapeError",
    "LossLandscape",
    "NeedsMemoryError",
    "evaluate_grid",
    "filter_normalized_directions",
]

_HOME = {
    "Evaluation": "session",
    "LossLandscape": "result",
    "evaluate_grid": "grid",
    "filter_normalized_directions": "directions",
}
"""Names whose modules need numpy or torch, loaded on first use."""


def __getattr__(name: str) -> Any:
    """Loads a name on first use.

    Raises:
        AttributeError: there is no such name.
        ImportError: it needs torch, which is not installed.
    """
    if name not in _HOME:
        raise AttributeError(f"module 'trackio_like.landscape' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"trackio_like.landscape.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            "To evaluate a loss landscape, install torch: pip install 'trackio-like[torch]'.", name="torch"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
