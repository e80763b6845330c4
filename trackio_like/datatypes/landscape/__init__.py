"""A loss landscape as a row and a file, as docs/design/landscape.md has it. Knows neither torch nor the page."""

from __future__ import annotations

from trackio_like.datatypes.landscape.codec import FORMAT_VERSION, decode, encode

__all__ = ["FORMAT_VERSION", "decode", "encode"]
