"""Networks as graphs."""

from __future__ import annotations

from space_app.tabs.spec import Tab

TAB = Tab(id="model", title="Model")

__all__ = ["TAB"]
