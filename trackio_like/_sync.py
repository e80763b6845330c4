"""`trackio_like.sync`: sends what waits now, whatever was or was not running before."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from trackio_like._settings import Settings, hub_endpoint, hub_token
from trackio_like.daemon.discover import run_folders
from trackio_like.daemon.once import PATIENCE_S, Progress, SyncReport, seal_root, sync_once
from trackio_like.daemon.plan import plan_run
from trackio_like.daemon.scan import list_run
from trackio_like.errors import ProjectNotFoundError, RunNotFoundError
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import Target, bind_run, known_targets
from trackio_like.run.credentials import save_token
from trackio_like.run.destination import Destination, Wish, choose_destination


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """What is to be sent, and where."""

    root: Path
    project: str | None = None
    """Only this project's runs are newly bound to the destination; None for every project's."""
    run_id: str | None = None
    """Only the run of this id."""
    destination: Destination | None = None
    """None sends each run to where it is bound already."""


def sync(
    project: str | None = None,
    *,
    run_id: str | None = None,
    root: str | os.PathLike[str] | None = None,
    space_id: str | None = None,
    bucket_id: str | None = None,
    dataset_id: str | None = None,
    server_url: str | None = None,
    private: bool | None = None,
    verify: bool = False,
    dry_run: bool = False,
) -> list[SyncReport]:
    """Sends what waits, and returns once it is there or cannot be sent now. Nothing is sent twice.

    Args:
        project: send only this project; every project of the root where it is None.
        run_id: send only the run of this id.
        root: folder of all projects; `TRACKIO_DIR` or its default where None.
        space_id: send to this Space's bucket or dataset, as `init` does. Without any of these four each run is sent to
            where it was to be sent from the start.
        bucket_id: send to this bucket.
        dataset_id: send to this dataset.
        server_url: send to this self-hosted server.
        private: how they are made where they do not exist.
        verify: compare what is believed to be there with what is there first, and send what is missing.
        dry_run: send nothing, and say what would be sent.

    Returns:
        One report for each target: what was sent, what waits, and why.

    Raises:
        ValueError: an argument is wrong, or contradicts another one.
        ProjectNotFoundError: there is no such project.
        RunNotFoundError: there is no such run.
        RemoteError: a target took nothing, for the reason in the message; nothing is lost, and calling again goes on.
        OSError: the root cannot be read.
    """
    wish = Wish(space_id=space_id, bucket_id=bucket_id, dataset_id=dataset_id, server_url=server_url, private=private)
    request = request_for(wish, root=root, project=project, run_id=run_id)
    reports = run_sync(request, verify=verify, is_dry_run=dry_run)
    for report in reports:
        if report.error is not None:
            raise report.error
    return reports


def request_for(
    wish: Wish, *, root: str | os.PathLike[str] | None, project: str | None, run_id: str | None
) -> SyncRequest:
    """What a caller asks for, checked.

    Raises:
        ValueError: names contradict each other.
    """
    settings = Settings.from_env()
    folder = (Path(root).expanduser() if root is not None else settings.root).absolute()
    if not folder.is_dir():
        raise ValueError(f"There is nothing to send: no folder is at {folder}.")
    # What the environment names is where new runs go; runs that are here keep the way that they were given.
    is_named = any((wish.space_id, wish.bucket_id, wish.dataset_id, wish.server_url, wish.private is not None))
    destination = choose_destination(wish, settings, endpoint=hub_endpoint()) if is_named else None
    return SyncRequest(root=folder, project=project, run_id=run_id, destination=destination)


def run_sync(
    request: SyncRequest,
    *,
    verify: bool = False,
    is_dry_run: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    patience_s: float = PATIENCE_S,
    stop: threading.Event | None = None,
) -> list[SyncReport]:
    """Seals, binds and sends.

    Args:
        request: what and where.
        verify: compare with a listing of the target first.
        is_dry_run: bind and send nothing.
        on_progress: is told how far it is.
        patience_s: how long a target that cannot be reached is tried, in seconds.
        stop: ends it early.

    Raises:
        ProjectNotFoundError: there is no such project.
        RunNotFoundError: there is no such run.
        OSError: the root cannot be read or written.
    """
    seal_root(request.root)
    runs = _chosen_runs(request)
    target = None if request.destination is None else request.destination.target
    if target is not None and is_dry_run and target.key not in {known.key for known in known_targets(request.root)}:
        return [_as_if_new(target, runs)]
    if target is not None and request.destination is not None and not is_dry_run:
        for folder in runs:
            bind_run(target, folder)
        token = request.destination.token or (None if target.kind == "server" else hub_token())
        if token is not None:
            save_token(target.key, token)
    return sync_once(
        request.root,
        target=target,
        is_dry_run=is_dry_run,
        verify=verify,
        on_progress=on_progress,
        patience_s=patience_s,
        stop=stop,
    )


def _chosen_runs(request: SyncRequest) -> list[RunFolder]:
    runs = list(run_folders(request.root))
    if request.project is not None:
        runs = [folder for folder in runs if folder.project == request.project]
        if not runs:
            raise ProjectNotFoundError(f"There is no project {request.project!r} below {request.root}.")
    if request.run_id is not None:
        runs = [folder for folder in runs if folder.run_id == request.run_id]
        if not runs:
            raise RunNotFoundError(f"There is no run with id {request.run_id!r} below {request.root}.")
    return runs


def _as_if_new(target: Target, runs: Iterable[RunFolder]) -> SyncReport:
    """What would be sent to a target that nothing was ever sent to."""
    files = [file for folder in runs for file in plan_run(list_run(folder), {}, now_s=0.0, grace_s=0.0).uploads]
    num_bytes = sum(file.num_bytes for file in files)
    return SyncReport(
        target=target,
        num_files=len(files),
        num_bytes=num_bytes,
        num_files_waiting=len(files),
        num_bytes_waiting=num_bytes,
        paths=tuple(file.path for file in files),
    )


__all__ = ["SyncRequest", "request_for", "run_sync", "sync"]
