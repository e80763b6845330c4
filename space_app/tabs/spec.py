"""What the shell has to know of a tab."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ID = re.compile(r"^[a-z][a-z0-9-]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One tab: the shell makes an empty panel for it, which the view of the same id in the bundle fills."""

    id: str
    """Stands in links; lower case letters, digits and `-`."""
    title: str
    """On the tab."""

    def __post_init__(self) -> None:
        if not _ID.match(self.id):
            raise ValueError(f"A tab's id is lower case letters, digits and '-', not {self.id!r}.")


__all__ = ["Tab"]
