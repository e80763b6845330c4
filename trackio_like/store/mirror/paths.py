"""Which of a remote's paths are ours: anything else is never written to this disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trackio_like.format.names import KINDS, ShardName, decode_name, encode_name

MEDIA: Final = "media"
_MAX_MEDIA_DEPTH: Final = 4
_MEDIA_PART: Final = re.compile(r"[A-Za-z0-9_%-][A-Za-z0-9_%.,=+-]{0,199}")  # the folder of a negative step: "-5"
_CAPITAL: Final = re.compile(r"%(4[1-9A-F]|5[0-9A])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file of ours lies."""

    folder: str
    """`project/run/kind`, or `project/run/media/...`; as in the remote."""
    name: str
    shard: ShardName | None
    """None for media."""

    @property
    def run(self) -> str:
        """`project/run`."""
        return "/".join(self.folder.split("/", 2)[:2])


def parse_path(path: str) -> Place | None:
    """The place of a remote's file, or None where the path is none that this package writes.

    Args:
        path: as a remote names it: untrusted.
    """
    parts = path.split("/")
    if len(parts) < 4 or not (_is_encoded(parts[0]) and _is_encoded(parts[1])):
        return None
    folder, name = "/".join(parts[:-1]), parts[-1]
    if parts[2] in KINDS and len(parts) == 4:
        shard = ShardName.parse(name)
        is_ours = shard is not None and str(shard) == name and len(name) <= 200
        return Place(folder=folder, name=name, shard=shard) if is_ours else None
    inner = parts[3:]
    if parts[2] != MEDIA or len(inner) > _MAX_MEDIA_DEPTH:
        return None
    if not all(_MEDIA_PART.fullmatch(part) and part[-1] != "." for part in inner):
        return None
    return Place(folder=folder, name=name, shard=None)


def _is_encoded(folder: str) -> bool:
    """Whether it is the folder name of some project or run: never hidden, never a way out."""
    try:
        plain = encode_name(decode_name(folder))
    except (ValueError, UnicodeError):
        return False  # empty or too long, among others
    if folder == plain:
        return True
    # Beside a folder that differs by case only, the capitals are encoded too.
    return _CAPITAL.search(folder) is not None and _capitals_decoded(folder) == _capitals_decoded(plain)


def _capitals_decoded(folder: str) -> str:
    return _CAPITAL.sub(lambda match: chr(int(match[1], 16)), folder)


__all__ = ["MEDIA", "Place", "parse_path"]
