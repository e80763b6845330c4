"""Tokens that only a training process knows, left for the daemon of this user and host.

They lie in the user's private folder, mode 0600, never in a root: a root may be shared, copied or uploaded.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from trackio_like.run.hostlock import private_folder


def save_token(key: str, token: str) -> None:
    """Leaves a token; the one before is replaced.

    Args:
        key: the target's key.
        token: the token.

    Raises:
        OSError: no private folder, or it cannot be written.
    """
    path = _path(key)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(token)
    os.replace(draft, path)


def load_token(key: str) -> str | None:
    """The token that a training process left last, or None."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return _path(key).read_text(encoding="utf-8").strip() or None
    return None


def read_token_key(key: str) -> str:
    """Under which key the read token of a target's Space is left."""
    return f"{key}.read"


def _path(key: str) -> Path:
    return private_folder() / "tokens" / key


__all__ = ["load_token", "read_token_key", "save_token"]
