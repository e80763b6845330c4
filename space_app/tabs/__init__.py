"""Stage 8 of 8. In: bytes of the HTTP API. Out: pixels.

A new tab is a file here, its line in `TABS`, and a view of the same id in the frontend.
"""

from __future__ import annotations

from typing import Final

from space_app.tabs import landscape, metrics, model, run, runs
from space_app.tabs.spec import Tab

TABS: Final[tuple[Tab, ...]] = (metrics.TAB, runs.TAB, run.TAB, landscape.TAB, model.TAB)
"""In the order in which they are shown."""

__all__ = ["TABS", "Tab"]
