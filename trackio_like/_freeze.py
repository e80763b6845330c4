"""`freeze`: a copy of the dashboard that needs no server, in a folder or as a static Space."""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from trackio_like.errors import ProjectNotFoundError, TrackioLikeWarning
from trackio_like.hub.access import HubAccess
from trackio_like.hub.static_space import check_space, publish
from trackio_like.store.catalog import list_projects
from trackio_like.store.source import open_source

COPY_TIMEOUT_S: Final = 600.0


def freeze(
    project: str | Sequence[str] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    space_id: str | None = None,
    root: str | os.PathLike[str] | None = None,
    bucket_id: str | None = None,
    dataset_id: str | None = None,
    private: bool = True,
    timeout: float = COPY_TIMEOUT_S,
) -> str:
    """Makes a copy of the dashboard that needs no server: a page, and the data as Parquet.

    What is there already is replaced where it is a frozen dashboard, and left alone where it is anything else. Nothing
    is published where something in the shape of a token stands in it.

    Args:
        project: one project or several; all where it is None.
        folder: where the copy goes; any static server can serve it.
        space_id: the static Space it goes to instead, `namespace/name`; needs a token that may write there.
        root: folder that holds every project; as `init` finds it where nothing is named.
        bucket_id: a bucket whose projects are copied instead.
        dataset_id: a dataset whose projects are copied instead.
        private: whether a Space that does not exist yet is made private; an existing one stays as it is.
        timeout: seconds that fetching a bucket or dataset may take at most.

    Returns:
        The folder, or the Space's URL.

    Raises:
        ValueError: neither or both of `folder` and `space_id` were given, or several places to read.
        ProjectNotFoundError: there is no such project.
        FileExistsError: the folder holds something that is not a frozen dashboard; it stays as it is.
        ModuleNotFoundError: the extra `dashboard` is not installed.
        TrackioLikeError: there is no run, something looks like a token, or the Hub did not do it.
        TimeoutError: the bucket or dataset could not be fetched in time; what came is kept for another try.
        OSError: the disk refuses.
    """
    if (folder is None) == (space_id is None):
        raise ValueError("Say where the copy goes: either folder= or space_id=.")
    named = None if root is None else Path(root).expanduser()
    with open_source(named, bucket_id=bucket_id, dataset_id=dataset_id) as source:
        source.wait(timeout)
        return _freeze(source.root, project, folder=folder, space_id=space_id, is_private=private)


def _freeze(
    base: Path,
    project: str | Sequence[str] | None,
    *,
    folder: str | os.PathLike[str] | None,
    space_id: str | None,
    is_private: bool,
) -> str:
    projects = _chosen(project, base)
    building = _building()
    login = HubAccess.from_login()
    tokens = [login.token] if login.token else []
    if space_id is not None:
        check_space(login, space_id)
        with tempfile.TemporaryDirectory(prefix="trackio-like-freeze-") as place:
            draft = Path(place)
            _warn_of_gaps(building.build(base, projects, draft, own_tokens=tokens))
            building.write_space_card(draft, space_id)
            return publish(login, space_id, draft, is_private=is_private)
    assert folder is not None
    # What a link leads to is replaced, not the link.
    target = Path(os.path.realpath(Path(folder).expanduser()))
    building.check_folder(target)
    draft = building.draft_beside(target)
    try:
        _warn_of_gaps(building.build(base, projects, draft, own_tokens=tokens))
        building.replace_folder(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return str(target)


def _chosen(project: str | Sequence[str] | None, root: Path) -> list[str]:
    known = list(list_projects(root))
    if project is None:
        return known
    wanted = [project] if isinstance(project, str) else list(dict.fromkeys(project))
    for name in wanted:
        if name not in known:
            there = ", ".join(map(repr, known[:10])) or "none yet"
            raise ProjectNotFoundError(f"There is no project {name!r}. Projects: {there}. Root: {root}")
    return wanted


def _warn_of_gaps(frozen: Any) -> None:
    """Says what the copy lacks; all else is in it."""
    gaps = []
    if frozen.num_skipped_files:
        gaps.append(f"{frozen.num_skipped_files} damaged files with rows")
    if frozen.num_missing_files:
        gaps.append(f"{frozen.num_missing_files} media files that rows name and that are not there")
    if gaps:
        warnings.warn(f"The copy is without {' and '.join(gaps)}.", TrackioLikeWarning, stacklevel=4)


def _building() -> Any:
    """The page's side, which needs the extra that brings the dashboard; training scripts never load it."""
    try:
        return importlib.import_module("space_app.freeze")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"To freeze a dashboard, install 'trackio-like[dashboard]' ({error.name} is missing)."
        ) from error


__all__ = ["freeze"]
