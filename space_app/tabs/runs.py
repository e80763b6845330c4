"""The table of runs."""

from __future__ import annotations

from space_app.tabs.spec import Tab

TAB = Tab(id="runs", title="Runs")

__all__ = ["TAB"]
