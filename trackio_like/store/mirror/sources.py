"""Where a mirror copies from: one small class for each kind of source."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trackio_like.errors import RemoteInvalidError, RemoteMissingError, RemoteRefusedError, RemoteUnavailableError
from trackio_like.hub.access import HubAccess
from trackio_like.hub.feed import FeedEvent, ResumePoint, follow_bucket
from trackio_like.hub.fetch import bucket_file, dataset_file, fetch_file
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import RemoteFile, bucket_version, dataset_version, list_bucket, list_dataset

Files = list[RemoteFile]
"""Within these classes `list` is their own."""


class Source(Protocol):
    """Something that holds shards, and that others write."""

    @property
    def title(self) -> str:
        """`the bucket me/board`."""
        ...

    @property
    def note(self) -> str:
        """What a viewer has to know of it; empty for nothing."""
        ...

    @property
    def has_feed(self) -> bool:
        """Whether `follow` tells of changes."""
        ...

    @property
    def probe_s(self) -> float:
        """How often `version` may be asked for, in seconds."""
        ...

    def version(self) -> str:
        """A text that changes with the content; cheap.

        Raises:
            RemoteError: it cannot be asked.
        """
        ...

    def list(self, version: str) -> list[RemoteFile]:
        """Every file, as of a version or later.

        Raises:
            RemoteError: it cannot be asked.
        """
        ...

    def fetch(self, file: RemoteFile, draft: Path, *, version: str, hangup: Hangup) -> None:
        """Writes a file's content to a draft.

        Raises:
            RemoteError: it cannot be had, or is not as long as it should be.
            OSError: the disk refuses.
        """
        ...

    def follow(self, resume: ResumePoint, hangup: Hangup) -> Iterator[FeedEvent]:
        """The changes behind a point, until the session ends.

        Raises:
            RemoteError: there is no session, or it was cut.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class BucketSource:
    """A bucket."""

    access: Callable[[], HubAccess]
    """Asked before each call, so that a new login counts at once."""
    bucket_id: str
    probe_s: float = 2.0
    """150 API calls in five minutes, of the 500 that even an anonymous reader has."""
    has_feed: bool = True
    note: str = ""

    @property
    def title(self) -> str:
        """As `Source`."""
        return f"the bucket {self.bucket_id}"

    def version(self) -> str:
        """As `Source`."""
        return bucket_version(self.access(), self.bucket_id)

    def list(self, version: str) -> list[RemoteFile]:  # noqa: ARG002 - a bucket has no past
        """As `Source`."""
        return list_bucket(self.access(), self.bucket_id)

    def fetch(self, file: RemoteFile, draft: Path, *, version: str, hangup: Hangup) -> None:  # noqa: ARG002
        """As `Source`."""
        where = bucket_file(self.bucket_id, file.path)
        fetch_file(self.access(), where, draft, num_bytes=file.num_bytes, hangup=hangup)

    def follow(self, resume: ResumePoint, hangup: Hangup) -> Iterator[FeedEvent]:
        """As `Source`."""
        return follow_bucket(self.access(), self.bucket_id, resume=resume, hangup=hangup)


@dataclass(frozen=True, kw_only=True)
class DatasetSource:
    """A dataset: listed and fetched at one commit, so what is seen is of one moment."""

    access: Callable[[], HubAccess]
    """As `BucketSource`."""
    dataset_id: str
    probe_s: float = 5.0
    """A dataset gets a commit a minute at most; 60 API calls in five minutes."""
    has_feed: bool = False
    note: str = ""

    @property
    def title(self) -> str:
        """As `Source`."""
        return f"the dataset {self.dataset_id}"

    def version(self) -> str:
        """As `Source`."""
        return dataset_version(self.access(), self.dataset_id)

    def list(self, version: str) -> list[RemoteFile]:
        """As `Source`."""
        return list_dataset(self.access(), self.dataset_id, version)

    def fetch(self, file: RemoteFile, draft: Path, *, version: str, hangup: Hangup) -> None:
        """As `Source`."""
        where = dataset_file(self.dataset_id, version, file.path)
        fetch_file(self.access(), where, draft, num_bytes=file.num_bytes, hangup=hangup)

    def follow(self, resume: ResumePoint, hangup: Hangup) -> Iterator[FeedEvent]:  # noqa: ARG002 - as `Source`
        """As `Source`: there is no feed."""
        raise RemoteInvalidError(f"Cannot follow {self.title}: it has no change feed")


@dataclass(frozen=True, kw_only=True)
class FolderSource:
    """A folder that something else keeps up, such as a mounted volume: it needs no token, and it lags."""

    folder: Path
    probe_s: float = 5.0
    has_feed: bool = False
    note: str = "The view lags: it is read from a mounted volume, which shows changes after up to a minute."

    @property
    def title(self) -> str:
        """As `Source`."""
        return f"the folder {self.folder}"

    def version(self) -> str:
        """As `Source`: a digest of names, sizes and times, which costs a walk through the folder."""
        digest = hashlib.sha256()
        for file in self.list(""):
            digest.update(f"{file.path}\0{file.content_hash}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def list(self, version: str) -> list[RemoteFile]:  # noqa: ARG002 - a folder has no past
        """As `Source`."""
        found: Files = []
        try:
            self._walk("", found)
        except OSError as error:
            raise RemoteUnavailableError(f"Cannot list {self.title}: {error.strerror}") from error
        return sorted(found, key=lambda file: file.path)

    def _walk(self, inner: str, found: Files) -> None:
        with os.scandir(self.folder / inner) as entries:
            for entry in entries:
                path = f"{inner}/{entry.name}" if inner else entry.name
                # A link could lead anywhere.
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith("."):
                        self._walk(path, found)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    hash_ = f"{status.st_size}-{status.st_mtime_ns}"
                    uploaded = f"{status.st_mtime_ns:020d}"
                    found.append(RemoteFile(path=path, num_bytes=status.st_size, content_hash=hash_, uploaded=uploaded))

    def fetch(self, file: RemoteFile, draft: Path, *, version: str, hangup: Hangup) -> None:  # noqa: ARG002
        """As `Source`."""
        try:
            source = open(self.folder / file.path, "rb")  # noqa: SIM115 - its errors and the draft's are told apart
        except FileNotFoundError as error:
            raise RemoteMissingError(f"Cannot fetch {file.path}: it is gone") from error
        except OSError as error:
            raise RemoteUnavailableError(f"Cannot fetch {file.path}: {error.strerror}") from error
        with source, open(draft, "wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
            num_bytes = sink.tell()
        if num_bytes != file.num_bytes:
            raise RemoteUnavailableError(f"Cannot fetch {file.path}: {num_bytes} of {file.num_bytes} bytes came")

    def follow(self, resume: ResumePoint, hangup: Hangup) -> Iterator[FeedEvent]:  # noqa: ARG002 - as `Source`
        """As `Source`: there is no feed."""
        raise RemoteInvalidError(f"Cannot follow {self.title}: it has no change feed")


class EitherSource:
    """A bucket or dataset, or the volume that shows it where no token lets us read it.

    Decided at the first answer: a token does not come while a Space runs.
    """

    def __init__(self, remote: Source, mount: Source) -> None:
        self._remote = remote
        self._mount = mount
        self._chosen: Source | None = None

    @property
    def chosen(self) -> Source:
        """Which of the two is read now."""
        return self._chosen or self._remote

    @property
    def title(self) -> str:
        """As `Source`."""
        return self._remote.title

    @property
    def note(self) -> str:
        """As `Source`."""
        return self.chosen.note

    @property
    def has_feed(self) -> bool:
        """As `Source`."""
        return self.chosen.has_feed

    @property
    def probe_s(self) -> float:
        """As `Source`."""
        return self.chosen.probe_s

    def version(self) -> str:
        """As `Source`."""
        if self._chosen is None:
            try:
                version, self._chosen = self._remote.version(), self._remote
            except (RemoteRefusedError, RemoteMissingError):
                version, self._chosen = self._mount.version(), self._mount
            return version
        return self._chosen.version()

    def list(self, version: str) -> list[RemoteFile]:
        """As `Source`."""
        return self.chosen.list(version)

    def fetch(self, file: RemoteFile, draft: Path, *, version: str, hangup: Hangup) -> None:
        """As `Source`."""
        self.chosen.fetch(file, draft, version=version, hangup=hangup)

    def follow(self, resume: ResumePoint, hangup: Hangup) -> Iterator[FeedEvent]:
        """As `Source`."""
        return self.chosen.follow(resume, hangup)


__all__ = ["BucketSource", "DatasetSource", "EitherSource", "FolderSource", "Source"]
