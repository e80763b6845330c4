"""When the next pass to a target is due: pure; the clock and the dice are arguments.

All times here are seconds on one clock of the caller's that never goes backward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from trackio_like.daemon.retry import doubled_delay_s
from trackio_like.format.targets import TargetKind

FIRST_FAILURE_S: Final = 1.0
SHORT_CAP_S: Final = 15.0
"""The longest wait in the first minutes of an outage: whoever comes back soon is not kept waiting."""
LONG_CAP_S: Final = 240.0
SHORT_OUTAGE_S: Final = 600.0
REFUSED_S: Final = 180.0
"""How often a refused token is tried again although it is still the same: rights may have been given to it."""
_SHARE: Final = 0.5
"""How much of what the Hub's window still allows is taken by one target: other programs use the same account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often a kind of target is written to while all is well."""

    steps: tuple[tuple[float, float], ...]
    """Age of the youngest run that has something to send, and the interval up to that age, both in seconds."""
    last_s: float
    """The interval above the last age."""
    floor_s: float
    """Never more often than this, whatever waits."""

    def interval_s(self, age_s: float) -> float:
        """Seconds from the beginning of one pass to that of the next."""
        return next((interval for age, interval in self.steps if age_s < age), self.last_s)

    def every(self, interval_s: float) -> Self:
        """One interval for all ages, for who asks for another."""
        return replace(self, steps=(), last_s=interval_s, floor_s=min(self.floor_s, interval_s))


RHYTHMS: Final[Mapping[TargetKind, Rhythm]] = {
    "bucket": Rhythm(steps=((1800.0, 2.5), (10_800.0, 5.0)), last_s=10.0, floor_s=0.5),
    # A repository takes 128 commits an hour from all its writers together.
    "dataset": Rhythm(steps=((3600.0, 60.0),), last_s=300.0, floor_s=60.0),
    "server": Rhythm(steps=(), last_s=1.0, floor_s=0.1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What the passes so far mean for the next one; each event gives a new value."""

    began_s: float | None = None
    """When the last pass that sent something began; None before the first."""
    num_failures: int = 0
    """In a row."""
    failing_since_s: float | None = None
    failed_s: float = 0.0
    """When the last failure came."""
    not_before_s: float = 0.0
    """What the remote asked for."""
    refused_s: float | None = None
    """When the token was refused; None while it is not."""
    refused_tokens: frozenset[str] = frozenset()
    """Digests of the tokens that were refused."""
    min_interval_s: float = 0.0
    """What is left of the Hub's window stretches the interval to this."""

    def after_success(
        self,
        *,
        began_s: float,
        now_s: float,
        num_api_calls: int = 0,
        num_left: int | None = None,
        window_left_s: float | None = None,
    ) -> Self:
        """A pass reached the target.

        Args:
            began_s: when the pass began.
            now_s: when it ended.
            num_api_calls: what it took.
            num_left: API calls that the window still allows; None where nobody said.
            window_left_s: seconds until it ends.
        """
        not_before_s, min_interval_s = 0.0, 0.0
        if num_left is not None and window_left_s is not None:
            affordable = num_left * _SHARE / max(1, num_api_calls)
            if affordable < 1:
                not_before_s = now_s + window_left_s + 1.0
            else:
                min_interval_s = window_left_s / affordable
        return type(self)(began_s=began_s, not_before_s=not_before_s, min_interval_s=min_interval_s)

    def after_failure(self, *, now_s: float, retry_after_s: float | None = None) -> Self:
        """A pass did not reach the target, or was told to come later."""
        return replace(
            self,
            num_failures=self.num_failures + 1,
            failing_since_s=now_s if self.failing_since_s is None else self.failing_since_s,
            failed_s=now_s,
            not_before_s=now_s + (retry_after_s or 0.0),
            refused_s=None,
        )

    def after_refusal(self, *, now_s: float, tokens: frozenset[str]) -> Self:
        """No token was good enough."""
        return replace(
            self,
            refused_s=now_s,
            refused_tokens=tokens,
            failing_since_s=now_s if self.failing_since_s is None else self.failing_since_s,
        )

    def due_s(self, rhythm: Rhythm, *, age_s: float, is_hurried: bool, tokens: frozenset[str], jitter: float) -> float:
        """When the next pass is due; in the past where that is now.

        Args:
            rhythm: the target's kind's.
            age_s: seconds since the youngest run that sends something began.
            is_hurried: whether somebody waits for it, as `finish()` does, or the last batch could not take all.
            tokens: digests of the tokens that there are now.
            jitter: 0 to 1, drawn anew for each failure, so that many hosts do not come back at once.
        """
        if self.refused_s is not None:
            due_s = self.refused_s + (REFUSED_S if tokens == self.refused_tokens else 0.0)
        elif self.num_failures:
            due_s = self.failed_s + self._delay_s(jitter)
        elif self.began_s is None:
            due_s = 0.0
        else:
            interval_s = rhythm.floor_s if is_hurried else rhythm.interval_s(age_s)
            due_s = self.began_s + max(interval_s, self.min_interval_s)
        if self.began_s is not None:
            due_s = max(due_s, self.began_s + rhythm.floor_s)
        return max(due_s, self.not_before_s)

    def _delay_s(self, jitter: float) -> float:
        is_short = self.failed_s - (self.failing_since_s or 0.0) < SHORT_OUTAGE_S
        delay_s = doubled_delay_s(
            self.num_failures, first_s=FIRST_FAILURE_S, longest_s=SHORT_CAP_S if is_short else LONG_CAP_S
        )
        return delay_s * (0.75 + 0.25 * jitter)


__all__ = ["RHYTHMS", "Pace", "Rhythm"]
