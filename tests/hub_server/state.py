"""Everything that the Hub remembers: accounts, tokens, buckets, repositories and recipes, saved as one JSON file."""

from __future__ import annotations

import os
import secrets
import string
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

EMPTY_XET_HASH = "0" * 64
"""The name that the Xet protocol gives to a file without bytes."""

_TOKEN_LETTERS = string.ascii_letters
_DOCUMENT = "hub.json"


@dataclass(kw_only=True)
class User:
    name: str
    is_pro: bool = False


@dataclass(kw_only=True)
class Org:
    name: str
    members: dict[str, str] = field(default_factory=dict)
    """User to role: admin, write, contributor or read."""
    private_by_default: bool = False
    plan: str | None = None
    """None, "team" or "enterprise"."""


@dataclass(kw_only=True)
class Token:
    value: str
    user: str
    role: str
    """read, write, fineGrained, or oauth for one that a login gave."""
    expires_at: float | None = None
    """Unix seconds."""
    is_revoked: bool = False
    permissions: dict[str, list[str]] = field(default_factory=dict)
    """Fine-grained only: namespace or repository id to "repo.content.read" or "repo.write"."""
    scopes: list[str] = field(default_factory=list)
    """OAuth only."""

    def is_valid(self) -> bool:
        return not self.is_revoked and (self.expires_at is None or time.time() < self.expires_at)


@dataclass(frozen=True, kw_only=True)
class BucketEntry:
    xet_hash: str
    size: int
    uploaded_ms: int
    mtime_ms: int | None = None


@dataclass(kw_only=True)
class Bucket:
    id: str
    private: bool
    created_ms: int
    updated_ms: int
    creator: str
    seq: int = 0
    """Rises by one with each batch; the change feed's cursor."""
    files: dict[str, BucketEntry] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Blob:
    """One file of a git repository."""

    oid: str
    """The git hash: of the content, or of the pointer where the content is large."""
    size: int
    sha256: str | None = None
    """Set where the content is large: kept by Xet or LFS and not by git."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    sha: str
    parent: str | None
    author: str
    title: str
    message: str
    time_ms: int
    changes: dict[str, Blob | None]
    """Path to its new content, or to None where the commit deletes it."""


@dataclass(kw_only=True)
class SpaceSettings:
    sdk: str
    hardware: str = "cpu-basic"
    sleep_time_s: int | None = None
    stages: list[str] = field(default_factory=lambda: ["NO_APP_FILE"])
    """The stages that the next questions will be told; the last one stays."""
    variables: dict[str, dict[str, str | None]] = field(default_factory=dict)
    secrets: dict[str, dict[str, str | None]] = field(default_factory=dict)
    volumes: list[dict] = field(default_factory=list)
    num_restarts: int = 0

    def rebuild(self) -> None:
        """New files: a Space is built from them."""
        self.stages = ["RUNNING"] if self.sdk == "static" else ["BUILDING", "APP_STARTING", "RUNNING"]

    def restart(self) -> None:
        """As a change of its settings does; a Space without an application has nothing to start."""
        if self.sdk != "static" and self.stages[-1] != "NO_APP_FILE":
            self.num_restarts += 1
            self.stages = ["APP_STARTING", "RUNNING"]


@dataclass(kw_only=True)
class Repo:
    type: str
    """model, dataset or space."""
    id: str
    private: bool
    created_ms: int
    creator: str
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    space: SpaceSettings | None = None


@dataclass(frozen=True, kw_only=True)
class Term:
    """A run of chunks of one xorb."""

    xorb: str
    start: int
    end: int
    """One past the last chunk."""
    num_bytes: int
    """Unpacked."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a Xet file is put together."""

    size: int
    terms: list[Term]


@dataclass(kw_only=True)
class Saved:
    """What survives a restart."""

    secret: str = field(default_factory=lambda: secrets.token_hex(32))
    """Signs Xet tokens and CDN addresses."""
    last_ms: int = 0
    users: dict[str, User] = field(default_factory=dict)
    orgs: dict[str, Org] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    repos: dict[str, Repo] = field(default_factory=dict)
    """By "type/namespace/name"."""
    moved: dict[str, str] = field(default_factory=dict)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    xet_of_sha256: dict[str, str] = field(default_factory=dict)


class State:
    """What is saved, and where to.

    Args:
        folder: Where to keep it; None keeps it in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _DOCUMENT if folder else None
        self.saved = Saved()
        if self._path is not None and self._path.exists():
            self.saved = msgspec.json.decode(self._path.read_bytes(), type=Saved)

    def save(self) -> None:
        """Writes everything, whole or not at all."""
        if self._path is None:
            return
        draft = self._path.with_suffix(".tmp")
        draft.write_bytes(msgspec.json.encode(self.saved))
        os.replace(draft, self._path)

    def reset(self) -> None:
        """Forgets accounts, buckets and repositories. Content stays: clients remember what they uploaded to a CAS."""
        old = self.saved
        self.saved = Saved(secret=old.secret, last_ms=old.last_ms, recipes=old.recipes, xet_of_sha256=old.xet_of_sha256)

    def now_ms(self) -> int:
        """Unix milliseconds; each answer is later than the one before, so that a time names one change."""
        self.saved.last_ms = max(int(time.time() * 1000), self.saved.last_ms + 1)
        return self.saved.last_ms


def new_token_value(prefix: str = "hf_") -> str:
    """A token as the Hub writes them: the prefix and 34 letters."""
    return prefix + "".join(secrets.choice(_TOKEN_LETTERS) for _ in range(34))
