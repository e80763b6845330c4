"""Names of folders and files: built and parsed here only, so no name can leave the root."""

from __future__ import annotations

import os
import re
import secrets
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args
from urllib.parse import quote, unquote

Kind = Literal["metrics", "system", "console", "events", "objects", "histograms"]
"""The kinds of rows, each a folder of its own below the run."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SHARD_SUFFIX: Final = ".parquet"
JOURNAL_SUFFIX: Final = ".journal"
SEALED_SUFFIX: Final = ".sealed"
MEDIA_FOLDER: Final = "media"
"""The folder below a run's that the files of its objects lie in."""
MAX_NAME_BYTES: Final = 200
"""Longest encoded folder name: file systems allow 255, temporary names need some of it."""

_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_SHARD = re.compile(r"^(?P<writer>[a-z0-9-]+)-(?P<first>[0-9]+)-(?P<last>[0-9]+)\.parquet$")
_JOURNAL = re.compile(r"^(?P<writer>[a-z0-9-]+)\.(?P<segment>[0-9]+)\.journal$")


def encode_name(name: str) -> str:
    """The folder name that stands for a project's or run's name.

    Args:
        name: any non-empty Unicode string.

    Returns:
        Only letters, digits, `_`, `-`, `.` and `%`; never `.`, `..`, hidden, or reserved; `decode_name` inverts it.

    Raises:
        ValueError: the name is empty, or longer than 200 bytes once encoded.
    """
    if not name:
        raise ValueError("A name must not be empty; give at least one character.")
    encoded = quote(name, safe=_SAFE, errors="surrogatepass").replace("~", "%7E")
    # A leading dot hides a folder, Windows drops a trailing one and reserves device names.
    if encoded[0] == "." or _RESERVED.match(encoded):
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    if encoded[-1] == ".":
        encoded = f"{encoded[:-1]}%2E"
    if len(encoded) > MAX_NAME_BYTES:
        raise ValueError(
            f"The name {name[:40]!r}... takes {len(encoded)} bytes as a folder name; "
            f"at most {MAX_NAME_BYTES} fit. Choose a shorter one."
        )
    return encoded


def decode_name(folder: str) -> str:
    """The name that a folder stands for: the inverse of `encode_name`."""
    return unquote(folder, errors="surrogatepass")


def new_run_id() -> str:
    """A fresh run id: 80 random bits as hex."""
    return secrets.token_hex(10)


def new_writer_id(host: str, pid: int) -> str:
    """A fresh writer id, unique also for two writers of one process.

    Args:
        host: this machine's name; anything but letters and digits is dropped.
        pid: process id.
    """
    slug = re.sub(r"[^a-z0-9]", "", host.lower())[:24] or "host"
    return f"{slug}-{pid}-{secrets.token_hex(4)}"


def new_media_path(step: int, extension: str) -> str:
    """A fresh path for the file of an object, relative to the run's folder.

    Args:
        step: the object's, of either sign.
        extension: what the name ends in: letters and digits, without the dot.
    """
    return f"{MEDIA_FOLDER}/{step}/{uuid.uuid4().hex}.{extension}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ShardName:
    """A shard's file name: which writer's rows it holds, and the range of their sequence numbers."""

    writer: str
    first: int
    """Smallest sequence number the shard may hold, at least 1."""
    last: int
    """Largest sequence number the shard may hold, inclusive."""

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise ValueError(f"A shard's range must be 1 <= first <= last, not {self.first}..{self.last}.")

    def __str__(self) -> str:
        return f"{self.writer}-{self.first}-{self.last}{SHARD_SUFFIX}"

    @classmethod
    def parse(cls, filename: str) -> ShardName | None:
        """The parts of a file name, or None where it is not a shard's (a draft, a stranger's file)."""
        match = _SHARD.match(filename)
        if match is None:
            return None
        first, last = int(match["first"]), int(match["last"])
        if not 1 <= first <= last:
            return None
        return cls(writer=match["writer"], first=first, last=last)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class JournalName:
    """A journal segment's file name."""

    writer: str
    segment: int
    """Counts a writer's segments from 1."""

    def __str__(self) -> str:
        return f"{self.writer}.{self.segment}{JOURNAL_SUFFIX}"

    @classmethod
    def parse(cls, filename: str) -> JournalName | None:
        """The parts of a file name, or None where it is not a journal segment's."""
        match = _JOURNAL.match(filename)
        return None if match is None else cls(writer=match["writer"], segment=int(match["segment"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """Where one run's files lie."""

    root: Path
    project: str
    run_id: str
    project_folder: str = ""
    """The project's folder name where it is not the plain encoding (a clash by case); else empty."""

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.root / (self.project_folder or encode_name(self.project)) / encode_name(self.run_id)

    @property
    def journal(self) -> Path:
        """The folder of the run's journals."""
        return self.path / "journal"

    def shards(self, kind: Kind) -> Path:
        """The folder of one kind's shards."""
        return self.path / kind

    def sealed_mark(self, writer: str) -> Path:
        """The file that says how far a writer's journal is sealed."""
        return self.journal / f"{writer}{SEALED_SUFFIX}"


def project_folder_for(root: Path, project: str) -> str:
    """The folder name to use for a project in this root.

    Args:
        root: an existing folder, or one to be made.
        project: the project's name.

    Returns:
        The plain encoding; with the capitals encoded too where the file system takes another project's folder for it.

    Raises:
        ValueError: as `encode_name`.
    """
    plain = encode_name(project)
    if not os.path.lexists(root / plain):
        return plain
    if plain in os.listdir(root):
        return plain
    return re.sub(r"%[0-9A-F]{2}|[A-Z]", lambda m: m[0] if m[0][0] == "%" else f"%{ord(m[0]):02X}", plain)


__all__ = [
    "JOURNAL_SUFFIX",
    "KINDS",
    "MAX_NAME_BYTES",
    "MEDIA_FOLDER",
    "SEALED_SUFFIX",
    "SHARD_SUFFIX",
    "JournalName",
    "Kind",
    "RunFolder",
    "ShardName",
    "decode_name",
    "encode_name",
    "new_media_path",
    "new_run_id",
    "new_writer_id",
    "project_folder_for",
]
