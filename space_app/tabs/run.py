"""Everything about one run."""

from __future__ import annotations

from space_app.tabs.spec import Tab

TAB = Tab(id="run", title="Run")

__all__ = ["TAB"]
