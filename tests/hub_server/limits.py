"""How often an account may ask: fixed windows for each class of request, and commits for each hour and repository."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

COMMIT_WINDOW_S = 3600.0

# Requests in five minutes, as the Hub publishes them: API, resolvers, pages.
_PLANS = {
    "anonymous": (500, 3000, 100),
    "free": (1000, 5000, 200),
    "pro": (2500, 12000, 400),
    "team": (3000, 20000, 400),
    "enterprise": (6000, 50000, 600),
}
CLASSES = ("api", "resolvers", "pages")


def _published() -> dict[str, dict[str, int]]:
    return {plan: dict(zip(CLASSES, quotas, strict=True)) for plan, quotas in _PLANS.items()}


@dataclass(kw_only=True)
class Limits:
    """What may be used up; a test may change every field at any time."""

    window_s: float = 300.0
    clock: Callable[[], float] = time.monotonic
    """Seconds: a window begins at each multiple of its width; a test that simulates time hands in its own."""
    quotas: dict[str, dict[str, int]] = field(default_factory=_published)
    """Plan to class to requests in a window."""
    commits_per_hour: int = 128
    """For each git repository."""
    xet_token_s: float = 3600.0
    """How long an access token for the CAS is good."""
    replay_window_s: float = 900.0
    """How far back the change feed can replay."""
    scan_secrets: bool = True
    """Whether a commit with a token in a regular file is refused."""
    xorb_grants: bool = False
    """Whether xorbs are uploaded to a granted address, and not to the CAS itself."""

    def set_quota(self, group: str, num_requests: int) -> None:
        """The same quota for every plan.

        Args:
            group: api, resolvers or pages.
            num_requests: How many a window has.
        """
        for quotas in self.quotas.values():
            quotas[group] = num_requests


class Meter:
    """What was used of the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._used: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._window = 0.0
        self._commits: defaultdict[str, deque[float]] = defaultdict(deque)

    def spend(self, *, account: str, plan: str, group: str) -> tuple[bool, dict[str, str]]:
        """Counts a request: whether it is allowed, and the headers that tell what is left."""
        now = self.limits.clock()
        width = self.limits.window_s
        if now >= self._window + width:
            self._window = now - now % width
            self._used.clear()
        quota = self.limits.quotas[plan][group]
        used = self._used[account, group] = self._used[account, group] + 1
        left_s = max(1, round(self._window + width - now))
        headers = {
            "RateLimit": f'"{group}";r={max(0, quota - used)};t={left_s}',
            "RateLimit-Policy": f'"fixed window";"{group}";q={quota};w={round(width)}',
        }
        return used <= quota, headers

    def commit_wait_s(self, repo: str) -> float:
        """Seconds until the repository may be committed to; 0 if now."""
        times = self._commits[repo]
        now = time.monotonic()
        while times and times[0] <= now - COMMIT_WINDOW_S:
            times.popleft()
        return times[0] + COMMIT_WINDOW_S - now if len(times) >= self.limits.commits_per_hour else 0.0

    def count_commit(self, repo: str) -> None:
        self._commits[repo].append(time.monotonic())
