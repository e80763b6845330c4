"""A copy of the dashboard that needs no server: a page, and the data as Parquet that the browser reads by itself.

In: a root. Out: a folder that any static server can serve. `trackio_like.freeze` is the door to it.
"""

from __future__ import annotations

from space_app.freeze.build import Frozen, build
from space_app.freeze.card import write_space_card
from space_app.freeze.folder import MARK, check_folder, draft_beside, is_ours, replace_folder

__all__ = ["MARK", "Frozen", "build", "check_folder", "draft_beside", "is_ours", "replace_folder", "write_space_card"]
