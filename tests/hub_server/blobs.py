"""Content by name, in memory or in a folder."""

from __future__ import annotations

import os
from pathlib import Path


class Blobs:
    """Bytes that never change, by a name such as `xorb/<hash>`.

    Args:
        folder: Where to keep them; None keeps them in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> bool:
        """Keeps the bytes; False if they were known."""
        if name in self:
            return False
        if self._folder is None:
            self._held[name] = data
            return True
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        draft.write_bytes(data)
        os.replace(draft, path)
        return True

    def get(self, name: str) -> bytes:
        """The bytes.

        Raises:
            KeyError: They are unknown.
        """
        if self._folder is None:
            return self._held[name]
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            raise KeyError(name) from None

    def __contains__(self, name: str) -> bool:
        return name in self._held if self._folder is None else (self._folder / name).exists()
