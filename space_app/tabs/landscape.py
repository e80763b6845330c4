"""The loss around the weights, as maps and surfaces."""

from __future__ import annotations

from space_app.tabs.spec import Tab

TAB = Tab(id="landscape", title="Landscape")

__all__ = ["TAB"]
