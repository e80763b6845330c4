"""What cannot be evaluated, and why."""

from __future__ import annotations


class LandscapeError(ValueError):
    """The model, its data or an option cannot be used; the message says which, and what to do. Nothing was changed."""


class NeedsMemoryError(LandscapeError):
    """No way of evaluating fits the budget; the message says how much the smallest one needs."""


class TimeIsUpError(Exception):
    """The time limit was reached; what was measured until then is kept."""


__all__ = ["LandscapeError", "NeedsMemoryError", "TimeIsUpError"]
