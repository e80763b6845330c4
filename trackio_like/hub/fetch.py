"""Fetches one file with plain GETs: the token goes to the Hub alone, never to where it sends us."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from huggingface_hub import get_session
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # loaded lazily there

from trackio_like.errors import RemoteInvalidError, RemoteUnavailableError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import CONNECT_TIMEOUT_S, hub_calls
from trackio_like.hub.hangup import Hangup

SILENCE_TIMEOUT_S: Final = 30.0
"""How long a file's next bytes may take."""
_MAX_REDIRECTS: Final = 5
_CHUNK_BYTES: Final = 1 << 18


def bucket_file(bucket_id: str, path: str) -> str:
    """Where the Hub has a bucket's file, below its endpoint."""
    return f"/buckets/{bucket_id}/resolve/{quote(path, safe='/')}"


def dataset_file(dataset_id: str, revision: str, path: str) -> str:
    """Where the Hub has a dataset's file at a revision, below its endpoint."""
    return f"/datasets/{dataset_id}/resolve/{quote(revision, safe='')}/{quote(path, safe='/')}"


def fetch_file(access: HubAccess, where: str, draft: Path, *, num_bytes: int, hangup: Hangup) -> None:
    """Writes a file of the Hub to a place that nobody reads yet.

    Args:
        access: the endpoint and token.
        where: as `bucket_file` or `dataset_file` says.
        draft: written anew; left incomplete where this raises.
        num_bytes: how long the file is: another length is no success.
        hangup: ends it early.

    Raises:
        RemoteError: as `hub_calls`; RemoteUnavailableError also where fewer or more bytes came.
        OSError: the disk refuses.
    """
    name = where.rpartition("/resolve/")[2]
    num_written = 0
    # The disk's errors must not pass for the network's, so the writing stands outside `hub_calls`.
    with contextlib.closing(_chunks(access, where, name, hangup)) as chunks, open(draft, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
            num_written += len(chunk)
            if num_written > num_bytes:
                break
    if num_written != num_bytes:
        raise RemoteUnavailableError(f"Cannot fetch {name}: {num_written} bytes came, {num_bytes} were announced")


def _chunks(access: HubAccess, where: str, name: str, hangup: Hangup) -> Generator[bytes]:
    url = access.endpoint + where
    for _ in range(_MAX_REDIRECTS):
        with (
            hub_calls(f"fetch {name}"),
            get_session().stream(
                "GET",
                url,
                headers=access.headers if _is_same_origin(url, access.endpoint) else {},
                follow_redirects=False,
                timeout=(CONNECT_TIMEOUT_S, SILENCE_TIMEOUT_S, SILENCE_TIMEOUT_S, SILENCE_TIMEOUT_S),
            ) as response,
            hangup.holding(response),
        ):
            if not response.has_redirect_location:
                hf_raise_for_status(response)
                yield from response.iter_bytes(_CHUNK_BYTES)
                return
            url = urljoin(url, response.headers["location"])
            if access.endpoint.startswith("https:") and not url.startswith("https:"):
                raise RemoteInvalidError("the Hub sends us to an address without encryption")
    raise RemoteUnavailableError(f"Cannot fetch {name}: one address leads to the next, without end")


def _is_same_origin(url: str, endpoint: str) -> bool:
    return urlsplit(url)[:2] == urlsplit(endpoint)[:2]


__all__ = ["SILENCE_TIMEOUT_S", "bucket_file", "dataset_file", "fetch_file"]
