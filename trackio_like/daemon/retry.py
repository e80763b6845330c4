"""When to try again what failed: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

FIRST_DELAY_S: Final = 1.0
LONGEST_DELAY_S: Final = 64.0
HOPELESS_AFTER: Final = 10
"""After so many failures in a row, about eight minutes, nobody waits for it: a later start tries again."""


def doubled_delay_s(num_failures: int, *, first_s: float, longest_s: float) -> float:
    """Seconds to wait after so many failures in a row, at least 1: each doubles the wait, up to a longest."""
    return min(first_s * 2.0 ** min(num_failures - 1, 60), longest_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often something failed in a row, and when it is due again."""

    num_failures: int = 0
    due_s: float = 0.0
    """On the monotonic clock."""

    def after_failure(self, now_s: float) -> Self:
        """One more failure: the wait doubles, up to `LONGEST_DELAY_S`."""
        num_failures = self.num_failures + 1
        delay_s = doubled_delay_s(num_failures, first_s=FIRST_DELAY_S, longest_s=LONGEST_DELAY_S)
        return type(self)(num_failures=num_failures, due_s=now_s + delay_s)

    @property
    def is_hopeless(self) -> bool:
        """Whether it is no longer worth staying for."""
        return self.num_failures >= HOPELESS_AFTER


__all__ = ["FIRST_DELAY_S", "HOPELESS_AFTER", "LONGEST_DELAY_S", "Retry", "doubled_delay_s"]
