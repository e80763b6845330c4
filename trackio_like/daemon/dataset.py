"""Sends to a dataset: one commit for all runs, with the card that tells viewers what is what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from trackio_like.daemon.bucket import visibility_note
from trackio_like.daemon.card import CARD_PATH, card_kinds, is_ours, kinds_of, next_card
from trackio_like.daemon.sender import Batch, Outcome, Upload
from trackio_like.errors import (
    RemoteConflictError,
    RemoteError,
    RemoteInvalidError,
    RemoteMissingError,
    RemoteRefusedError,
)
from trackio_like.format.targets import Target
from trackio_like.hub import datasets
from trackio_like.hub.access import HubAccess
from trackio_like.hub.calls import Traffic
from trackio_like.hub.listing import list_dataset

_CONFLICT_TRIES: Final = 4
_SECRET: Final = re.compile(r"\bsecrets?\b", re.IGNORECASE)


@dataclass(slots=True)
class _Done:
    """What the commits of one pass did so far."""

    stored: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    rejected: dict[str, str] = field(default_factory=dict)
    num_api_calls: int = 0
    num_left: int | None = None
    window_left_s: float | None = None

    def add(self, traffic: Traffic) -> None:
        self.num_api_calls += traffic.num_api_calls
        self.num_left, self.window_left_s = traffic.num_left, traffic.window_left_s


class DatasetSender:
    """A dataset, with one token."""

    def __init__(self, target: Target, access: HubAccess, *, squash_after: int | None = None) -> None:
        """Asks for nothing yet.

        Args:
            target: the dataset.
            access: the endpoint and token.
            squash_after: a history of so many commits is made into one; None keeps all.
        """
        self._target = target
        self._access = access
        self._squash_after = squash_after
        self._num_commits: int | None = None
        self._card_kinds: set[str] | None = None
        """The kinds that the card there names; None where it was not read yet."""
        self._has_own_card = False
        """Whether a person wrote the card: it is theirs for good."""

    def prepare(self) -> str | None:
        """Makes the dataset where it does not exist."""
        made = datasets.make_dataset(self._access, self._target.id, is_private=self._target.is_private)
        return visibility_note(self._target, made)

    def send(self, batch: Batch) -> Outcome:
        """Commits what is wanted; a file that the Hub refuses is looked for and set aside, and the others go on."""
        done = _Done()
        self._commit_or_split(batch.uploads, batch.deletes, done)
        if self._squash_after is not None:
            self._squash_where_long(self._squash_after)
        return Outcome(
            stored=frozenset(done.stored),
            deleted=frozenset(done.deleted),
            rejected=done.rejected,
            num_api_calls=done.num_api_calls,
            num_left=done.num_left,
            window_left_s=done.window_left_s,
        )

    def paths(self) -> Iterator[tuple[str, int]]:
        """Everything in the dataset, at one moment."""
        sha = datasets.dataset_sha(self._access, self._target.id)
        for file in list_dataset(self._access, self._target.id, sha):
            yield file.path, file.num_bytes

    def _commit_or_split(self, uploads: Sequence[Upload], deletes: Sequence[str], done: _Done) -> None:
        """Commits some files; where the Hub refuses one of them, halves until it stands alone."""
        try:
            self._commit(uploads, deletes, done)
            return
        except RemoteError as error:
            text = str(error)
            # The Hub's scanner may answer 403, as for a token; of those it is only the one that finds secrets.
            names_secret = _SECRET.search(text) is not None
            is_about_content = isinstance(error, RemoteInvalidError) or (
                isinstance(error, RemoteRefusedError) and names_secret
            )
            if not uploads or not is_about_content:
                raise
            named = [upload for upload in uploads if upload.path in text]
            if not named and len(uploads) == 1:
                # Alone it proves nothing against the file: the Hub may refuse every commit now.
                if not done.stored and not names_secret:
                    raise
                named = list(uploads)
            if named:
                done.rejected.update({upload.path: text for upload in named})
                rest = [upload for upload in uploads if upload not in named]
                if rest or deletes:
                    self._commit_or_split(rest, deletes, done)
                return
        middle = len(uploads) // 2
        self._commit_or_split(uploads[:middle], deletes, done)
        self._commit_or_split(uploads[middle:], (), done)

    def _commit(self, uploads: Sequence[Upload], deletes: Sequence[str], done: _Done) -> None:
        card = self._card_for(uploads)
        message = f"Add {len(uploads)} files" if uploads else f"Remove {len(deletes)} files that others cover"
        wanted = tuple(deletes)
        for tries_left in reversed(range(_CONFLICT_TRIES)):
            try:
                answer = datasets.commit_dataset(
                    self._access,
                    self._target.id,
                    adds=[(upload.file, upload.path) for upload in uploads],
                    texts={} if card is None else {CARD_PATH: card},
                    deletes=wanted,
                    message=message,
                )
            except RemoteConflictError:
                if not tries_left:
                    raise
                continue
            except (RemoteMissingError, RemoteInvalidError):
                # What is gone already must not be deleted: the answer to an earlier commit was lost.
                still = datasets.existing_paths(self._access, self._target.id, wanted) if wanted else set()
                if not tries_left or still == set(wanted):
                    raise
                wanted = tuple(path for path in wanted if path in still)
                continue
            break
        else:
            raise AssertionError("the last try returns or raises")
        done.add(answer.traffic)
        done.stored |= {upload.path for upload in uploads} - answer.vanished
        done.deleted |= set(deletes)
        if card is not None:
            self._card_kinds = card_kinds(card)
        if self._num_commits is not None:
            self._num_commits += 1

    def _card_for(self, uploads: Sequence[Upload]) -> str | None:
        """The card to commit along; None where the one there is good, or a person's."""
        kinds = kinds_of(upload.path for upload in uploads)
        if self._has_own_card or not kinds or (self._card_kinds is not None and kinds <= self._card_kinds):
            return None
        # Read anew each time: a person may have written one since.
        current = datasets.read_readme(self._access, self._target.id)
        self._has_own_card = current is not None and not is_ours(current)
        self._card_kinds = card_kinds(current) if current is not None else set()
        return next_card(current, kinds=kinds)

    def _squash_where_long(self, squash_after: int) -> None:
        if self._num_commits is None:
            self._num_commits = datasets.num_commits(self._access, self._target.id)
        if self._num_commits >= squash_after:
            datasets.squash_history(self._access, self._target.id)
            self._num_commits = 1


__all__ = ["DatasetSender"]
