"""Follows all journals of one run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from trackio_like.format.names import JournalName
from trackio_like.format.records import Header
from trackio_like.journal.reader import JournalTail
from trackio_like.store.blocks import Batch, to_batch
from trackio_like.store.faults import Faults
from trackio_like.store.watch import WatchedFolder


class JournalFollower:
    """Reads what journals gained since the last look; not thread-safe."""

    def __init__(self, folder: Path, *, faults: Faults) -> None:
        self._folder = WatchedFolder(folder)
        self._faults = faults
        self._tails: dict[JournalName, JournalTail] = {}
        self._num_damaged: Counter[JournalName] = Counter()
        self.headers: dict[str, Header] = {}
        """Who wrote each journal that was ever seen here, by writer."""
        self.has_lost_tail = False
        """Whether, in the last look, a journal was gone before all of it was read: its rows are in shards."""

    @property
    def num_open(self) -> int:
        """How many segments there are."""
        return len(self._tails)

    def read(self) -> list[Batch]:
        """What is new, by writer and segment, in order."""
        self.has_lost_tail = False
        if self._folder.refresh():
            self._follow_listing()
        batches: list[Batch] = []
        for name, tail in self._tails.items():
            if tail.path not in self._faults:
                self._read_tail(name, tail, batches)
        return batches

    def _follow_listing(self) -> None:
        names = sorted(name for name in map(JournalName.parse, self._folder.names) if name is not None)
        gone = self._tails.keys() - set(names)
        self.has_lost_tail = bool(gone)
        self._tails = {name: self._tails.get(name) or JournalTail(self._folder.path / str(name)) for name in names}

    def _read_tail(self, name: JournalName, tail: JournalTail, batches: list[Batch]) -> None:
        try:
            while tail.has_grown():
                before = tail.offset
                chunk = tail.read()
                if tail.header is not None and name.writer not in self.headers:
                    self.headers[name.writer] = tail.header
                if chunk is not None and chunk.num_damaged:
                    self._num_damaged[name] += chunk.num_damaged
                    self._faults.note_damage(tail.path, self._num_damaged[name])
                batch = None if chunk is None else to_batch(chunk)
                if batch is not None:
                    batches.append(batch)
                if tail.offset == before:
                    return
        except FileNotFoundError:
            self.has_lost_tail = True
        except (OSError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            self._faults.add(tail.path, error)


__all__ = ["JournalFollower"]
