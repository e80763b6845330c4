"""The key-value store that the ranks of a `torch.distributed` job share, where any of them may be gone.

Nothing here is a collective call: those hang where one rank does not make them.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import torch
from torch import distributed

_PIECE_BYTES: Final = 4 << 20
MOST_BYTES: Final = 1 << 30
"""The largest thing that is sent: the store holds it in the memory of one rank."""
_PATIENCE_S: Final = 15.0
"""How long a rank that says every second that it is there may be silent: the machine may be busy."""
_BEAT_S: Final = 1.0
_PAUSES_S: Final = (0.0005, 0.02)
"""Between two looks into the store: at first, and where it takes long."""

Value = TypeVar("Value")


class JobGoneError(Exception):
    """The store, or the rank that is waited for, is gone."""


class JobStore:
    """Keys below one prefix."""

    def __init__(self, store: Any, prefix: str) -> None:
        """Asks nothing yet.

        Args:
            store: of torch.
            prefix: of all keys.
        """
        self._store = distributed.PrefixStore(prefix, store)
        self._keys: dict[str, None] = {}

    def below(self, prefix: str) -> JobStore:
        """The keys below another prefix."""
        return JobStore(self._store, prefix)

    def set(self, key: str, value: bytes | str) -> None:
        """Writes a value; `forget` deletes what was written here."""
        self._keys[key] = None
        _asked(lambda: self._store.set(key, value))

    def get(self, key: str) -> bytes:
        """A value that is there."""
        return bytes(_asked(lambda: self._store.get(key)))

    def has(self, *keys: str) -> bool:
        """Whether all are there."""
        return bool(_asked(lambda: self._store.check(list(keys))))

    def add(self, key: str, num: int) -> int:
        """Adds to a number, which begins with 0; gives the sum."""
        self._keys[key] = None
        return int(_asked(lambda: self._store.add(key, num)))

    def swap(self, key: str, expected: str, wanted: str) -> str:
        """Replaces what is expected there ("" for nothing), in one step; gives what is there afterwards."""
        return bytes(_asked(lambda: self._store.compare_set(key, expected, wanted))).decode()

    def forget(self) -> None:
        """Deletes what was written here."""
        for key in self._keys:
            _asked(partial(self._store.delete_key, key))
        self._keys.clear()

    # -- larger things ---------------------------------------------------------------------------------------------

    def send(self, key: str, value: Any) -> None:
        """Writes a value with tensors in it; where that cannot be, whoever receives it is told why."""
        try:
            buffer = io.BytesIO()
            torch.save(value, buffer)
            data = buffer.getbuffer()
            error = "" if len(data) <= MOST_BYTES else f"{len(data) >> 20} MiB are too much to send"
        except Exception as cause:  # noqa: BLE001 - the caller's objects pickle in their own way
            data, error = memoryview(b""), f"they cannot be sent ({type(cause).__name__}: {cause})"
        num = 0 if error else -(-len(data) // _PIECE_BYTES)
        self.set(key, json.dumps({"num": num, "error": error}))
        for i in range(num):
            self.set(f"{key}/{i}", bytes(data[i * _PIECE_BYTES : (i + 1) * _PIECE_BYTES]))

    def receive(self, key: str, heart: Heard) -> Any:
        """A value that was, or is being, sent.

        Args:
            key: its key.
            heart: of the rank that sends it.

        Raises:
            JobGoneError: it cannot be had; the message says why.
        """
        heart.await_key(self, key)
        head = json.loads(self.get(key))
        if head["error"]:
            raise JobGoneError(head["error"])
        buffer = io.BytesIO()
        for i in range(head["num"]):
            heart.await_key(self, f"{key}/{i}")
            buffer.write(self.get(f"{key}/{i}"))
        buffer.seek(0)
        # From a rank of the same job, which runs the same program: not to be trusted less than this one.
        return torch.load(buffer, map_location="cpu", weights_only=False)


def _asked(call: Callable[[], Value]) -> Value:
    try:
        return call()
    except RuntimeError as error:  # torch's errors of stores are all of this kind
        text = str(error).strip().splitlines()
        raise JobGoneError(f"the job's store is gone ({text[0][:200] if text else type(error).__name__})") from error


class Pause:
    """Waits between two looks: shortly at first, longer later."""

    def __init__(self) -> None:
        self._next_s = _PAUSES_S[0]

    def __call__(self) -> None:
        """Waits."""
        time.sleep(self._next_s)
        self._next_s = min(self._next_s * 1.5, _PAUSES_S[1])


class Beating:
    """Says every second that this rank is there, however long its work takes; within `with`."""

    def __init__(self, store: JobStore) -> None:
        """Says nothing yet."""
        self._store = store
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="trackio-like-beat", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends; idempotent."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        try:
            while True:
                self._store.add("beat", 1)
                if self._is_over.wait(_BEAT_S):
                    return
        except JobGoneError:
            return  # this rank finds out by itself


class Heard:
    """Watches whether another rank is still there."""

    def __init__(self, store: JobStore) -> None:
        """Hears of it for the first time now.

        Args:
            store: where it says so.
        """
        self._store = store
        self._last = b""
        self._since_s = self._looked_s = time.monotonic()

    def check(self) -> None:
        """Looks, once a second.

        Raises:
            JobGoneError: it has been silent for too long.
        """
        now_s = time.monotonic()
        if now_s - self._looked_s < _BEAT_S:
            return
        self._looked_s = now_s
        beat = self._store.get("beat") if self._store.has("beat") else b""
        if beat != self._last:
            self._last, self._since_s = beat, now_s
        elif now_s - self._since_s > _PATIENCE_S:
            raise JobGoneError(f"the rank that leads was silent for {now_s - self._since_s:.0f} s")

    def await_key(self, store: JobStore, key: str) -> None:
        """Waits until a key is there.

        Raises:
            JobGoneError: the rank that should write it is gone.
        """
        pause = Pause()
        while not store.has(key):
            self.check()
            pause()


__all__ = ["MOST_BYTES", "Beating", "Heard", "JobGoneError", "JobStore", "Pause"]
