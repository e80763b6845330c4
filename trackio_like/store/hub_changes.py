"""Changes of runs in a bucket or a dataset: written there with a person's own token, and then into the copy here."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from trackio_like.errors import RemoteConflictError, RemoteUnavailableError
from trackio_like.format.names import RunFolder
from trackio_like.hub.access import HubAccess
from trackio_like.hub.buckets import write_bucket
from trackio_like.hub.datasets import commit_dataset
from trackio_like.hub.listing import list_bucket, list_dataset
from trackio_like.shards.events import write_event
from trackio_like.store.changes import Change, FolderChanges

_MAX_DELETES: Final = 900
_MAX_TRIES: Final = 4
"""Of a commit, where somebody else commits at the same moment."""


@dataclass(frozen=True, kw_only=True)
class HubChanges:
    """Changes in a bucket or a dataset. Neither is asked for anything before there is a change."""

    kind: Literal["bucket", "dataset"]
    id: str
    """`namespace/name`."""
    access: HubAccess
    """With the token of the person who changes something."""

    def change(self, folder: RunFolder, change: Change, *, time_us: int) -> None:
        """As `Changes.change`.

        Raises:
            RemoteError: the Hub refuses; nothing has changed.
            OSError: the disk refuses; the change is at the Hub, and comes with the next look there.
        """
        with tempfile.TemporaryDirectory(prefix="trackio-like-") as scratch:
            aside = replace(folder, root=Path(scratch))
            shard = write_event(aside, change.type, change.payload, time_us=time_us)
            path = shard.relative_to(aside.root).as_posix()
            self._write([(shard, path)], [], f"{change.type} {folder.run_id}")
            target = folder.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.tmp")
            shutil.copyfile(shard, draft)
            os.replace(draft, target)

    def purge(self, folder: RunFolder) -> None:
        """As `Changes.purge`.

        Raises:
            RemoteError: the Hub refuses; what is gone there is gone.
            OSError: the disk refuses; the files here go with the next look at the Hub.
        """
        prefix = f"{folder.path.relative_to(folder.root).as_posix()}/"
        if self.kind == "bucket":
            listed = list_bucket(self.access, self.id, prefix)
        else:
            listed = list_dataset(self.access, self.id, "main")
        # Events last: until all is gone, it is known that the run is deleted.
        paths = [file.path for file in listed if file.path.startswith(prefix)]
        paths.sort(key=lambda path: (path.startswith(f"{prefix}events/"), path))
        for start in range(0, len(paths), _MAX_DELETES):
            self._write([], paths[start : start + _MAX_DELETES], f"purge {folder.run_id}")
        FolderChanges().purge(folder)

    def _write(self, adds: Sequence[tuple[Path, str]], deletes: Sequence[str], message: str) -> None:
        """Writes all of it.

        Raises:
            RemoteError: the Hub refuses.
        """
        if self.kind == "bucket":
            failed = write_bucket(self.access, self.id, adds=adds, deletes=deletes).failed
            if failed:
                path, reason = next(iter(failed.items()))
                raise RemoteUnavailableError(f"The bucket {self.id} did not take {path}: {reason}")
            return
        for tries_left in reversed(range(_MAX_TRIES)):
            try:
                commit_dataset(self.access, self.id, adds=adds, texts={}, deletes=deletes, message=message)
            except RemoteConflictError:
                if not tries_left:
                    raise
            else:
                return


__all__ = ["HubChanges"]
