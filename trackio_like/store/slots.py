"""Which paths a file from outside may have, and why it is not taken: pure, so every hostile path is a unit test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from trackio_like.format.names import KINDS, Kind, ShardName, decode_name, encode_name
from trackio_like.format.schemas import SCHEMAS

MAX_SEQ: Final = 2**63 - 1
_FOLDER = re.compile(r"[A-Za-z0-9_%-][A-Za-z0-9_.%-]{0,199}")
_STEP = re.compile(r"[A-Za-z0-9_-]{1,40}")
_MEDIA = re.compile(r"[A-Za-z0-9_-]{1,120}(\.[A-Za-z0-9]{1,12}){1,2}")


class Fault(StrEnum):
    """Why a file is not taken, or not removed."""

    PATH = "path"
    """No file of a run has such a path."""
    TORN = "torn"
    """Fewer or other bytes came than announced."""
    CONTENT = "content"
    """It is not what its path says."""
    TAKEN = "taken"
    """The name holds other content."""
    PURGED = "purged"
    """The run was purged."""
    NEEDED = "needed"
    """Nothing covers it, so its rows would be lost."""


class IntakeError(Exception):
    """A file is not taken, or not removed; the message is for whoever sent it."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a file of a run belongs."""

    project: str
    run_id: str
    folders: tuple[str, ...]
    """Names of the folders from the root on: project, run, kind; of media also the step."""
    name: str
    kind: Kind | None
    """None for media."""
    shard: ShardName | None

    @classmethod
    def parse(cls, path: str) -> Slot:
        """The place that a path names.

        Args:
            path: relative to the root, with `/`, folder names as they are on disk.

        Raises:
            IntakeError: no file of a run has such a path.
        """
        *folders, name = path.split("/")
        if len(folders) == 3 and folders[2] in SCHEMAS:
            shard = ShardName.parse(name) if len(name) <= 200 else None
            if shard is not None and str(shard) == name and shard.last <= MAX_SEQ:
                kind = next(kind for kind in KINDS if kind == folders[2])
                project, run = _name(folders[0]), _name(folders[1])
                return cls(project=project, run_id=run, folders=tuple(folders), name=name, kind=kind, shard=shard)
        elif len(folders) == 4 and folders[2] == "media" and _STEP.fullmatch(folders[3]) and _MEDIA.fullmatch(name):
            project, run = _name(folders[0]), _name(folders[1])
            return cls(project=project, run_id=run, folders=tuple(folders), name=name, kind=None, shard=None)
        raise no_path()


def _name(folder: str) -> str:
    """The name that a folder stands for.

    Raises:
        IntakeError: no name is encoded like this.
    """
    try:
        name = decode_name(folder)
        plain = encode_name(name)
    except ValueError as error:
        raise no_path() from error
    if not _FOLDER.fullmatch(folder) or _with_small_letters(folder) != _with_small_letters(plain):
        raise no_path()
    return name


def _with_small_letters(folder: str) -> str:
    """One form for both ways to encode capitals: as they are, and for file systems that do not tell them apart."""
    return re.sub(r"%[0-9A-F]{2}|[A-Z]", lambda m: m[0] if m[0][0] == "%" else f"%{ord(m[0]):02X}", folder)


def no_path() -> IntakeError:
    """The error that names the paths there are."""
    kinds = ", ".join(SCHEMAS)
    return IntakeError(
        Fault.PATH,
        f"No file of a run has this path. It is <project>/<run>/<kind>/<writer>-<first>-<last>.parquet, with one of "
        f"{kinds}, or <project>/<run>/media/<step>/<name>.",
    )


def is_slot(path: str) -> bool:
    """Whether a file of a run may have this path."""
    try:
        Slot.parse(path)
    except IntakeError:
        return False
    return True


__all__ = ["Fault", "IntakeError", "Slot", "is_slot", "no_path"]
