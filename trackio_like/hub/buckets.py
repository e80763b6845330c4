"""Making a bucket and writing to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from huggingface_hub.errors import BucketBatchError

from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import Traffic, hub_calls
from trackio_like.hub.making import Made, make_where_missing
from trackio_like.hub.quiet import without_progress_bars

_VANISHED_TRIES: Final = 5
"""How often a batch is built anew because a file of it was compacted away in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAnswer:
    """What became of one batch."""

    vanished: frozenset[str] = frozenset()
    """Paths whose file was gone here before it was read."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Paths that the Hub named as failed, and why; all others succeeded."""
    traffic: Traffic


def make_bucket(access: HubAccess, bucket_id: str, *, is_private: bool) -> Made:
    """Makes a bucket where it does not exist.

    Args:
        access: the endpoint and token.
        bucket_id: `namespace/name`.
        is_private: how a new one is made; one that exists is left as it is.

    Raises:
        RemoteError: as `hub_calls`.
    """
    return make_where_missing(
        f"the bucket {bucket_id}",
        create=lambda: access.api.create_bucket(bucket_id, private=is_private),
        look=lambda: access.api.bucket_info(bucket_id),
    )


def write_bucket(
    access: HubAccess, bucket_id: str, *, adds: Sequence[tuple[Path, str]], deletes: Sequence[str]
) -> BucketAnswer:
    """Sends and deletes files in one batch: two API calls, one where nothing is sent.

    Args:
        access: the endpoint and token.
        bucket_id: `namespace/name`.
        adds: files here, and their paths there.
        deletes: paths there.

    Raises:
        RemoteError: as `hub_calls`; each path may have arrived, and may be sent again.
    """
    vanished: set[str] = set()
    with hub_calls(f"write to the bucket {bucket_id}") as traffic, without_progress_bars():
        for tries_left in reversed(range(_VANISHED_TRIES)):
            there = [(file, path) for file, path in adds if path not in vanished and file.exists()]
            vanished = {path for _, path in adds} - {path for _, path in there}
            traffic.num_api_calls += bool(there)  # hf_xet asks for its write token by itself
            try:
                access.api.batch_bucket_files(bucket_id, add=list(there), delete=list(deletes))
            except FileNotFoundError:
                if not tries_left or all(file.exists() for file, _ in there):
                    raise
                continue
            except BucketBatchError as error:
                failed = {failure["path"]: str(failure.get("error", "it failed")) for failure in error.failures}
                return BucketAnswer(vanished=frozenset(vanished), failed=failed, traffic=traffic)
            break
    return BucketAnswer(vanished=frozenset(vanished), traffic=traffic)


__all__ = ["BucketAnswer", "make_bucket", "write_bucket"]
