"""Where a run's rows are to be sent: the value, and the files that remember it below the root.

`<root>/.sync/<key>/target.json` says what a target is, `.sync/<key>/runs/<project>/<run_id>` binds a run to it. Both
are there whole or not at all, and no process appends to them, so nobody needs a lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from trackio_like.format.names import RunFolder, decode_name, encode_name

TargetKind = Literal["bucket", "dataset", "server"]
SYNC_FOLDER: Final = ".sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One place that rows are sent to."""

    kind: TargetKind
    id: str
    """`namespace/name` of a bucket or dataset; the base URL of a server, without a token or a slash at the end."""
    space_id: str | None = None
    """The Space that shows it, deployed by the daemon; None for none."""
    is_private: bool = True
    """How the bucket or dataset, and the Space, are made where they do not exist; never changed where they do."""
    endpoint: str = ""
    """The Hub; empty for a server."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(TargetKind):
            raise ValueError(f"kind={self.kind!r} is unknown; choose one of {', '.join(get_args(TargetKind))}.")

    @property
    def key(self) -> str:
        """The folder name of what is known of it; the same id under another Space is the same target."""
        return hashlib.sha256(f"{self.kind}|{self.endpoint}|{self.id}".encode()).hexdigest()[:16]

    def __str__(self) -> str:
        """For messages: `the bucket me/board`."""
        return f"the {self.kind} {self.id}"

    def to_json(self) -> str:
        """As `target.json` has it."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; names of a newer version are left out.

        Raises:
            ValueError: it is no target.
        """
        try:
            found: Any = json.loads(text)
            known = {field.name for field in fields(cls)}
            return cls(**{name: value for name, value in found.items() if name in known})
        except (AttributeError, TypeError, json.JSONDecodeError) as error:
            raise ValueError("This file does not describe a target.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFolder:
    """What a root knows of one target."""

    root: Path
    key: str

    @property
    def path(self) -> Path:
        """The folder."""
        return self.root / SYNC_FOLDER / self.key

    @property
    def description(self) -> Path:
        """The file that says what the target is."""
        return self.path / "target.json"

    @property
    def ledger(self) -> Path:
        """What the target holds, as far as known: a cache."""
        return self.path / "ledger"

    @property
    def state(self) -> Path:
        """How the last passes went, for people and for training processes."""
        return self.path / "state.json"

    def load(self) -> Target:
        """The target.

        Raises:
            FileNotFoundError: it was forgotten.
            ValueError: its file is damaged.
        """
        return Target.from_json(self.description.read_text(encoding="utf-8"))

    def bound_runs(self) -> Iterator[RunFolder]:
        """The runs that are to be sent there, in no order; their folders need not exist (any more)."""
        for project in _entries(self.path / "runs"):
            for run in _entries(self.path / "runs" / project):
                yield RunFolder(
                    root=self.root,
                    project=decode_name(project),
                    run_id=decode_name(run),
                    project_folder=project,
                )


def bind_run(target: Target, folder: RunFolder) -> TargetFolder:
    """Remembers that a run is to be sent to a target; idempotent, and safe beside other processes.

    Raises:
        OSError: the root cannot be written.
    """
    known = TargetFolder(root=folder.root, key=target.key)
    project = folder.project_folder or encode_name(folder.project)
    binding = known.path / "runs" / project / encode_name(folder.run_id)
    binding.parent.mkdir(parents=True, exist_ok=True)
    text = target.to_json()
    if not known.description.exists() or known.description.read_text(encoding="utf-8") != text:
        draft = known.path / f".target.{secrets.token_hex(4)}.tmp"
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, known.description)
    binding.touch()
    return known


def known_targets(root: Path) -> list[TargetFolder]:
    """Every target of a root, by key; none where there is no root."""
    return [TargetFolder(root=root, key=key) for key in sorted(_entries(root / SYNC_FOLDER))]


def targets_of(folder: RunFolder) -> list[TargetFolder]:
    """The targets that a run is to be sent to."""
    project = folder.project_folder or encode_name(folder.project)
    run = encode_name(folder.run_id)
    return [known for known in known_targets(folder.root) if (known.path / "runs" / project / run).exists()]


def _entries(path: Path) -> list[str]:
    try:
        return [name for name in os.listdir(path) if not name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


__all__ = ["SYNC_FOLDER", "Target", "TargetFolder", "TargetKind", "bind_run", "known_targets", "targets_of"]
