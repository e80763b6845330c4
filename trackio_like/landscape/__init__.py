"""Loss surfaces around a model's weights: what is moved, where it is measured, and what lies between.

Knows nothing of the tracker. Needs numpy, and torch where a model is evaluated.
"""

from __future__ import annotations

from trackio_like.landscape.budget import DEFAULT_MEMORY_BUDGET

__all__ = ["DEFAULT_MEMORY_BUDGET"]
