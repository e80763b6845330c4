"""Fetches many files at once and puts them in place one by one, in order."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trackio_like.errors import DamagedFileError, RemoteMissingError
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


@dataclass(slots=True, kw_only=True)
class Copied:
    """What became of a round."""

    gone: list[Wanted] = field(default_factory=list)
    """No longer at the source: compacted since they were listed."""
    damaged: list[Wanted] = field(default_factory=list)


def copy_files(
    source: Source,
    shelf: Shelf,
    items: Iterable[Wanted],
    *,
    version: str,
    hangup: Hangup,
    on_done: Callable[[Wanted], None],
) -> Copied:
    """Copies files in this order; a later file of a folder is never there before an earlier one.

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
    copied = Copied()
    waiting: deque[tuple[Wanted, Future[Path]]] = deque()

    def fetch(item: Wanted) -> Path:
        draft = shelf.draft()
        source.fetch(item.file, draft, version=version, hangup=hangup)
        return draft

    def place_next() -> None:
        item, future = waiting[0]
        while not hangup.is_over and not future.done():
            wait([future], timeout=_LOOK_S)
        if hangup.is_over:
            return  # one that waits for a silent server is left to its time limit
        waiting.popleft()
        try:
            shelf.publish(future.result(), item.place)
        except RemoteMissingError:
            copied.gone.append(item)
        except DamagedFileError as error:
            logger.warning("%s of %s is left out: %s", item.file.path, source.title, error)
            copied.damaged.append(item)
        on_done(item)

    pool = ThreadPoolExecutor(NUM_FETCHERS, thread_name_prefix="trackio-like-fetch")
    try:
        for item in items:
            if hangup.is_over:
                break
            waiting.append((item, pool.submit(fetch, item)))
            if len(waiting) >= _WINDOW:
                place_next()
        while waiting and not hangup.is_over:
            place_next()
    finally:
        pool.shutdown(wait=not hangup.is_over, cancel_futures=True)
    return copied


__all__ = ["NUM_FETCHERS", "Copied", "copy_files"]
