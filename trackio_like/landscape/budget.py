"""How much memory an evaluation may take. Needs nothing, so that everybody may import it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT_MEMORY_BUDGET: Final = 1 << 30
"""Bytes beyond the model itself and its data."""
PARALLEL_PRESETS: Final[Mapping[str, int]] = {"low": 64 << 20, "medium": 256 << 20, "high": 1 << 30, "max": 4 << 30}
"""Bytes of perturbed parameters that vector mode holds at once."""

__all__ = ["DEFAULT_MEMORY_BUDGET", "PARALLEL_PRESETS"]
