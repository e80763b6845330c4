"""The card of a static Space: what the Hub reads to serve it, and people to understand it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_CARD: Final = """---
title: "{title}"
emoji: 📈
colorFrom: blue
colorTo: green
sdk: static
app_file: index.html
pinned: false
tags:
- trackio_like
---

A frozen copy of a trackio_like dashboard: the runs as they stood when it was made.

The data are plain Parquet, in the folder `data`.
"""


def write_space_card(folder: Path, space_id: str) -> None:
    """Writes `README.md`.

    Args:
        folder: a frozen dashboard's.
        space_id: `namespace/name` of the Space that it goes to.

    Raises:
        OSError: the disk refuses.
    """
    title = space_id.rpartition("/")[2].replace('"', "")
    (folder / "README.md").write_text(_CARD.format(title=title), encoding="utf-8")


__all__ = ["write_space_card"]
