"""The one object that every route works on: what is saved, contents, feeds, limits, faults and the log."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.hub_server.access import Account, account_of
from tests.hub_server.blobs import Blobs
from tests.hub_server.faults import Faults
from tests.hub_server.limits import Limits, Meter
from tests.hub_server.state import Bucket, Repo, Saved, State

if TYPE_CHECKING:
    from starlette.requests import Request

    from tests.hub_server.feed import Feed


@dataclass(kw_only=True)
class Record:
    """One request, for a test to look at."""

    time: float
    """Unix seconds at its start."""
    method: str
    path: str
    query: str
    group: str
    """api, resolvers, cas, cdn, pages; `pages` is all the rest."""
    account: str
    """The user's name, or anonymous."""
    status: int | None = None
    """None while it is being served, and for good if it was cut off."""
    fault: str | None = None
    """The kinds of fault that hit it."""
    had_authorization: bool = False


@dataclass(kw_only=True)
class Settings:
    """Where the server is reached."""

    endpoint: str
    cdn_endpoint: str


class World:
    """What the routes share.

    Args:
        folder: Where to keep everything; None keeps it in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self.state = State(folder)
        self.blobs = Blobs(folder / "content" if folder else None)
        self.feeds: dict[str, Feed] = {}
        self.limits = Limits()
        self.meter = Meter(self.limits)
        self.faults = Faults()
        self.log: list[Record] = []
        self.logins = Logins()
        self.at = Settings(endpoint="", cdn_endpoint="")

    @property
    def saved(self) -> Saved:
        return self.state.saved

    @property
    def cas_url(self) -> str:
        return f"{self.at.endpoint}/cas"

    def reset(self) -> None:
        """A new Hub on the same address: no account, bucket, repository, fault, log or changed limit."""
        for feed in self.feeds.values():
            feed.close()
        self.feeds.clear()
        self.state.reset()
        self.limits = Limits()
        self.meter = Meter(self.limits)
        self.faults.clear()
        self.log.clear()
        self.logins = Logins()

    def account(self, request: Request) -> Account:
        return account_of(self.saved, request.headers.get("authorization"))

    def bucket(self, bucket_id: str) -> Bucket | None:
        return self.saved.buckets.get(self.saved.moved.get(f"bucket/{bucket_id}", bucket_id))

    def repo(self, repo_type: str, repo_id: str) -> Repo | None:
        key = f"{repo_type}/{repo_id}"
        return self.saved.repos.get(self.saved.moved.get(key, key))

    # -- signed things -----------------------------------------------------------------------------------------------

    def signed(self, text: str, *, lifetime_s: float = 3600.0) -> str:
        """A signature that says until when the text is good: `expiry.hash`."""
        expiry = f"{time.time() + lifetime_s:.0f}"
        return f"{expiry}.{self._hash(text, expiry)}"

    def is_signed(self, text: str, signature: str) -> bool:
        expiry, _, given = signature.partition(".")
        return hmac.compare_digest(given, self._hash(text, expiry)) and time.time() < float(expiry)

    def _hash(self, text: str, expiry: str) -> str:
        return hmac.new(self.saved.secret.encode(), f"{text} {expiry}".encode(), hashlib.sha256).hexdigest()

    def cdn_url(self, path: str) -> str:
        """An address on the CDN for one path, good for an hour."""
        return f"{self.at.cdn_endpoint}{path}?Signature={self.signed(path)}"


@dataclass(kw_only=True)
class Logins:
    """OAuth logins on their way."""

    signed_in: str | None = None
    """Who the browser is logged in as at the Hub."""
    apps: dict[str, str] = field(default_factory=dict)
    """Client id to secret."""
    codes: dict[str, dict] = field(default_factory=dict)
