"""Where a run's rows are to go, from arguments and environment: pure, so every contradiction is a unit test."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit, urlunsplit

from trackio_like._settings import Settings
from trackio_like.format.targets import Target, TargetKind

BUCKET_SUFFIX: Final = "-bucket"
_REPO_ID: Final = re.compile(r"^(?:[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*$")
_TOKEN_NAMES: Final = ("write_token", "token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a caller named; None for what it left to the environment."""

    space_id: str | None = None
    bucket_id: str | None = None
    dataset_id: str | None = None
    server_url: str | None = None
    private: bool | None = None

    def completed(self, settings: Settings) -> Self:
        """This wish, with what the environment says where it says nothing.

        An argument wins over every variable that contradicts it.
        """
        space_id = settings.space_id if self.space_id is None else self.space_id
        names_rows = self.bucket_id is not None or self.dataset_id is not None
        if names_rows:
            return replace(self, space_id=space_id)
        if self.server_url is not None and space_id is None:
            return self
        return replace(
            self,
            space_id=space_id,
            bucket_id=settings.bucket_id,
            dataset_id=settings.dataset_id,
            server_url=settings.server_url if self.server_url is None else self.server_url,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A target, and the token that came with it."""

    target: Target
    token: str | None = None
    """The write token of a server; None where the login of the Hub is used."""
    space_read_token: str | None = None
    """For the Space to read its private rows with; None for none."""
    ignored_server: str | None = None
    """The server that the caller named and that a Space won over; without its token."""

    def __repr__(self) -> str:
        return f"Destination({self.target})"


def choose_destination(wish: Wish, settings: Settings, *, endpoint: str) -> Destination | None:
    """Where rows are to go; None where they stay on this machine.

    A Space wins over a server. Private is the default.

    Args:
        wish: the caller's arguments.
        settings: the environment's.
        endpoint: the Hub.

    Raises:
        ValueError: a name is none, or two of them contradict each other; the message says which.
    """
    named = wish.completed(settings)
    if named.bucket_id is not None and named.dataset_id is not None:
        raise ValueError(
            f"bucket_id={named.bucket_id!r} and dataset_id={named.dataset_id!r} contradict each other: rows are sent "
            "to one of them. Leave one out (see also TRACKIO_BUCKET_ID and TRACKIO_DATASET_ID)."
        )
    for what, value in (("space_id", named.space_id), ("bucket_id", named.bucket_id), ("dataset_id", named.dataset_id)):
        if value is not None:
            _check_id(what, value)
    if named.private is not None and not isinstance(named.private, bool):
        raise ValueError(f"private={named.private!r} is unknown; choose True or False.")
    if named.space_id is None and named.bucket_id is None and named.dataset_id is None:
        if named.server_url is None:
            _check_nothing_else(named)
            return None
        return _on_server(named.server_url, named.private, settings)
    if named.server_url is not None and named.space_id is None:
        raise ValueError(
            f"server_url={_without_query(named.server_url)!r} and a bucket or dataset contradict each other: a server "
            "keeps its own rows. Leave one out (see also TRACKIO_SERVER_URL)."
        )
    ignored = None if wish.server_url is None else _without_query(wish.server_url)
    return Destination(
        target=_on_hub(named, endpoint), space_read_token=settings.space_read_token, ignored_server=ignored
    )


def _check_nothing_else(named: Wish) -> None:
    if named.private is not None:
        raise ValueError(
            f"private={named.private} says how a Space, bucket or dataset is made, and none is named: "
            "pass space_id=, bucket_id= or dataset_id=, or leave private out."
        )


def _on_hub(named: Wish, endpoint: str) -> Target:
    kind: TargetKind = "bucket" if named.dataset_id is None else "dataset"
    chosen = named.dataset_id or named.bucket_id or f"{named.space_id}{BUCKET_SUFFIX}"
    return Target(
        kind=kind, id=chosen, space_id=named.space_id, is_private=named.private is not False, endpoint=endpoint
    )


def _check_id(what: str, value: str) -> None:
    if not _REPO_ID.match(str(value)) or len(value) > 96 or ".." in value or "--" in value:
        raise ValueError(f"{what}={value!r} is no name on the Hub; give 'owner/name', such as 'me/board'.")


def _on_server(url: str, private: bool | None, settings: Settings) -> Destination:
    if private is not None:
        raise ValueError(
            f"private={private} says nothing to a self-hosted server: whoever reaches it may look, unless it was "
            "started with a read token. Leave private out."
        )
    base, token = split_server_url(url)
    return Destination(target=Target(kind="server", id=base), token=token or settings.write_token)


def split_server_url(url: str) -> tuple[str, str | None]:
    """The base of a server's URL, and the write token in its query.

    Args:
        url: as `trackio_like.show()` prints it, such as `http://tracker:7860/?write_token=...`.

    Returns:
        The URL without query, fragment or a slash at the end; the token, or None.

    Raises:
        ValueError: it is no URL of http or https; the message does not repeat the query.
    """
    parts = urlsplit(str(url).strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"server_url={_without_query(str(url))!r} is no URL of a server; give one such as 'http://tracker:7860'."
        )
    if parts.username is not None or parts.password is not None:
        raise ValueError("server_url holds a user name or password; pass the write token as TRACKIO_WRITE_TOKEN.")
    query = parse_qs(parts.query)
    token = next((query[name][0] for name in _TOKEN_NAMES if name in query), None)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")), token


def _without_query(url: str) -> str:
    return url.partition("?")[0].rpartition("@")[2]


__all__ = ["BUCKET_SUFFIX", "Destination", "Wish", "choose_destination", "split_server_url"]
