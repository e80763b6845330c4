"""A model graph as a row and a file, as docs/design/model_graph.md has it. Knows neither torch nor the page."""

from __future__ import annotations

from trackio_like.datatypes.model_graph.codec import decode, encode

__all__ = ["decode", "encode"]
