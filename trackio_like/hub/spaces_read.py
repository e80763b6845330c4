"""Which bucket or dataset a Space shows: what its own repository says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from trackio_like.errors import RemoteInvalidError, RemoteMissingError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import hub_calls
from trackio_like.hub.listing import get_json

MARK: Final = "trackio_like.json"
"""The file that marks a Space's repository as ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBySpace:
    """Where the rows lie that a Space shows; one of the two is set."""

    bucket_id: str | None
    dataset_id: str | None


def shown_by_space(access: HubAccess, space_id: str) -> ShownBySpace:
    """What a Space of ours shows.

    Raises:
        RemoteMissingError: there is no such Space, or it is not one of ours.
        RemoteInvalidError: its mark names neither a bucket nor a dataset.
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the Space {space_id}"):
        get_json(access, f"/api/spaces/{space_id}")  # tells a Space that is not there from one that is not ours
        try:
            mark: Any = get_json(access, f"/spaces/{space_id}/resolve/main/{quote(MARK)}")
        except OSError as error:
            if getattr(getattr(error, "response", None), "status_code", None) != 404:
                raise
            raise RemoteMissingError(f"it was not made by trackio_like (it has no {MARK})") from error
        found = mark if isinstance(mark, dict) else {}
        shown = ShownBySpace(bucket_id=found.get("bucket_id") or None, dataset_id=found.get("dataset_id") or None)
        if (shown.bucket_id is None) == (shown.dataset_id is None):
            raise RemoteInvalidError(f"its {MARK} names no bucket or dataset")
    return shown


__all__ = ["MARK", "ShownBySpace", "shown_by_space"]
