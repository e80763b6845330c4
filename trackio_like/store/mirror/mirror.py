"""A local copy of a bucket, a dataset or a mounted folder, kept up by a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from trackio_like.errors import RemoteError, RemoteInvalidError, RemoteUnavailableError
from trackio_like.hub.feed import FileChange, ResumePoint
from trackio_like.hub.hangup import Hangup
from trackio_like.hub.listing import RemoteFile
from trackio_like.store.mirror.copying import copy_files
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.mirror.plan import FolderPlan, Wanted, in_order, plan_folder
from trackio_like.store.mirror.progress import MirrorState, Progress
from trackio_like.store.mirror.shelf import Shelf
from trackio_like.store.mirror.sources import Source

logger = logging.getLogger(__name__)
COMPARE_EVERY_S: Final = 300.0
"""Everything is compared so often where the version says that anything changed."""
LOOK_AGAIN_S: Final = 20.0
"""After so long it is compared again where a listing lacked a file that is here: listings may lag."""
RETRY_FEED_S: Final = 30.0
_NO_FEED_S: Final = 3600.0
_LONGEST_WAIT_S: Final = 60.0


class Mirror:
    """Copies what it lacks, and goes on copying. Readers look at `folder` at any time."""

    def __init__(
        self,
        source: Source,
        folder: Path,
        *,
        compare_every_s: float = COMPARE_EVERY_S,
        retry_feed_s: float = RETRY_FEED_S,
    ) -> None:
        """Copies nothing before `start`.

        Args:
            source: where from.
            folder: where to; its own, or what an earlier mirror of this source left.
            compare_every_s: seconds between two comparisons of everything.
            retry_feed_s: seconds before a feed that ended is asked for again.
        """
        self.folder = folder
        self._source = source
        self._compare_every_s = compare_every_s
        self._retry_feed_s = retry_feed_s
        self._shelf = Shelf(folder)
        self._wanted: dict[str, dict[str, Wanted]] = {}
        self._totals: dict[str, tuple[int, int]] = {}
        self._skipped: dict[str, str] = {}
        """Damaged files by path, with their hash: another content gets another chance."""
        self._missed: set[str] = set()
        """Files here that the last listing lacked."""
        self._doubtful: set[str] = set()
        """Those of them that no earlier listing lacked: they stay for now."""
        self._version: str | None = None
        self._cursor = ""
        self._must_list = True
        self._feed_due_s = 0.0
        self._left: dict[str, int] = {}
        self._state = Progress(what=source.title, state="starting", message=source.note)
        self._stop = threading.Event()
        self._settled = threading.Event()
        self._error: RemoteError | OSError | None = None
        self._has_compared = False
        self._hangup = Hangup()
        self._session: Hangup | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="trackio-like-mirror", daemon=True)

    def start(self) -> None:
        """Begins to copy; returns at once."""
        self._thread.start()

    def close(self, timeout_s: float = 10.0) -> None:
        """Ends it; what was copied stays. Idempotent."""
        self._stop.set()
        self._hangup.now()
        with self._lock:
            if self._session is not None:
                self._session.now()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def wait(self, timeout_s: float) -> None:
        """Returns once everything was compared and copied for the first time.

        Raises:
            RemoteError: the source cannot be read; it is tried again all the same.
            OSError: the disk refuses.
            TimeoutError: it takes longer.
        """
        if not self._settled.wait(timeout_s):
            found = self.progress()
            raise TimeoutError(
                f"{found.what} is not here yet after {timeout_s:.0f} s ({found.num_done:,} of {found.num_files:,} "
                "files); it goes on, ask again."
            )
        if not self._has_compared and self._error is not None:
            raise self._error

    def progress(self) -> Progress:
        """How it stands."""
        with self._lock:
            num_files = sum(total[0] for total in self._totals.values())
            num_bytes = sum(total[1] for total in self._totals.values())
            return replace(
                self._state,
                num_files=num_files,
                num_done=num_files - len(self._left),
                num_bytes=num_bytes,
                num_bytes_done=num_bytes - sum(self._left.values()),
            )

    # -- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        num_failures = 0
        is_scanned = False
        while not self._stop.is_set():
            wait_s = min(2.0**num_failures, _LONGEST_WAIT_S)
            try:
                if not is_scanned:
                    self._shelf.scan()
                    is_scanned = True
                self._compare()
                num_failures = 0
                self._keep_up()
                continue
            except RemoteUnavailableError as error:
                wait_s = max(wait_s, error.retry_after_s or 0.0)
                self._fail(error)
            except (RemoteError, OSError) as error:
                self._fail(error)
            except Exception as error:  # the thread's last resort: what is here goes on being shown
                logger.exception("The copy of %s stopped for a moment", self._source.title)
                self._fail(RemoteUnavailableError(f"{type(error).__name__}: {error}"))
            num_failures += 1
            self._stop.wait(wait_s)
        self._say("closed")

    def _fail(self, error: RemoteError | OSError) -> None:
        if self._stop.is_set():
            return
        self._must_list = True
        self._error = error
        self._say("waiting", f"{error}. What is here is shown; it is tried again.")
        self._settled.set()

    def _compare(self) -> None:
        """Makes this copy what the source is, where the source may have changed."""
        version = self._source.version()
        if version == self._version and not self._must_list and not self._missed:
            return
        if not self._has_compared:
            self._say("copying")
        self._take_listing(self._source.list(version))
        is_whole = self._apply(self._wanted.keys() | self._shelf.folders, version)
        if self._stop.is_set():
            return
        self._version, self._cursor = version, ""
        self._must_list = not is_whole
        if not self._has_compared:
            self._shelf.mark_whole()
        self._has_compared = True
        self._settled.set()

    def _keep_up(self) -> None:
        """Follows or probes until everything is to be compared again.

        Raises:
            RemoteError: the source cannot be asked.
        """
        until_s = time.monotonic() + (LOOK_AGAIN_S if self._missed or self._must_list else self._compare_every_s)
        while not self._stop.is_set() and time.monotonic() < until_s:
            if self._source.has_feed and time.monotonic() >= self._feed_due_s:
                if self._follow(until_s):
                    return
                continue
            self._say("probing")
            self._stop.wait(max(0.0, min(self._source.probe_s, until_s - time.monotonic())))
            if not self._stop.is_set() and self._source.version() != self._version:
                return

    def _follow(self, until_s: float) -> bool:
        """One session of the feed; whether everything is to be compared now."""
        with self._in_session(until_s) as session:
            resume = ResumePoint(cursor=self._cursor, since="" if self._cursor else self._version or "")
            try:
                for event in self._source.follow(resume, session):
                    self._cursor = event.cursor or self._cursor
                    if event.kind == "reset":
                        self._must_list = True
                        return True
                    if event.kind == "reconnect":
                        return False
                    if event.kind == "changes" and not self._take_changes(event.changes):
                        self._must_list = True
                        return True
                    self._say("following")
            except RemoteInvalidError:
                self._feed_due_s, self._cursor = time.monotonic() + _NO_FEED_S, ""
            except RemoteError as error:
                if not session.is_over:
                    logger.info("The change feed of %s ended: %s", self._source.title, error)
                    asked_s = error.retry_after_s if isinstance(error, RemoteUnavailableError) else None
                    self._feed_due_s = time.monotonic() + max(self._retry_feed_s, asked_s or 0.0)
            return False

    @contextlib.contextmanager
    def _in_session(self, until_s: float) -> Iterator[Hangup]:
        """A session that ends when everything is to be compared again, however silent the feed is."""
        session = Hangup()
        timer = threading.Timer(max(0.0, until_s - time.monotonic()), session.now)
        timer.name, timer.daemon = "trackio-like-mirror-timer", True
        with self._lock:
            self._session = session
        if self._stop.is_set():
            session.now()
        timer.start()
        try:
            yield session
        finally:
            timer.cancel()
            timer.join()
            with self._lock:
                self._session = None

    # -- what to copy --------------------------------------------------------------------------------------------

    def _take_listing(self, listing: Iterable[RemoteFile]) -> None:
        wanted: dict[str, dict[str, Wanted]] = {}
        for file in listing:
            place = parse_path(file.path)
            if place is not None:
                wanted.setdefault(place.folder, {})[place.name] = Wanted(file=file, place=place)
        self._wanted = wanted
        here = {(folder, name) for folder in self._shelf.folders for name in self._shelf.names(folder)}
        lacking = {f"{folder}/{name}" for folder, name in here if name not in wanted.get(folder, {})}
        # Believed once two listings lack it: one alone may be older than what the feed told.
        self._doubtful = lacking - self._missed
        self._missed = lacking

    def _take_changes(self, changes: Iterable[FileChange]) -> bool:
        """Applies what the feed told; False where that is not enough to go by."""
        folders = set()
        for change in changes:
            place = parse_path(change.path)
            if place is None:
                continue
            folders.add(place.folder)
            names = self._wanted.setdefault(place.folder, {})
            if change.is_deleted:
                names.pop(place.name, None)
                self._doubtful.discard(change.path)
                continue
            if change.num_bytes is None:
                return False
            file = RemoteFile(
                path=change.path,
                num_bytes=change.num_bytes,
                content_hash=change.content_hash or "",
                uploaded=change.uploaded,
            )
            names[place.name] = Wanted(file=file, place=place)
        return self._apply(folders, self._version or "")

    def _apply(self, folders: Iterable[str], version: str) -> bool:
        """Fetches and deletes in some folders; whether nothing is left to do there."""
        plans = {folder: self._plan(folder) for folder in sorted(folders)}
        items = in_order(plans)
        with self._lock:
            for folder, plan in plans.items():
                self._totals[folder] = (plan.num_files, plan.num_bytes)
            self._left = {item.file.path: item.file.num_bytes for item in items}
        try:
            copied = copy_files(
                self._source, self._shelf, items, version=version, hangup=self._hangup, on_done=self._note_done
            )
        finally:
            if not self._stop.is_set():
                self._delete(plans)
        for item in copied.damaged:
            self._skipped[item.file.path] = item.file.content_hash
        # The smaller shards that a damaged one covered may still be there; of what went, a listing names the successor.
        damaged = {item.place.folder for item in copied.damaged}
        return (not damaged or self._apply(damaged, version)) and not copied.gone

    def _note_done(self, item: Wanted) -> None:
        with self._lock:
            self._left.pop(item.file.path, None)

    def _plan(self, folder: str) -> FolderPlan:
        wanted = self._wanted.get(folder, {})
        have = {
            name
            for name in self._shelf.names(folder)
            if name not in wanted or wanted[name].file.num_bytes == self._shelf.size(folder, name)
        }
        skipped = {
            name
            for name, item in wanted.items()
            if item.file.path in self._skipped and self._skipped[item.file.path] == item.file.content_hash
        }
        doubtful = {name for name in have if f"{folder}/{name}" in self._doubtful}
        return plan_folder(wanted.values(), have=have, skipped=skipped, doubtful=doubtful)

    def _delete(self, folders: Iterable[str]) -> None:
        for folder in folders:
            for name in self._plan(folder).delete:
                self._shelf.delete(folder, name)
                self._missed.discard(f"{folder}/{name}")

    def _say(self, state: MirrorState, message: str = "") -> None:
        with self._lock:
            self._state = Progress(what=self._source.title, state=state, message=message or self._source.note)


__all__ = ["COMPARE_EVERY_S", "RETRY_FEED_S", "Mirror"]
