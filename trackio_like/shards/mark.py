"""How far a writer's journal is sealed: a small file, replaced whole."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedMark:
    """A position in a writer's journal up to which every row is in a shard."""

    segment: int
    offset: int
    """Bytes of that segment that are sealed."""
    seq: int
    """Sequence number of the last sealed call."""
    is_finished: bool
    """Whether the writer's finish event is sealed: it writes no more."""

    @classmethod
    def load(cls, path: Path) -> SealedMark:
        """The mark in a file; the start of the journal where there is none or it is damaged.

        Sealing again from the start is safe: a reader takes each row once whatever the ranges.
        """
        try:
            document = json.loads(path.read_bytes())
            return cls(
                segment=int(document["segment"]),
                offset=int(document["offset"]),
                seq=int(document["seq"]),
                is_finished=bool(document["is_finished"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return cls(segment=0, offset=0, seq=0, is_finished=False)

    def save(self, path: Path) -> None:
        """Replaces the file.

        Raises:
            OSError: the disk refuses; the old mark stays.
        """
        draft = path.with_name(f".{path.name}.tmp")
        draft.write_text(json.dumps(asdict(self)))
        os.replace(draft, path)


__all__ = ["SealedMark"]
