"""Who made what: a table of storages, each with the operation that wrote to it last.

Tensors come and go, and views of one storage are many; the storage is what holds the numbers. An entry lives as long as
its storage, so that the table stays small, and what is alive at once is known.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

CONSTANT: Final = -1
"""The producer of what no operation that counts has made: parameters, buffers, constants."""


class Entry:
    """What is known of one storage."""

    __slots__ = ("is_data", "is_ours", "is_param", "num_bytes", "producer", "ref")

    def __init__(self, producer: int, *, is_data: bool, is_param: bool, num_bytes: int) -> None:
        self.producer = producer
        """A position among the operations, or CONSTANT."""
        self.is_data = is_data
        """Whether an input of the model is among what it was made from."""
        self.is_param = is_param
        self.is_ours = False
        """Whether it came up during the pass, without numbers, so that nobody must keep it."""
        self.num_bytes = num_bytes
        """What counts as activation; 0 for parameters and inputs."""
        self.ref: Any = None


class _Reference(weakref.ref):  # type: ignore[type-arg]
    __slots__ = ("key",)
    key: int


class Storages:
    """The storages that are alive, and their bytes."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self.live_bytes = 0
        self.total_bytes = 0

    def find(self, tensor: Any) -> Entry | None:
        """The entry of a tensor's storage, if it has one."""
        storage = _storage(tensor)
        return None if storage is None else self._entries.get(id(storage))

    def add(
        self, tensor: Any, producer: int, *, is_data: bool, is_param: bool = False, counts: bool = True
    ) -> Entry | None:
        """Takes a new storage in; None for a tensor without one.

        Args:
            tensor: has the storage.
            producer: the operation that made it.
            is_data: see `Entry`.
            is_param: see `Entry`.
            counts: whether its bytes are activations.
        """
        storage = _storage(tensor)
        if storage is None:
            return None
        num_bytes = storage.nbytes() if counts else 0
        entry = Entry(producer, is_data=is_data, is_param=is_param, num_bytes=num_bytes)
        entry.is_ours = tensor.is_meta or hasattr(tensor, "fake_mode")
        reference = _Reference(storage, self._gone)
        reference.key = id(storage)
        entry.ref = reference
        self._entries[reference.key] = entry
        self.live_bytes += num_bytes
        self.total_bytes += num_bytes
        return entry

    def ids(self) -> set[int]:
        """The identities of all storages that came up during the pass, without numbers, and are alive."""
        return {key for key, entry in self._entries.items() if entry.is_ours}

    def add_foreign(self, tensor: Any, producer: int, *, is_data: bool) -> Entry | None:
        """Takes a storage in that was there before the pass, and that something is written to."""
        entry = self.add(tensor, producer, is_data=is_data, counts=False)
        if entry is not None:
            entry.is_ours = False
        return entry

    def _gone(self, reference: _Reference) -> None:
        entry = self._entries.get(reference.key)
        if entry is not None and entry.ref is reference:
            del self._entries[reference.key]
            self.live_bytes -= entry.num_bytes


def _storage(tensor: Any) -> Any:
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError, ValueError):  # sparse layouts, some subclasses, lazy parameters
        return None


__all__ = ["CONSTANT", "Entry", "Storages"]
