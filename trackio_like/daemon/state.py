"""How sending to one target goes, in a small file for people, for `finish()` and for warnings in training processes.

Imports nothing heavy. The message never holds a token: it comes from `RemoteError`s, which hold none.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from trackio_like.format.targets import TargetFolder

SyncWord = Literal["ok", "waiting", "retrying", "refused", "missing", "offline"]
"""ok: all is sent. waiting: the next pass sends it. retrying: the remote cannot be reached, is busy, or refuses a file.

refused: no token is good enough. missing: the target is gone. offline: `HF_HUB_OFFLINE` is set.
"""
_HURRY_FILE: Final = "hurry"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """What is known after a pass."""

    word: SyncWord = "waiting"
    message: str = ""
    """What happened, what is safe, what to do; empty while all is well."""
    note: str = ""
    """What the user should know once, such as that the organisation made it private."""
    space_note: str = ""
    """The same of the Space that shows it, such as why it could not be made."""
    since_s: float = 0.0
    """Since when the word is so; times are seconds since the epoch, by this host's clock."""
    next_try_s: float = 0.0
    """When the next pass is due at the latest, as far as known."""
    num_files_waiting: int = 0
    num_bytes_waiting: int = 0
    num_rejected: int = 0
    """Files that the target will never take; the ledger says which and why."""
    last_success_s: float | None = None
    """When the target last took something, or was found to hold everything; None for never."""

    @property
    def is_bad(self) -> bool:
        """Whether a person may have to do something."""
        return self.word in ("refused", "missing", "offline")

    def save(self, folder: TargetFolder) -> None:
        """Replaces the file; there whole or not at all.

        Raises:
            OSError: the root cannot be written, or the target was forgotten.
        """
        draft = folder.state.with_name(f".{folder.state.name}.{secrets.token_hex(4)}.tmp")
        try:
            draft.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
            os.replace(draft, folder.state)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise

    @classmethod
    def load(cls, folder: TargetFolder) -> Self | None:
        """The last state; None where no pass was made yet, or the file is damaged or of a newer version."""
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            found: Any = json.loads(folder.state.read_text(encoding="utf-8"))
            known = {field.name for field in fields(cls)}
            state = cls(**{name: value for name, value in found.items() if name in known})
            return state if state.word in get_args(SyncWord) else None
        return None


def messages(folder: TargetFolder) -> list[str]:
    """What a person should be told of a target, each once; texts that stay the same while nothing changes."""
    state = SyncState.load(folder)
    if state is None:
        return []
    return [text for text in (state.note, state.message if state.is_bad else "") if text]


def ask_to_hurry(folder: TargetFolder) -> None:
    """Lets the next pass come as soon as the target's limits allow, for somebody waits for it; idempotent."""
    with contextlib.suppress(OSError):  # it comes anyway, only later
        _hurry_path(folder).touch()


def hurry_asked_s(folder: TargetFolder) -> float | None:
    """When somebody last asked for that, by the file system's clock; None where nobody did."""
    with contextlib.suppress(OSError):
        return _hurry_path(folder).stat().st_mtime
    return None


def _hurry_path(folder: TargetFolder) -> Path:
    return folder.path / _HURRY_FILE


__all__ = ["SyncState", "SyncWord", "ask_to_hurry", "hurry_asked_s", "messages"]
