"""The version, as the installed distribution states it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("trackio-like")
except PackageNotFoundError:  # run from a folder that was never installed, as on a Space
    __version__ = "0+local"

__all__ = ["__version__"]
