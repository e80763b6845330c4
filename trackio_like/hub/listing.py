"""What a bucket or a dataset holds, and one token that changes whenever it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from huggingface_hub import get_session
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # loaded lazily there

from trackio_like.errors import RemoteUnavailableError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import hub_calls

_TIMEOUT_S: Final = 20.0
"""A page of a listing takes the Hub less than a second; whoever waits for one wants to know soon."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """One file of a bucket, a dataset or a mounted folder."""

    path: str
    """From the top, with `/` between its parts."""
    num_bytes: int
    content_hash: str
    """Changes when the content does; comparable within one remote only. Empty where the remote does not say."""
    uploaded: str = ""
    """When it came there, as a text that sorts by time; empty where the remote does not say."""


def check_id(remote_id: str, what: str) -> str:
    """The id as it is, where it can be one.

    Args:
        remote_id: what a user gave.
        what: `bucket`, `dataset` or `space`, for the message.

    Raises:
        ValueError: it is not `namespace/name`.
    """
    if not _ID.fullmatch(remote_id):
        raise ValueError(f"{remote_id!r} is not the id of a {what}; give namespace/name, such as me/board.")
    return remote_id


def list_bucket(access: HubAccess, bucket_id: str, prefix: str = "") -> list[RemoteFile]:
    """Every file of a bucket, by path: one API call per 1000 of them.

    Args:
        access: the endpoint and token.
        bucket_id: `namespace/name`.
        prefix: only paths that begin with these letters: the Hub knows no folders, `logs` also gives `logs2/a`.

    Raises:
        RemoteError: as `hub_calls`.
    """
    where = f"/api/buckets/{bucket_id}/tree{'/' + quote(prefix, safe='') if prefix else ''}"
    with hub_calls(f"list the bucket {bucket_id}"):
        return sorted(
            (
                RemoteFile(
                    path=item["path"],
                    num_bytes=int(item["size"]),
                    content_hash=item.get("xetHash") or "",
                    uploaded=item.get("uploadedAt") or "",
                )
                for item in _pages(access, where)
                if item["type"] == "file"
            ),
            key=lambda file: file.path,
        )


def list_dataset(access: HubAccess, dataset_id: str, revision: str) -> list[RemoteFile]:
    """Every file of a dataset at one revision, by path: one API call per 1000 of them.

    Args:
        access: the endpoint and token.
        dataset_id: `namespace/name`.
        revision: a commit's sha, for a listing of one moment; or a branch.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"list the dataset {dataset_id}"):
        return sorted(
            (
                RemoteFile(path=item["path"], num_bytes=int(item["size"]), content_hash=_git_hash(item))
                for item in _pages(access, f"/api/datasets/{dataset_id}/tree/{quote(revision, safe='')}")
                if item["type"] == "file"
            ),
            key=lambda file: file.path,
        )


def bucket_version(access: HubAccess, bucket_id: str, *, timeout_s: float = _TIMEOUT_S) -> str:
    """A text that differs after every change of a bucket: when it was changed last. One API call.

    Args:
        access: the endpoint and token.
        bucket_id: `namespace/name`.
        timeout_s: how long the answer may take.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the bucket {bucket_id}"):
        document = get_json(access, f"/api/buckets/{bucket_id}", timeout_s=timeout_s)
        # Where a Hub does not say when, size and count change with nearly every change; a compare finds the rest.
        return str(document.get("updatedAt") or f"{document['totalFiles']} files, {document['size']} bytes")


def dataset_version(
    access: HubAccess, dataset_id: str, revision: str = "main", *, timeout_s: float = _TIMEOUT_S
) -> str:
    """The sha of a dataset's last commit. One API call.

    Args:
        access: the endpoint and token.
        dataset_id: `namespace/name`.
        revision: a branch.
        timeout_s: how long the answer may take.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the dataset {dataset_id}"):
        where = f"/api/datasets/{dataset_id}/revision/{quote(revision, safe='')}"
        return str(get_json(access, where, timeout_s=timeout_s)["sha"])


def get_json(access: HubAccess, path: str, *, timeout_s: float = _TIMEOUT_S) -> Any:
    """What the Hub answers to a GET of one of its API's paths. Call it inside `hub_calls()`.

    Args:
        access: the endpoint and token.
        path: from the endpoint on.
        timeout_s: how long the answer may take.

    Raises:
        RemoteUnavailableError: it answered something that is no JSON, as the login page of a network does.
    """
    response = get_session().get(access.endpoint + path, headers=access.headers, timeout=timeout_s)
    hf_raise_for_status(response)
    return _json_of(response)


def _pages(access: HubAccess, path: str) -> Iterator[dict[str, Any]]:
    """All pages of a recursive listing.

    Unlike the client's own, it never sleeps and tries again: whoever asks decides when to ask again.
    """
    url: str | None = f"{access.endpoint}{path}?recursive=true"
    while url is not None:
        response = get_session().get(url, headers=access.headers, timeout=_TIMEOUT_S)
        hf_raise_for_status(response)
        yield from _json_of(response)
        following = response.links.get("next", {}).get("url")
        url = None if following is None else _same_host(url, following)


def _same_host(url: str, following: str) -> str:
    absolute = urljoin(url, following)
    if urlsplit(absolute)[:2] != urlsplit(url)[:2]:
        raise RemoteUnavailableError("the listing goes on at another host")  # where the token must not go
    return absolute


def _json_of(response: Any) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise RemoteUnavailableError("the answer is not the Hub's") from error


def _git_hash(item: dict[str, Any]) -> str:
    return str((item.get("lfs") or {}).get("oid") or item.get("oid") or "")


__all__ = [
    "RemoteFile",
    "bucket_version",
    "check_id",
    "dataset_version",
    "get_json",
    "list_bucket",
    "list_dataset",
]
