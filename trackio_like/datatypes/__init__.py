"""Kinds of values that are logged as an object row with a file beside it: what each is called, and who shows it.

A new one is a folder here with `encode` and `decode`, its line in `DATA_TYPES`, a tab, a view of the same id in the
frontend, a page in `docs/` and a strategy in `tests/datatypes/strategies.py`. Importing this needs nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class DataType:
    """One kind of value."""

    name: str
    """The `type` of its rows."""
    package: str
    """Its folder here."""
    extension: str
    """What the names of its files end in, without the dot."""
    tab: str
    """Id of the tab that shows it."""
    page: str
    """What explains it, in `docs/`."""


LOSS_LANDSCAPE: Final = DataType(
    name="loss_landscape", package="landscape", extension="parquet", tab="landscape", page="loss_landscapes.md"
)
MODEL_GRAPH: Final = DataType(
    name="model_graph", package="model_graph", extension="json", tab="model", page="model_graphs.md"
)
DATA_TYPES: Final[tuple[DataType, ...]] = (LOSS_LANDSCAPE, MODEL_GRAPH)

__all__ = ["DATA_TYPES", "LOSS_LANDSCAPE", "MODEL_GRAPH", "DataType"]
