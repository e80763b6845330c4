"""Spaces on the Hub: looked at, made, filled in one commit, and told what they read. Each function is one question."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, Volume, get_session
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # loaded lazily there

from trackio_like.errors import RemoteMissingError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import hub_calls

StoreKind = Literal["bucket", "dataset"]

PLACEHOLDERS: Final = frozenset({".gitattributes", "README.md"})
"""What the Hub itself puts into a new repository."""
STANDING: Final = frozenset({"PAUSED", "SLEEPING", "STOPPED", "RUNTIME_ERROR"})
"""Stages that a restart ends."""
SETTLED: Final = frozenset({"RUNNING", "BUILD_ERROR", "CONFIG_ERROR", "NO_APP_FILE", "DELETING", *STANDING})
"""Stages that last until somebody does something."""
_NUM_LOG_LINES: Final = 20
_MAX_LOG_LINES: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A bucket or dataset that is a folder in the Space, read-only."""

    kind: str
    """bucket, dataset, model or space."""
    source: str
    path: str
    """The folder, absolute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceState:
    """A Space as the Hub describes it."""

    is_private: bool
    sha: str
    """Its newest commit."""
    sdk: str | None
    stage: str
    """RUNNING, BUILDING, ...; empty where the Hub does not say."""
    paths: frozenset[str]
    """Its files."""
    volumes: tuple[Volume, ...]
    """What is mounted, as the client has it, so that volumes of others can be given back unchanged."""

    @property
    def is_empty(self) -> bool:
        """Whether nobody has put a file there yet."""
        return self.paths <= PLACEHOLDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFacts:
    """What a token may do, as far as its owner's account says."""

    user: str
    role: str
    """read, write, fineGrained, oauth, or what the Hub calls it one day."""
    permissions: frozenset[str] = frozenset()
    """Of a fine-grained token, on anything: `repo.content.read`, `repo.write`, ..."""

    @property
    def may_only_read(self) -> bool:
        """Whether nothing can be changed with it; False where that is not known."""
        if self.role == "fineGrained":
            return all(name.endswith(".read") for name in self.permissions)
        return self.role == "read"


def look_at(access: HubAccess, space_id: str) -> SpaceState | None:
    """A Space, or None where there is none that this token may see: one API call.

    Raises:
        RemoteError: as `hub_calls`.
    """
    try:
        with hub_calls(f"look at the Space {space_id}"):
            info = access.api.space_info(space_id)
    except RemoteMissingError:
        return None
    runtime = info.runtime
    return SpaceState(
        is_private=bool(info.private),
        sha=info.sha or "main",
        sdk=info.sdk,
        stage="" if runtime is None else str(runtime.stage),
        paths=frozenset(sibling.rfilename for sibling in info.siblings or ()),
        volumes=() if runtime is None else tuple(runtime.volumes or ()),
    )


def read_file(access: HubAccess, space_id: str, path: str, revision: str) -> bytes | None:
    """A small file of a Space at one commit, or None where it is not there; no API call, a download.

    Raises:
        RemoteError: as `hub_calls`.
    """
    url = f"{access.endpoint}/spaces/{space_id}/resolve/{revision}/{path}"
    try:
        with hub_calls(f"read {path} of the Space {space_id}"):
            response = get_session().get(url, headers=access.headers)
            hf_raise_for_status(response)
            return bytes(response.content)
    except RemoteMissingError:
        return None


def make_space(
    access: HubAccess,
    space_id: str,
    *,
    is_private: bool,
    variables: Mapping[str, str],
    secrets: Mapping[str, str],
    mounts: Iterable[Mount],
) -> None:
    """Makes an empty Gradio Space with all that it needs to know, so that it need not start again for each.

    Raises:
        RemotePaymentError: the plan allows none.
        RemoteConflictError: it exists.
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"make the Space {space_id}"):
        access.api.create_repo(
            space_id,
            repo_type="space",
            space_sdk="gradio",
            private=is_private,
            space_variables=[{"key": key, "value": value} for key, value in variables.items()] or None,
            space_secrets=[{"key": key, "value": value} for key, value in secrets.items()] or None,
            space_volumes=[_volume(mount) for mount in mounts] or None,
        )


def commit_files(
    access: HubAccess, space_id: str, files: Mapping[str, bytes], *, deletes: Iterable[str] = (), message: str
) -> None:
    """Puts files there in one commit; where they are there already, nothing is sent.

    Args:
        access: the endpoint and token.
        space_id: `namespace/name`.
        files: contents by path.
        deletes: paths that must exist and are taken away in the same commit.
        message: the commit's.

    Raises:
        RemoteError: as `hub_calls`.
    """
    adds = [CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in files.items()]
    removes = [CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deletes]
    with hub_calls(f"write to the Space {space_id}"):
        access.api.create_commit(space_id, [*adds, *removes], commit_message=message, repo_type="space")


def read_variables(access: HubAccess, space_id: str) -> dict[str, str]:
    """The Space's variables: one API call, which needs the right to write.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the variables of the Space {space_id}"):
        return {key: variable.value or "" for key, variable in access.api.get_space_variables(space_id).items()}


def set_variables(access: HubAccess, space_id: str, wanted: Mapping[str, str], *, unwanted: Iterable[str] = ()) -> bool:
    """Sets and removes variables where they differ: each change may restart the Space.

    Returns:
        Whether anything differed.

    Raises:
        RemoteError: as `hub_calls`.
    """
    there = read_variables(access, space_id)
    differing = {key: value for key, value in wanted.items() if there.get(key) != value}
    extra = [key for key in unwanted if key in there]
    with hub_calls(f"set the variables of the Space {space_id}"):
        for key, value in differing.items():
            access.api.add_space_variable(space_id, key, value)
        for key in extra:
            access.api.delete_space_variable(space_id, key)
    return bool(differing or extra)


def set_mount(access: HubAccess, space_id: str, wanted: Mount, *, there: Iterable[Volume]) -> bool:
    """Mounts one volume where it is not mounted yet; the others stay, though the Hub takes only whole lists.

    Returns:
        Whether it differed.

    Raises:
        RemoteError: as `hub_calls`.
    """
    mounted = list(there)
    if any(_mount(volume) == wanted and volume.path is None for volume in mounted):
        return False
    others = [volume for volume in mounted if volume.mount_path != wanted.path]
    with hub_calls(f"mount the {wanted.kind} {wanted.source} in the Space {space_id}"):
        access.api.set_space_volumes(space_id, [*others, _volume(wanted)])
    return True


def has_secret(access: HubAccess, space_id: str, key: str) -> bool:
    """Whether the Space has a secret of that name: one API call. Nobody can read its value.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"list the secrets of the Space {space_id}"):
        return key in access.api.get_space_secrets(space_id)


def set_secret(access: HubAccess, space_id: str, key: str, value: str) -> None:
    """Sets a secret, which restarts the Space.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"set a secret of the Space {space_id}"):
        access.api.add_space_secret(space_id, key, value)


def read_stage(access: HubAccess, space_id: str) -> str:
    """How far the Space is: RUNNING, BUILDING, BUILD_ERROR, ...: one API call.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"ask how far the Space {space_id} is"):
        return str(access.api.get_space_runtime(space_id).stage)


def restart(access: HubAccess, space_id: str) -> None:
    """Starts the Space again, also where it is paused.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"restart the Space {space_id}"):
        access.api.restart_space(space_id)


def read_log_tail(access: HubAccess, space_id: str, *, is_build: bool) -> list[str]:
    """The last lines of the build's or the app's log, oldest first.

    Raises:
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"read the log of the Space {space_id}"):
        lines = itertools.islice(access.api.fetch_space_logs(space_id, build=is_build), _MAX_LOG_LINES)
        return [line.rstrip("\n") for line in deque(lines, maxlen=_NUM_LOG_LINES)]


def describe_token(access: HubAccess) -> TokenFacts:
    """What the token of an access may do.

    Raises:
        RemoteRefusedError: it is not valid.
        RemoteError: as `hub_calls`.
    """
    with hub_calls("check a token"):
        told: dict[str, Any] = access.api.whoami()
    auth = told.get("auth") or {}
    token = auth.get("accessToken") or {}
    fine = token.get("fineGrained") or {}
    scoped = [name for scope in fine.get("scoped") or () for name in scope.get("permissions") or ()]
    return TokenFacts(
        user=str(told.get("name", "")),
        role=str(token.get("role") or auth.get("type") or ""),
        permissions=frozenset([*scoped, *(fine.get("global") or ())]),
    )


def is_store_private(access: HubAccess, kind: StoreKind, store_id: str) -> bool:
    """Whether a bucket or dataset is private: one API call.

    Raises:
        RemoteMissingError: there is none that this token may see.
        RemoteError: as `hub_calls`.
    """
    with hub_calls(f"look at the {kind} {store_id}"):
        if kind == "bucket":
            return bool(access.api.bucket_info(store_id).private)
        return bool(access.api.dataset_info(store_id, expand=["private"]).private)


def _volume(mount: Mount) -> Volume:
    return Volume(type=mount.kind, source=mount.source, mount_path=mount.path, read_only=True)


def _mount(volume: Volume) -> Mount | None:
    # The Hub mounts repositories read-only, and says so or not.
    is_read_only = volume.read_only or volume.type != "bucket"
    return Mount(kind=volume.type, source=volume.source, path=volume.mount_path) if is_read_only else None


__all__ = [
    "PLACEHOLDERS",
    "SETTLED",
    "STANDING",
    "Mount",
    "SpaceState",
    "StoreKind",
    "TokenFacts",
    "commit_files",
    "describe_token",
    "has_secret",
    "is_store_private",
    "look_at",
    "make_space",
    "read_file",
    "read_log_tail",
    "read_stage",
    "read_variables",
    "restart",
    "set_mount",
    "set_secret",
    "set_variables",
]
