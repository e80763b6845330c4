"""A static Space on the Hub: files that it serves as they are. Written in one commit, and never over somebody's own."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Final

from huggingface_hub import CommitOperationAdd, CommitOperationDelete

from trackio_like.errors import RemoteConflictError, RemoteMissingError, RemoteRefusedError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import hub_calls
from trackio_like.hub.spaces import SpaceState, look_at, read_file

MARK: Final = "trackio_like.json"
_KEPT: Final = frozenset({".gitattributes"})
"""The Hub's own: says which files are large."""


def check_space(access: HubAccess, space_id: str) -> SpaceState | None:
    """Makes sure that a Space may be written: it is not there, or holds nothing, or a frozen dashboard.

    Args:
        access: the endpoint and token.
        space_id: `namespace/name`.

    Returns:
        The Space, or None where it is not there yet.

    Raises:
        RemoteRefusedError: nobody is logged in.
        RemoteConflictError: there is something else; it stays as it is.
        RemoteError: as `hub_calls`.
    """
    if not access.token:
        raise RemoteRefusedError("To publish a Space, log in first: run `hf auth login`, or set HF_TOKEN.")
    state = look_at(access, space_id)
    if state is None or state.is_empty:
        return state
    mark = read_file(access, space_id, MARK, state.sha) if MARK in state.paths else None
    if not _is_frozen(mark):
        raise RemoteConflictError(
            f"The Space {space_id} holds something that is not a frozen dashboard. It stays as it is; name another."
        )
    return state


def publish(access: HubAccess, space_id: str, folder: Path, *, is_private: bool) -> str:
    """Puts a folder's files into a static Space; what was in it before is taken away in the same commit.

    Args:
        access: the endpoint and a token that may write.
        space_id: `namespace/name`.
        folder: a frozen dashboard, with the mark and the card.
        is_private: whether a new Space is made private; an existing one stays as it is.

    Returns:
        The Space's URL.

    Raises:
        RemoteConflictError: there is something else, or somebody wrote at the same time.
        RemoteError: as `hub_calls`.
    """
    state = check_space(access, space_id)
    if state is None:
        with hub_calls(f"make the Space {space_id}"):
            access.api.create_repo(space_id, repo_type="space", space_sdk="static", private=is_private)
        state = look_at(access, space_id)
        if state is None:
            raise RemoteMissingError(f"The Space {space_id} was made, but the Hub does not show it; freeze again.")
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    adds = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=os.fspath(files[name])) for name in sorted(files)]
    gone = sorted(state.paths - files.keys() - _KEPT)
    deletes = [CommitOperationDelete(path_in_repo=name, is_folder=False) for name in gone]
    with hub_calls(f"write to the Space {space_id}"), warnings.catch_warnings():
        # The client wonders about data in a Space; the page reads them there.
        warnings.filterwarnings("ignore", message=".*commit a data file.*")
        # From the commit seen above: whoever put files there meanwhile is not overwritten.
        access.api.create_commit(
            space_id,
            [*adds, *deletes],
            commit_message="Freeze the dashboard",
            repo_type="space",
            parent_commit=state.sha,
        )
    return f"{access.endpoint}/spaces/{space_id}"


def _is_frozen(mark: bytes | None) -> bool:
    try:
        document: Any = json.loads(mark or b"")
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("app") == "trackio_like" and document.get("is_static") is True


__all__ = ["MARK", "check_space", "publish"]
