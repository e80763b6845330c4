"""The logged objects of runs in memory, so that a page that asks every second costs nothing while nothing is new."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from trackio_like.datatypes import DATA_TYPES
from trackio_like.query.objects import MAX_TRIES, LoggedObject, objects_of
from trackio_like.query.run_index import RunIndex
from trackio_like.store.faults import Faults
from trackio_like.store.follow import RunFollower

LISTED_TYPES: Final = frozenset(data_type.name for data_type in DATA_TYPES)
"""The types whose rows are kept and listed; of texts a run may have millions."""


class ObjectIndex:
    """One run's objects; not thread-safe."""

    def __init__(self, path: Path, *, faults: Faults) -> None:
        """Reads nothing before `advance`.

        Args:
            path: the run's folder.
            faults: where skipped files are noted.
        """
        self._path = path
        self._faults = faults
        self.seen_at = 0
        """Cursor of the run's last change of objects that was taken in; kept by the owner."""
        self._begin()

    def _begin(self) -> None:
        self._follower = RunFollower(self._path, faults=self._faults, kinds=["objects"])
        self._epoch = secrets.token_hex(4)
        self._by_type: dict[str, list[LoggedObject]] = {}
        self._media: set[str] = set()

    def advance(self) -> bool:
        """Takes in what the files gained.

        Returns:
            Whether that was possible: files that go away each time make it wait for another look.
        """
        for _ in range(MAX_TRIES):
            delta = self._follower.advance()
            if self._follower.has_late_rows:
                self._begin()  # rows that were passed over: only all of them together are in order
                continue
            try:
                found = objects_of(delta, types=LISTED_TYPES, faults=self._faults)
            except FileNotFoundError:
                self._begin()  # compacted away in between, and what the follower handed over is half read
                continue
            for item in found:
                self._by_type.setdefault(item.type, []).append(item)
                if item.media is not None:
                    self._media.add(item.media)
            return True
        return False

    def version(self, types: Iterable[str]) -> str:
        """Another text whenever there are other rows of these types; empty where there are none."""
        counts = [f"{name} {len(self._by_type[name])}" for name in sorted(types) if name in self._by_type]
        return f"{self._epoch} {' '.join(counts)}" if counts else ""

    def of(self, types: Iterable[str]) -> list[LoggedObject]:
        """The rows of these types, in no particular order."""
        return [item for name in types for item in self._by_type.get(name, ())]

    def names(self, media: str) -> bool:
        """Whether a row names this file."""
        return media in self._media


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The objects of some runs as they are now."""

    version: str
    """Another one whenever `objects` would differ."""
    objects: tuple[tuple[str, LoggedObject], ...] | None
    """Run id and object each, in `listing_order`; None where they are those of the version that was asked about."""


class ObjectIndexes:
    """The objects of the runs that somebody asked about; those of runs that are gone are forgotten with them."""

    def __init__(self) -> None:
        self._indexes: WeakKeyDictionary[RunIndex, ObjectIndex] = WeakKeyDictionary()

    def of(self, run: RunIndex, *, faults: Faults) -> ObjectIndex:
        """One run's, as it stands now: its files are only read where the run has heard of new objects."""
        index = self._indexes.get(run)
        if index is None:
            index = self._indexes[run] = ObjectIndex(run.path, faults=faults)
        if index.seen_at != run.objects_changed_at and index.advance():
            index.seen_at = run.objects_changed_at
        return index

    def list(self, runs: Iterable[RunIndex], *, types: Collection[str], since: str | None, faults: Faults) -> Listing:
        """What there is of some types in some runs.

        Args:
            runs: which.
            types: names of data types; others than `LISTED_TYPES` have no rows.
            since: the version of the last answer, which is not given again.
            faults: where skipped files are noted.
        """
        found = [(run.run_id, index) for run in runs if (index := self.of(run, faults=faults)).version(types)]
        text = "\n".join(
            f"{run_id} {index.version(types)}" for run_id, index in sorted(found, key=lambda pair: pair[0])
        )
        version = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if version == since:
            return Listing(version=version, objects=None)
        rows = [(run_id, item) for run_id, index in found for item in index.of(types)]
        return Listing(version=version, objects=tuple(sorted(rows, key=lambda row: listing_order(row[1]))))


def listing_order(item: LoggedObject) -> tuple[str, bool, int, int, str, int]:
    """What objects are sorted by: key, step, time."""
    return item.key, item.step is not None, item.step or 0, item.time_us, item.writer, item.seq


__all__ = ["LISTED_TYPES", "Listing", "ObjectIndex", "ObjectIndexes", "listing_order"]
