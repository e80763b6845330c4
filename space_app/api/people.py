"""Who asks, whether they may change runs, and where their changes go: by the write token, or by a login on a Space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from space_app.api.access import FOREIGN_PAGE, WRONG_TOKEN, Access
from trackio_like.store.changes import Changes, FolderChanges

if TYPE_CHECKING:
    from fastapi import FastAPI, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """What `GET /t/me` answers."""

    name: str | None = None
    may_read: bool = True
    may_write: bool = False
    sign_in: str | None = None
    login_url: str | None = None
    why: str | None = None


class DeniedError(Exception):
    """The request may not change anything."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        """401 where nobody is known, 403 where somebody is known and may not."""


class People(Protocol):
    """How those who ask are known."""

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes by which they sign in."""

    def me(self, request: Request) -> Person:
        """Who asks."""

    def changes_of(self, request: Request) -> Changes:
        """Where the changes of whoever asks go.

        Raises:
            DeniedError: they may not change anything.
        """


class TokenPeople:
    """Known by the write token: on this machine, and on a self-hosted server."""

    def __init__(self, access: Access, *, is_read_only: bool = False) -> None:
        """Asks nothing yet.

        Args:
            access: the tokens.
            is_read_only: whether what is shown lies elsewhere, and cannot be changed from here.
        """
        self._access = access
        self._is_read_only = is_read_only

    def add_to(self, app: FastAPI) -> None:
        """As `People.add_to`: there are none, for the address that the server printed signs in."""

    def me(self, request: Request) -> Person:
        """As `People.me`."""
        rights = self._access.of(request.headers)
        if self._is_read_only:
            why = "This is a view of something that lies elsewhere. Change it where it lies."
            return Person(may_read=rights.may_read, why=why)
        if rights.may_write:
            return Person(may_read=True, may_write=True, sign_in="token")
        why = "To rename or delete runs, open the write URL that the server printed when it started."
        return Person(may_read=rights.may_read, sign_in="token" if self._access.has_write_token else None, why=why)

    def changes_of(self, request: Request) -> Changes:
        """As `People.changes_of`.

        Raises:
            DeniedError: they may not change anything.
        """
        if self._is_read_only:
            raise DeniedError(403, self.me(request).why or "")
        if not self._access.may_change(request.headers):
            if self._access.of(request.headers).may_write:
                raise DeniedError(403, FOREIGN_PAGE)
            raise DeniedError(401, WRONG_TOKEN)
        return FolderChanges()


__all__ = ["DeniedError", "People", "Person", "TokenPeople"]
