"""What to do with a Space that is there, or is not: pure, so that every case is a unit test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from trackio_like.daemon.space_files import Mark
from trackio_like.errors import RemoteConflictError
from trackio_like.hub.spaces import SpaceState, StoreKind

Action = Literal["make", "fill", "update", "keep"]

STORE_VARIABLES: Final[Mapping[StoreKind, str]] = {"bucket": "TRACKIO_BUCKET_ID", "dataset": "TRACKIO_DATASET_ID"}
"""What tells the app in the Space which bucket or dataset it shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A Space that is there."""

    state: SpaceState
    mark: Mark | None
    variables: Mapping[str, str]
    """Empty where the mark says enough."""


def decide(found: Found | None, ours: Mark, space_id: str, *, force: bool, is_automatic: bool) -> Action:
    """What to do with a Space: pure.

    Args:
        found: the Space, or None where there is none.
        ours: the mark of what would be uploaded.
        space_id: for messages.
        force: as for `deploy`.
        is_automatic: nobody asked for it just now.

    Raises:
        RemoteConflictError: it is not ours, or shows something else.
    """
    if found is None:
        return "make"
    mark = found.mark
    if mark is None:
        if not found.state.is_empty:
            raise RemoteConflictError(
                f"The Space {space_id} holds files that trackio_like did not put there, so it was left alone. "
                "Name another Space, or remove this one."
            )
        is_begun = any(found.variables.get(STORE_VARIABLES[kind]) == store for kind, store in _stores(ours))
        if is_begun or force:
            return "fill"
        raise RemoteConflictError(
            f"The Space {space_id} is empty and was not made for {ours.store}, so it was left alone. "
            f"`trackio-like deploy {space_id} --force` fills it."
        )
    is_newer_there = mark.release > ours.release
    if mark.store != ours.store and (is_newer_there or not force):
        how = "Upgrade trackio_like to change that." if is_newer_there else f"To change that, {_deploy_command(ours)}."
        raise RemoteConflictError(f"The Space {space_id} shows {mark.store}, not {ours.store}. {how}")
    if is_newer_there:
        return "keep"
    if force or mark.release < ours.release:
        return "update"
    return "keep" if is_automatic or mark.digest == ours.digest else "update"


def _stores(mark: Mark) -> list[tuple[StoreKind, str]]:
    return [("dataset", mark.dataset_id)] if mark.dataset_id else [("bucket", mark.bucket_id or "")]


def _deploy_command(mark: Mark) -> str:
    (kind, store) = _stores(mark)[0]
    return f"run `trackio-like deploy` with this Space, `--{kind} {store}` and `--force`"


__all__ = ["STORE_VARIABLES", "Action", "Found", "decide"]
