"""Fetches many files at once and puts them in place one by one, in order."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like.errors import DamagedFileError, RemoteMissingError, RemoteUnavailableError
from trackio_like.hub.hangup import Hangup
from trackio_like.store.mirror.plan import Wanted
from trackio_like.store.mirror.shelf import Shelf
from trackio_like.store.mirror.sources import Source

logger = logging.getLogger(__name__)
NUM_FETCHERS: Final = 8
_LOOK_S: Final = 0.2
"""How often it is looked whether somebody hung up."""
_WINDOW: Final = 4 * NUM_FETCHERS
"""Files that are asked for before the first of them is in place: what bounds memory and drafts."""
_MAX_FAILURES: Final = 4
"""Files in a row that cannot be had: then it is the source that is ill, not one file."""


@dataclass(slots=True, kw_only=True)
class Copied:
    """What became of a round."""

    gone: list[Wanted] = field(default_factory=list)
    """No longer at the source: compacted since they were listed."""
    damaged: list[Wanted] = field(default_factory=list)
    failed: RemoteUnavailableError | None = None
    """Why a file could not be had; what follows it in its folder was left for later, the other folders were not."""


class _Fetchers:
    """Threads that fetch; daemons, so that the interpreter's end does not wait for a silent server."""

    def __init__(self, fetch: Callable[[Wanted], Path], *, num_threads: int) -> None:
        self._fetch = fetch
        self._num_threads = num_threads
        self._tasks: queue.SimpleQueue[tuple[Wanted, Future[Path]] | None] = queue.SimpleQueue()
        for number in range(num_threads):
            threading.Thread(target=self._work, name=f"trackio-like-fetch-{number}", daemon=True).start()

    def submit(self, item: Wanted) -> Future[Path]:
        future: Future[Path] = Future()
        self._tasks.put((item, future))
        return future

    def end(self) -> None:
        """Lets them end after what they do now."""
        for _ in range(self._num_threads):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            item, future = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._fetch(item))
            except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
                future.set_exception(error)


def copy_files(
    source: Source,
    shelf: Shelf,
    items: Sequence[Wanted],
    *,
    version: str,
    hangup: Hangup,
    on_done: Callable[[Wanted], None],
) -> Copied:
    """Copies files in this order; a later shard of a folder is never there before an earlier one.

    Args:
        source: where from.
        shelf: where to.
        items: what, in the order of its use.
        version: the version of the source that was listed.
        hangup: ends it early.
        on_done: is told each file that is in place, or never will be.

    Raises:
        RemoteError: the source cannot be asked now; what came before is in place.
        OSError: the disk refuses.
    """

    def fetch(item: Wanted) -> Path:
        draft = shelf.draft()
        try:
            source.fetch(item.file, draft, version=version, hangup=hangup)
        except BaseException:
            _remove(draft)
            raise
        return draft

    fetchers = _Fetchers(fetch, num_threads=min(NUM_FETCHERS, len(items)))
    waiting: deque[tuple[Wanted, Future[Path]]] = deque()
    placing = _Placing(shelf, title=source.title, on_done=on_done)
    pending = deque(items)
    try:
        while (pending or waiting) and not hangup.is_over:
            while pending and len(waiting) < _WINDOW:
                item = pending.popleft()
                if not placing.is_behind_failure(item):
                    waiting.append((item, fetchers.submit(item)))
            if not waiting:
                break
            item, future = waiting[0]
            if not future.done():
                wait([future], timeout=_LOOK_S)  # one that waits for a silent server is left where somebody hangs up
                continue
            waiting.popleft()
            placing.place(item, future)
    finally:
        fetchers.end()
        for _, future in waiting:
            if not future.cancel():
                future.add_done_callback(_drop)
    return placing.copied


class _Placing:
    """Puts what was fetched in place, and decides what a failure ends: a folder's shards, or the round."""

    def __init__(self, shelf: Shelf, *, title: str, on_done: Callable[[Wanted], None]) -> None:
        self.copied = Copied()
        self._shelf = shelf
        self._title = title
        self._on_done = on_done
        self._stalled: set[str] = set()
        self._num_failures = 0

    def is_behind_failure(self, item: Wanted) -> bool:
        """Whether an earlier shard of its folder could not be had."""
        return item.place.folder in self._stalled

    def place(self, item: Wanted, future: Future[Path]) -> None:
        """Takes over one file.

        Raises:
            RemoteError: it is the source that is ill.
            OSError: the disk refuses.
        """
        if self.is_behind_failure(item):
            _drop(future)
            return
        try:
            self._shelf.publish(future.result(), item.place, content_hash=item.file.content_hash)
        except RemoteMissingError:
            self.copied.gone.append(item)
        except DamagedFileError as error:
            logger.warning("%s of %s is left out: %s", item.file.path, self._title, error)
            self.copied.damaged.append(item)
        except RemoteUnavailableError as error:
            self._num_failures += 1
            if error.retry_after_s is not None or self._num_failures >= _MAX_FAILURES:
                raise
            self.copied.failed = self.copied.failed or error
            if item.place.shard is not None:
                self._stalled.add(item.place.folder)
            return
        self._num_failures = 0
        self._on_done(item)


def _drop(future: Future[Path]) -> None:
    if not future.cancelled() and future.exception() is None:
        _remove(future.result())


def _remove(draft: Path) -> None:
    with contextlib.suppress(OSError):
        draft.unlink(missing_ok=True)


__all__ = ["NUM_FETCHERS", "Copied", "copy_files"]
