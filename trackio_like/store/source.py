"""What is read: a folder of this machine, or the local copy of a bucket, a dataset or what a Space shows."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import TracebackType
from typing import Self

from trackio_like._settings import Settings
from trackio_like.store.changes import Changes, FolderChanges
from trackio_like.store.mirror.progress import Progress


class DataSource:
    """One place to read; also a context manager. A folder needs neither `start` nor `close`."""

    root: Path
    """The folder of all projects."""
    title: str
    """For people: a path, or `the bucket me/board`."""
    is_read_only = True
    """Whether what is shown lies elsewhere, so that what is written here alone would be lost."""
    changes: Changes
    """Where renaming, deleting and the like are written: with the rights of whoever is logged in here."""

    def start(self) -> None:
        """Begins to keep the folder up; returns at once."""

    def close(self) -> None:
        """Ends that; idempotent."""

    def wait(self, timeout_s: float) -> None:
        """Returns once everything is here that was there when it was called first.

        Args:
            timeout_s: seconds to wait at most.

        Raises:
            RemoteError: it cannot be read.
            TimeoutError: it takes longer.
            OSError: the disk refuses.
        """

    def progress(self) -> Progress | None:
        """How the copy stands; None for a folder, which needs none."""
        return None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FolderOfThisMachine(DataSource):
    """A root, as training and daemon leave it."""

    is_read_only = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.title = str(root)
        self.changes = FolderChanges()


def open_source(
    root: Path | None = None,
    *,
    bucket_id: str | None = None,
    dataset_id: str | None = None,
    space_id: str | None = None,
    mount: Path | None = None,
    endpoint: str | None = None,
    token: str | None = None,
    cache_folder: Path | None = None,
) -> DataSource:
    """Opens one place to read.

    Args:
        root: a folder of this machine; `TRACKIO_DIR` or its default where nothing is named.
        bucket_id: a bucket, `owner/name`.
        dataset_id: a dataset.
        space_id: a Space; what it shows is asked of the Hub here and now.
        mount: where the bucket or dataset is a folder, too: read where no token lets us read the Hub.
        endpoint: the Hub; `HF_ENDPOINT` or the public one where it is None.
        token: a token of the Hub; this machine's login where it is None.
        cache_folder: where copies lie; below `HF_HOME` where it is None.

    Raises:
        ValueError: several places are named, or one that is no name on the Hub.
        RemoteError: the Space cannot be asked, or is none of ours.
    """
    named = [value for value in (root, bucket_id, dataset_id, space_id) if value is not None]
    if len(named) > 1:
        raise ValueError("Name one thing to read: a root, or a bucket, or a dataset, or a Space.")
    if bucket_id is None and dataset_id is None and space_id is None:
        return FolderOfThisMachine(root if root is not None else Settings.from_env().root)
    # The Hub's client takes half a second to import, which whoever reads a folder does without.
    opened: DataSource = importlib.import_module("trackio_like.store.mirrored").open_mirrored(
        bucket_id=bucket_id,
        dataset_id=dataset_id,
        space_id=space_id,
        mount=mount,
        endpoint=endpoint,
        token=token,
        cache_folder=cache_folder,
    )
    return opened


__all__ = ["DataSource", "FolderOfThisMachine", "open_source"]
