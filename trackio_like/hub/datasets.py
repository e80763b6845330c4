"""Making a dataset and committing to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, get_session
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # loaded lazily there

from trackio_like.errors import RemoteMissingError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import Traffic, hub_calls
from trackio_like.hub.making import Made, make_where_missing
from trackio_like.hub.quiet import without_progress_bars

_VANISHED_TRIES: Final = 5
"""How often a commit is built anew because a file of it was compacted away in between."""
_README_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAnswer:
    """What became of one commit, which is there as a whole."""

    vanished: frozenset[str]
    """Paths whose file was gone here before it was read."""
    traffic: Traffic


def make_dataset(access: HubAccess, dataset_id: str, *, is_private: bool) -> Made:
    """Makes a dataset where it does not exist.

    Args:
        access: the endpoint and token.
        dataset_id: `namespace/name`.
        is_private: how a new one is made; one that exists is left as it is.

    Raises:
        RemoteError: as `hub_calls`.
    """
    return make_where_missing(
        f"the dataset {dataset_id}",
        create=lambda: access.api.create_repo(dataset_id, repo_type="dataset", private=is_private),
        look=lambda: access.api.dataset_info(dataset_id),
    )


def read_readme(access: HubAccess, dataset_id: str) -> str | None:
    """The text of a dataset's README.md; None where there is none.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the card of the dataset {dataset_id}"):
        response = get_session().get(
            f"{access.endpoint}/datasets/{dataset_id}/resolve/main/README.md",
            headers=access.headers,
            timeout=_README_TIMEOUT_S,
        )
        if response.status_code == 404 and response.headers.get("x-error-code") == "EntryNotFound":
            return None
        hf_raise_for_status(response)
        return response.content.decode("utf-8", "replace")


def commit_dataset(
    access: HubAccess,
    dataset_id: str,
    *,
    adds: Sequence[tuple[Path, str]],
    texts: Mapping[str, str],
    deletes: Sequence[str],
    message: str,
) -> CommitAnswer:
    """Sends and deletes files in one commit, whatever else was committed since.

    Args:
        access: the endpoint and token.
        dataset_id: `namespace/name`.
        adds: files here, and their paths there.
        texts: paths there, and what is to stand in them.
        deletes: paths there; each must exist.
        message: the commit's first line.

    Raises:
        RemoteConflictError: somebody else committed at that very moment: nothing was changed.
        RemoteMissingError: there is no such dataset, or one of `deletes` is not in it.
        RemoteError: as `hub_calls`; it may have arrived, and may be sent again.
    """
    vanished: set[str] = set()
    with hub_calls(f"commit to the dataset {dataset_id}") as traffic, without_progress_bars():
        for tries_left in reversed(range(_VANISHED_TRIES)):
            operations: list[CommitOperationAdd | CommitOperationDelete] = []
            for file, path in adds:
                if path in vanished:
                    continue
                try:
                    operations.append(CommitOperationAdd(path_in_repo=path, path_or_fileobj=file))
                except (FileNotFoundError, ValueError):
                    if file.exists():
                        raise
                    vanished.add(path)
            num_adds = len(operations)
            operations += [CommitOperationAdd(path_in_repo=p, path_or_fileobj=t.encode()) for p, t in texts.items()]
            operations += [CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deletes]
            if not operations:
                break
            traffic.num_api_calls += bool(num_adds)  # hf_xet asks for its write token by itself
            try:
                access.api.create_commit(dataset_id, operations, commit_message=message, repo_type="dataset")
            except FileNotFoundError:
                if not tries_left or all(file.exists() for file, path in adds if path not in vanished):
                    raise
                continue
            break
    return CommitAnswer(vanished=frozenset(vanished), traffic=traffic)


def existing_paths(access: HubAccess, dataset_id: str, paths: Sequence[str]) -> set[str]:
    """Those of some paths that a dataset holds now.

    Raises:
        RemoteMissingError: there is no such dataset.
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"look into the dataset {dataset_id}"):
        found = access.api.get_paths_info(dataset_id, list(paths), repo_type="dataset")
        return {entry.path for entry in found}


def dataset_sha(access: HubAccess, dataset_id: str) -> str:
    """The last commit of a dataset's main branch.

    Raises:
        RemoteMissingError: there is no such dataset, or it has no commit.
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the dataset {dataset_id}"):
        sha = access.api.dataset_info(dataset_id).sha
        if sha is None:
            raise RemoteMissingError("it has no commit")
        return str(sha)


def num_commits(access: HubAccess, dataset_id: str) -> int:
    """How long a dataset's history is.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the history of the dataset {dataset_id}"):
        return len(access.api.list_repo_commits(dataset_id, repo_type="dataset"))


def squash_history(access: HubAccess, dataset_id: str) -> None:
    """Makes one commit of a dataset's history, which frees what deleted files take. Cannot be undone.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"squash the history of the dataset {dataset_id}"):
        access.api.super_squash_history(dataset_id, repo_type="dataset")


__all__ = [
    "CommitAnswer",
    "commit_dataset",
    "dataset_sha",
    "existing_paths",
    "make_dataset",
    "num_commits",
    "read_readme",
    "squash_history",
]
