"""A bucket or dataset as a place to read: its local copy, which one process keeps up and any number read."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Final

from trackio_like._settings import mirrors_folder
from trackio_like.hub.access import HubAccess
from trackio_like.hub.listing import bucket_version, check_id, dataset_version
from trackio_like.hub.spaces_read import shown_by_space
from trackio_like.store.changes import Changes
from trackio_like.store.hub_changes import HubChanges
from trackio_like.store.mirror.copies import copy_folder, copy_lock, note_use, remove_unused
from trackio_like.store.mirror.mirror import Mirror
from trackio_like.store.mirror.progress import Progress
from trackio_like.store.mirror.shelf import is_whole
from trackio_like.store.mirror.sources import BucketSource, DatasetSource, EitherSource, FolderSource, Source
from trackio_like.store.source import DataSource

_OPEN_TIMEOUT_S: Final = 5.0
"""How long it may take to ask whether a token that is new here may read a place; then it is asked while it is open."""
TAKE_OVER_S: Final = 2.0
"""How often a process that reads another one's copy looks whether that one is gone."""


class MirroredSource(DataSource):
    """The local copy of a remote, which one process keeps up and any number read."""

    def __init__(self, source: Source, folder: Path, *, changes: Changes) -> None:
        """Copies nothing before `start`.

        Args:
            source: where from.
            folder: where to.
            changes: writes changes to where it is copied from.
        """
        self.changes = changes
        self.root = folder
        self.title = source.title
        self._lock = copy_lock(folder)
        self._mirror = Mirror(source, folder)
        self._is_ours = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """As `DataSource`; where another process keeps the copy up, this one reads it, and takes over after it."""
        if self._thread is not None or self._is_ours:
            return
        note_use(self.root)
        if self._take():
            return
        self._thread = threading.Thread(target=self._take_later, name="trackio-like-mirror-wait", daemon=True)
        self._thread.start()

    def _take(self) -> bool:
        if not self._lock.acquire():
            return False
        self._is_ours = True
        self._mirror.start()
        return True

    def _take_later(self) -> None:
        while not self._stop.wait(TAKE_OVER_S):
            if self._take():
                return

    def close(self) -> None:
        """As `DataSource`."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(TAKE_OVER_S)
        self._mirror.close()
        if self._is_ours:
            self._lock.release()
            self._is_ours = False

    def wait(self, timeout_s: float) -> None:
        """As `DataSource`."""
        until_s = time.monotonic() + timeout_s
        while not self._is_ours:
            if is_whole(self.root):
                return
            if time.monotonic() >= until_s:
                raise TimeoutError(f"{self.title} is not here yet; another program of this machine copies it.")
            self._stop.wait(0.1)
        self._mirror.wait(max(0.0, until_s - time.monotonic()))

    def progress(self) -> Progress:
        """As `DataSource`."""
        if not self._is_ours:
            return Progress(
                what=self.title, state="following", message="Another program of this machine keeps this copy up."
            )
        return self._mirror.progress()


def open_mirrored(
    *,
    bucket_id: str | None,
    dataset_id: str | None,
    space_id: str | None,
    mount: Path | None,
    endpoint: str | None,
    token: str | None,
    cache_folder: Path | None,
) -> MirroredSource:
    """Opens what lies on the Hub; arguments as `open_source`, one of the first three set.

    Raises:
        ValueError: an id is no name on the Hub.
        RemoteError: the Space cannot be asked, or is none of ours.
    """
    login = functools.partial(HubAccess.from_login, endpoint, token=token)
    access = login()
    if space_id is not None:
        shown = shown_by_space(access, check_id(space_id, "Space"))
        bucket_id, dataset_id = shown.bucket_id, shown.dataset_id
    remote: Source
    if bucket_id is not None:
        remote = BucketSource(access=login, bucket_id=check_id(bucket_id, "bucket"))
        ask = functools.partial(bucket_version, access, bucket_id, timeout_s=_OPEN_TIMEOUT_S)
    else:
        dataset_id = check_id(dataset_id or "", "dataset")
        remote = DatasetSource(access=login, dataset_id=dataset_id)
        ask = functools.partial(dataset_version, access, dataset_id, timeout_s=_OPEN_TIMEOUT_S)
    copies = cache_folder or mirrors_folder()
    remove_unused(copies)
    changes = HubChanges(
        kind="bucket" if bucket_id is not None else "dataset", id=bucket_id or dataset_id or "", access=access
    )
    return MirroredSource(
        remote if mount is None else EitherSource(remote, FolderSource(folder=mount)),
        copy_folder(copies, access, remote.title, ask=ask),
        changes=changes,
    )


__all__ = ["MirroredSource", "open_mirrored"]
