"""Charts of every metric."""

from __future__ import annotations

from space_app.tabs.spec import Tab

TAB = Tab(id="metrics", title="Metrics")

__all__ = ["TAB"]
