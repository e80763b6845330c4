"""The version: the one place that states it, read by the build too."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
