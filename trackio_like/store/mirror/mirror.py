"""A local copy of a bucket, a dataset or a mounted folder, kept up by a thread of its own."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from trackio_like.errors import RemoteError, RemoteInvalidError, RemoteMissingError, RemoteUnavailableError
from trackio_like.hub.feed import FeedEvent, ResumePoint
from trackio_like.hub.hangup import Hangup
from trackio_like.store.mirror.progress import MirrorState, Progress
from trackio_like.store.mirror.shelf import Shelf
from trackio_like.store.mirror.sources import Source
from trackio_like.store.mirror.stock import Stock

logger = logging.getLogger(__name__)
COMPARE_EVERY_S: Final = 300.0
"""Everything is compared so often where the version says that anything changed."""
LOOK_AGAIN_S: Final = 20.0
"""After so long it is compared again where a listing may have lagged."""
RETRY_FEED_S: Final = 30.0
_NO_FEED_S: Final = 600.0
_SHORT_SESSION_S: Final = 10.0
"""A session that ends sooner is not opened again at once, or a server that ends each would be asked without a pause."""
_LONGEST_WAIT_S: Final = 60.0
_OVERLAP_S: Final = 60.0
"""How much before the listing the feed is asked for: a listing may lag, and what it told is told again for nothing."""
_PAGE: Final = 1000
"""Files that one API call lists; a comparison of more pages is made less often."""
_MAX_TRIES: Final = 3
"""Failures in a row before whoever waits for the first copy is told: one may be a hiccup."""


class Mirror:
    """Copies what it lacks, and goes on copying. Readers look at `folder` at any time."""

    def __init__(
        self,
        source: Source,
        folder: Path,
        *,
        compare_every_s: float = COMPARE_EVERY_S,
        look_again_s: float = LOOK_AGAIN_S,
        retry_feed_s: float = RETRY_FEED_S,
    ) -> None:
        """Copies nothing before `start`.

        Args:
            source: where from.
            folder: where to; its own, or what an earlier mirror of this source left.
            compare_every_s: seconds between two comparisons of everything.
            look_again_s: the same where the last listing may have lagged.
            retry_feed_s: seconds before a feed that failed is asked for again.
        """
        self.folder = folder
        self._source = source
        self._compare_every_s = compare_every_s
        self._look_again_s = look_again_s
        self._retry_feed_s = retry_feed_s
        self._shelf = Shelf(folder)
        self._stock = Stock(source, self._shelf)
        self._version: str | None = None
        """As it was before the last listing."""
        self._is_sure = False
        """Whether two listings, some time apart, were made of this version: one may lag behind it."""
        self._must_list = True
        self._cursor = ""
        self._is_replay_lost = False
        """Whether the feed cannot tell what came since the last listing: then the version says if anything did."""
        self._feed_due_s = 0.0
        self._num_short_sessions = 0
        self._state: tuple[MirrorState, str] = ("starting", "")
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
                f"files); it goes on, ask again. {found.message}".rstrip()
            )
        if not self._has_compared and self._error is not None:
            raise self._error

    def progress(self) -> Progress:
        """How it stands."""
        with self._lock:
            state, message = self._state
        left_out = self._stock.left_out()
        notes = [message or self._source.note]
        if left_out:
            notes.append(f"Left out, because they are damaged: {len(left_out)} files, such as {left_out[0]}.")
        amounts = asdict(self._stock.amounts())
        return Progress(what=self._source.title, state=state, message=" ".join(filter(None, notes)), **amounts)

    # -- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        num_failures = 0
        is_scanned = False
        while not self._stop.is_set():
            asked_s = 0.0
            num_placed = self._stock.num_placed
            try:
                if not is_scanned:
                    self._shelf.scan()
                    is_scanned = True
                self._compare()
                num_failures = 0
                self._keep_up()
                continue
            except RemoteUnavailableError as error:
                asked_s = error.retry_after_s or 0.0
                failure: RemoteError | OSError = error
            except (RemoteError, OSError) as error:
                failure = error
            except Exception as error:  # the thread's last resort: what is here goes on being shown
                logger.exception("The copy of %s stopped for a moment", self._source.title)
                failure = RemoteUnavailableError(f"{type(error).__name__}: {error}")
            if self._stock.num_placed > num_placed:
                num_failures = min(num_failures, 1)  # it gets on, so it need not wait ever longer
            num_failures += 1
            self._fail(failure, num_failures)
            self._stop.wait(max(min(2.0 ** (num_failures - 1), _LONGEST_WAIT_S), self._listing_s(), asked_s))
        self._say("closed")

    def _fail(self, error: RemoteError | OSError, num_failures: int) -> None:
        if self._stop.is_set():
            return
        self._must_list = True
        self._error = error
        self._say("waiting", f"{error}. What is here is shown; it is tried again.")
        if num_failures >= _MAX_TRIES or not isinstance(error, RemoteUnavailableError):
            self._settled.set()

    def _listing_s(self) -> float:
        """How many seconds a listing is worth: a second for each of its API calls."""
        return self._stock.num_wanted / _PAGE

    def _compare(self) -> None:
        """Makes this copy what the source is, where the source may have changed.

        Raises:
            RemoteError: the source cannot be asked.
            OSError: the disk refuses.
        """
        version = self._hangup.ask(self._source.version)
        is_same = version == self._version
        if is_same and self._is_sure and not self._must_list and not self._stock.has_missed:
            return
        if not self._has_compared:
            self._say("copying")
        self._stock.take_listing(self._hangup.ask(lambda: self._source.list(version)))
        self._is_replay_lost = False
        is_whole = self._stock.make_so(self._stock.all_folders(), version=version, hangup=self._hangup)
        if self._stop.is_set():
            return
        self._version, self._is_sure = version, is_same
        self._must_list = not is_whole
        if not self._has_compared:
            self._shelf.mark_whole()
        self._has_compared = True
        self._settled.set()

    def _keep_up(self) -> None:
        """Follows or probes until everything is to be compared again.

        Raises:
            RemoteError: the source cannot be asked.
            OSError: the disk refuses.
        """
        listed_s = time.monotonic()
        may_lack = self._stock.has_missed or self._must_list
        until_s = listed_s + (self._look_again_s if may_lack else self._compare_every_s)
        while not self._stop.is_set() and (now_s := time.monotonic()) < until_s:
            is_fed = self._source.has_feed and now_s >= self._feed_due_s
            if not self._is_sure and (self._is_replay_lost or not is_fed):
                until_s = min(until_s, listed_s + self._look_again_s)  # nobody tells of what the listing lacked
            if is_fed:
                if self._follow(until_s):
                    return
                continue
            self._say("probing")
            probe_s = max(self._source.probe_s, self._listing_s())
            next_s = min(now_s + probe_s, until_s)
            if self._source.has_feed:
                next_s = min(next_s, self._feed_due_s)
            self._stop.wait(max(0.0, next_s - now_s))
            is_asked = time.monotonic() - now_s >= probe_s
            if is_asked and not self._stop.is_set() and self._has_new_version():
                return

    def _has_new_version(self) -> bool:
        return self._hangup.ask(self._source.version) != self._version

    def _follow(self, until_s: float) -> bool:
        """One session of the feed; whether everything is to be compared now.

        Raises:
            RemoteError: what the feed told of cannot be fetched.
            OSError: the disk refuses.
        """
        resume = self._resume_point()
        opened_s = time.monotonic()
        must_compare = False
        with self._in_session(until_s) as session:
            events = session.apart(lambda: self._source.follow(resume, session))
            while (event := self._next_event(events, session, resume)) is not None:
                if event.kind == "reset":
                    self._cursor, self._is_replay_lost = "", True
                    break
                self._cursor = event.cursor or self._cursor
                if event.kind == "reconnect":
                    break
                must_compare = not self._take(event, resume)
                if must_compare:
                    break
                self._say("following")
            is_hung_up = session.is_over
        if is_hung_up or must_compare:
            return must_compare
        if self._is_replay_lost and resume != ResumePoint():
            return False  # at once, without a resume point
        if time.monotonic() - opened_s < _SHORT_SESSION_S:
            self._num_short_sessions += 1
            pause_s = min(2.0 ** (self._num_short_sessions - 1), self._retry_feed_s)
            self._feed_due_s = max(self._feed_due_s, time.monotonic() + pause_s)
        else:
            self._num_short_sessions = 0
        return False

    def _resume_point(self) -> ResumePoint:
        if self._cursor or self._is_replay_lost:
            return ResumePoint(cursor=self._cursor)
        try:
            since = datetime.fromisoformat(self._version or "") - timedelta(seconds=_OVERLAP_S)
        except ValueError:
            return ResumePoint()  # this Hub does not say when its bucket changed
        return ResumePoint(since=since.isoformat(timespec="milliseconds").replace("+00:00", "Z"))

    def _next_event(self, events: Iterator[FeedEvent], session: Hangup, resume: ResumePoint) -> FeedEvent | None:
        """What the feed says next; None where it ends, however it does."""
        try:
            return next(events, None)
        except (RemoteInvalidError, RemoteMissingError):
            if resume == ResumePoint():
                self._feed_due_s = time.monotonic() + _NO_FEED_S
            self._cursor, self._is_replay_lost = "", True
        except RemoteError as error:
            if not session.is_over:
                logger.info("The change feed of %s ended: %s", self._source.title, error)
                asked_s = error.retry_after_s if isinstance(error, RemoteUnavailableError) else None
                self._feed_due_s = time.monotonic() + max(self._retry_feed_s, asked_s or 0.0)
        return None

    def _take(self, event: FeedEvent, resume: ResumePoint) -> bool:
        """Does what an event says; False where that is not enough to go by."""
        if event.kind == "ready":
            # It tells what comes from now on, and nothing of what came since the listing.
            return resume != ResumePoint() or not self._has_new_version()
        folders = self._stock.take_changes(event.changes)
        is_enough = folders is not None and self._stock.make_so(
            folders, version=self._version or "", hangup=self._hangup
        )
        self._must_list |= not is_enough
        return is_enough

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
            session.now()  # whatever ended it, nobody reads it any more
            with self._lock:
                self._session = None

    def _say(self, state: MirrorState, message: str = "") -> None:
        with self._lock:
            self._state = (state, message)


__all__ = ["COMPARE_EVERY_S", "LOOK_AGAIN_S", "RETRY_FEED_S", "Mirror"]
