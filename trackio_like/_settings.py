"""The one place that reads the environment; after that, settings are a value."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal, cast, get_args

DaemonMode = Literal["process", "thread", "off"]
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment asks for. Each field names its variable in `VARIABLES`."""

    root: Path
    """Folder that holds every project."""
    run_id: str | None = None
    """Joins this process into the run of that id."""
    daemon: DaemonMode = "process"
    """Where journals are sealed: a process of its own, a thread here, or only by `finish()`."""
    fsync_interval_s: float = 1.0
    """What a power cut can lose at most, in seconds."""
    seal_interval_s: float = 1.0
    """How often the daemon seals while someone logs, in seconds."""
    idle_exit_s: float = 30.0
    """How long the daemon stays when nobody logs, in seconds."""
    handles_sigterm: bool = False
    """Whether SIGTERM records the state `terminated` before the process ends."""
    is_strict: bool = False
    """Whether what would be a warning is raised: for tests."""
    space_id: str | None = None
    """The Space that shows the runs; its bucket or dataset is where rows are sent."""
    bucket_id: str | None = None
    """The bucket that rows are sent to."""
    dataset_id: str | None = None
    """The dataset that rows are sent to."""
    server_url: str | None = None
    """The self-hosted server that rows are sent to; the write token may stand in its query."""
    write_token: str | None = None
    """Allows to write to a self-hosted server; on its own machine, the token that it asks for."""
    read_token: str | None = None
    """What a self-hosted server asks of those who only look; None lets everybody look."""
    public_url: str | None = None
    """Where others reach this machine's server: through a reverse proxy, and below a path."""
    dataset_squash_after: int | None = None
    """A dataset whose history has so many commits is squashed into one; None keeps all."""
    max_upload_mb: float = 1024.0
    """The largest file that a self-hosted server takes, in MiB."""
    space_read_token: str | None = None
    """A token that may only read, for a private Space to read its private bucket with."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """The settings that an environment asks for.

        Raises:
            ValueError: a variable has a value that it cannot have; the message lists the ones it can.
        """
        default = cls(root=default_root(env))
        return cls(
            root=default.root,
            run_id=env.get("TRACKIO_RUN_ID") or None,
            daemon=_choice(env, "TRACKIO_DAEMON", default.daemon),
            fsync_interval_s=_seconds(env, "TRACKIO_FSYNC_INTERVAL_S", default.fsync_interval_s),
            seal_interval_s=_seconds(env, "TRACKIO_SEAL_INTERVAL_S", default.seal_interval_s),
            idle_exit_s=_seconds(env, "TRACKIO_IDLE_EXIT_S", default.idle_exit_s),
            handles_sigterm=_flag(env, "TRACKIO_HANDLE_SIGTERM"),
            is_strict=_flag(env, "TRACKIO_STRICT"),
            space_id=env.get("TRACKIO_SPACE_ID") or None,
            bucket_id=env.get("TRACKIO_BUCKET_ID") or None,
            dataset_id=env.get("TRACKIO_DATASET_ID") or None,
            server_url=env.get("TRACKIO_SERVER_URL") or None,
            write_token=env.get("TRACKIO_WRITE_TOKEN") or None,
            read_token=env.get("TRACKIO_READ_TOKEN") or None,
            public_url=env.get("TRACKIO_PUBLIC_URL") or None,
            dataset_squash_after=_count(env, "TRACKIO_DATASET_SQUASH_AFTER"),
            max_upload_mb=_size(env, "TRACKIO_MAX_UPLOAD_MB", default.max_upload_mb),
            space_read_token=env.get("TRACKIO_SPACE_READ_TOKEN") or None,
        )

    def __repr__(self) -> str:
        """Without the tokens and without what a URL may hide."""
        return f"Settings(root={str(self.root)!r}, daemon={self.daemon!r})"


VARIABLES: Final[Mapping[str, str]] = {
    "TRACKIO_DIR": "root",
    "TRACKIO_RUN_ID": "run_id",
    "TRACKIO_DAEMON": "daemon",
    "TRACKIO_FSYNC_INTERVAL_S": "fsync_interval_s",
    "TRACKIO_SEAL_INTERVAL_S": "seal_interval_s",
    "TRACKIO_IDLE_EXIT_S": "idle_exit_s",
    "TRACKIO_HANDLE_SIGTERM": "handles_sigterm",
    "TRACKIO_STRICT": "is_strict",
    "TRACKIO_SPACE_ID": "space_id",
    "TRACKIO_BUCKET_ID": "bucket_id",
    "TRACKIO_DATASET_ID": "dataset_id",
    "TRACKIO_SERVER_URL": "server_url",
    "TRACKIO_WRITE_TOKEN": "write_token",
    "TRACKIO_READ_TOKEN": "read_token",
    "TRACKIO_PUBLIC_URL": "public_url",
    "TRACKIO_DATASET_SQUASH_AFTER": "dataset_squash_after",
    "TRACKIO_MAX_UPLOAD_MB": "max_upload_mb",
    "TRACKIO_SPACE_READ_TOKEN": "space_read_token",
}
"""Every variable of ours, and the field it sets."""

assert set(VARIABLES.values()) == {field.name for field in fields(Settings)}


def default_root(env: Mapping[str, str]) -> Path:
    """`TRACKIO_DIR`, else `$HF_HOME/trackio_like`, else the same below the user's cache folder."""
    if env.get("TRACKIO_DIR"):
        return Path(env["TRACKIO_DIR"]).expanduser()
    if env.get("HF_HOME"):
        return Path(env["HF_HOME"]).expanduser() / "trackio_like"
    cache = env.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "trackio_like"


def hub_endpoint(env: Mapping[str, str] = os.environ) -> str:
    """The Hub: `HF_ENDPOINT`, else the public one; without a slash at the end."""
    return (env.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def hub_token(env: Mapping[str, str] = os.environ) -> str | None:
    """The token that the environment names for the Hub: a login that only this process may know of."""
    return env.get("HF_TOKEN") or env.get("HUGGING_FACE_HUB_TOKEN") or None


def mirrors_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Where local copies of buckets and datasets lie: beside the default root, never in it."""
    return default_root({name: value for name, value in env.items() if name != "TRACKIO_DIR"}).with_name(
        "trackio_like_mirrors"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """This process's place in a distributed job."""

    rank: int = 0
    world_size: int = 1
    launch: str | None = None
    """What all ranks of one launch agree on, or None where the launcher names nothing that they share."""


_RANK_VARIABLES: Final = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_LAUNCH_VARIABLES: Final = (
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "OMPI_MCA_ess_base_jobid",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "MASTER_ADDR",
    "MASTER_PORT",
)


def rank_from_env(env: Mapping[str, str] = os.environ, *, parent: Callable[[], str]) -> Rank:
    """This process's rank, from the variables of torchrun, Open MPI, MPICH and Slurm.

    Args:
        env: the environment.
        parent: gives the identity of the process that started this one: it joins the ranks of a launch on one host.
    """
    for rank_name, size_name in _RANK_VARIABLES:
        rank, size = env.get(rank_name, ""), env.get(size_name, "")
        if rank.isdigit() and size.isdigit() and int(size) > 1:
            shared = [f"{name}={env[name]}" for name in _LAUNCH_VARIABLES if env.get(name)]
            # torchrun's defaults name every launch alike; its agent tells launches on one host apart.
            if env.get("LOCAL_WORLD_SIZE") == size:
                shared.append(f"parent={parent()}")
            return Rank(rank=int(rank), world_size=int(size), launch="|".join(shared) or None)
    return Rank()


def has_screen(env: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser that is opened here would be seen: not on a server, not in continuous integration."""
    if env.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def child_environment(package_folder: Path, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a process of ours: this one's, in which our package can be imported.

    Args:
        package_folder: the folder that holds the package.
        env: this process's environment.
    """
    paths = [str(package_folder), *filter(None, [env.get("PYTHONPATH")])]
    return {**env, "PYTHONPATH": os.pathsep.join(paths)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLogin:
    """How people sign in on a Space: what the Hub gives to one whose card says `hf_oauth: true`."""

    client_id: str
    client_secret: str = field(repr=False)
    scopes: str
    provider_url: str
    host: str
    """The Space's own name on the web; empty where it is not known."""


def space_login(env: Mapping[str, str] = os.environ) -> SpaceLogin | None:
    """How people sign in here; None off a Space, and on one without logins."""
    if not (env.get("SPACE_ID") and env.get("OAUTH_CLIENT_ID") and env.get("OAUTH_CLIENT_SECRET")):
        return None
    return SpaceLogin(
        client_id=env["OAUTH_CLIENT_ID"],
        client_secret=env["OAUTH_CLIENT_SECRET"],
        scopes=env.get("OAUTH_SCOPES") or "openid profile",
        provider_url=(env.get("OPENID_PROVIDER_URL") or hub_endpoint(env)).rstrip("/"),
        host=(env.get("SPACE_HOST") or "").partition(",")[0].strip(),  # more than one with a domain of its own
    )


def server_environment(
    *, write_token: str, read_token: str | None, env: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The environment of a dashboard's process: this one's, with the tokens that it is to ask for.

    Args:
        write_token: allows everything.
        read_token: asked of everybody who looks; None where everybody may.
        env: this process's environment.
    """
    others = {name: value for name, value in env.items() if name not in ("TRACKIO_WRITE_TOKEN", "TRACKIO_READ_TOKEN")}
    tokens = {"TRACKIO_WRITE_TOKEN": write_token, "TRACKIO_READ_TOKEN": read_token or ""}
    return {**others, **tokens}


_SENDING: Final[Mapping[str, str]] = {
    # hf_xet's own tries would hold a call for minutes; the daemon tries again by itself, and tells why.
    "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "2",
    "HF_XET_CLIENT_RETRY_BASE_DELAY": "500ms",
    "HF_XET_CLIENT_CONNECT_TIMEOUT": "10s",
    "HF_XET_CLIENT_READ_TIMEOUT": "60s",
    "HF_XET_TELEMETRY_ENABLED": "0",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


def prepare_for_sending(env: MutableMapping[str, str] = os.environ) -> None:
    """Sets what the Hub's client reads when it is imported, in a process of ours; what the user set goes first."""
    for name, value in _SENDING.items():
        env.setdefault(name, value)


def _choice(env: Mapping[str, str], name: str, default: DaemonMode) -> DaemonMode:
    raw = env.get(name) or default
    if raw not in get_args(DaemonMode):
        raise ValueError(f"{name}={raw!r} is unknown; choose one of {', '.join(get_args(DaemonMode))}.")
    return cast("DaemonMode", raw)


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    return _positive(env, name, default, "is not a time; give seconds above 0")


def _size(env: Mapping[str, str], name: str, default: float) -> float:
    return _positive(env, name, default, "is not a size; give MiB above 0")


def _count(env: Mapping[str, str], name: str) -> int | None:
    raw = env.get(name, "").strip()
    if not raw:
        return None
    if not raw.isdecimal() or int(raw) < 2:
        raise ValueError(f"{name}={raw!r} is not a number of commits; give a whole number of at least 2, such as 1000.")
    return int(raw)


def _positive(env: Mapping[str, str], name: str, default: float, fault: str) -> float:
    raw = env.get(name) or str(default)
    try:
        value = float(raw)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise ValueError(f"{name}={raw!r} {fault}, such as {default:g}.")
    return value


def _flag(env: Mapping[str, str], name: str) -> bool:
    raw = env.get(name, "").strip().lower()
    if raw not in _TRUE | _FALSE:
        raise ValueError(f"{name}={raw!r} is unknown; choose 1 or 0.")
    return raw in _TRUE


__all__ = [
    "VARIABLES",
    "DaemonMode",
    "Rank",
    "Settings",
    "SpaceLogin",
    "child_environment",
    "default_root",
    "has_screen",
    "hub_endpoint",
    "hub_token",
    "mirrors_folder",
    "prepare_for_sending",
    "rank_from_env",
    "server_environment",
    "space_login",
]
