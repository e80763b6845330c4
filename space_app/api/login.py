"""People on a Space: signed in with the Hub, and changing with their own token what they may write there."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from space_app.api.access import FOREIGN_PAGE, Access, cookie_header
from space_app.api.answers import error_answer
from space_app.api.people import DeniedError, Person
from trackio_like._settings import SpaceLogin
from trackio_like.errors import RemoteError
from trackio_like.hub.login import Member, login_url, redeem
from trackio_like.store.changes import Changes

SESSION_COOKIE: Final = "trackio_like_login"
STATE_COOKIE: Final = "trackio_like_state"
MAX_SESSIONS: Final = 1000
STATE_AGE_S: Final = 600

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A login that has begun."""

    verifier: str
    redirect_uri: str
    target: str
    until: float


class HubPeople:
    """Known by their login. What is known of them is in memory: a restart signs everybody out."""

    def __init__(
        self, login: SpaceLogin, access: Access, *, owner: str, changes_with: Callable[[str], Changes], what: str
    ) -> None:
        """Asks nothing yet.

        Args:
            login: this app at the Hub.
            access: tells our own page from others.
            owner: the account or organisation that owns the bucket or dataset.
            changes_with: where changes go, with a person's token.
            what: for messages: `the bucket me/board`.
        """
        self._login = login
        self._access = access
        self._owner = owner
        self._changes_with = changes_with
        self._what = what
        self._lock = threading.Lock()
        self._begun: OrderedDict[str, _Begun] = OrderedDict()
        self._members: OrderedDict[str, Member] = OrderedDict()

    # -- routes --------------------------------------------------------------------------------------------------

    def add_to(self, app: FastAPI) -> None:
        """As `People.add_to`."""
        app.get("/login")(self.begin)
        app.get("/login/callback")(self.finish)
        app.post("/logout")(self.leave)

    def begin(self, request: Request, target: str = "") -> Response:
        """Sends a person to the Hub."""
        state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        redirect_uri = self._callback_of(request)
        try:
            address = login_url(self._login, redirect_uri=redirect_uri, state=state, verifier=verifier)
        except RemoteError as error:
            return error_answer(502, str(error))
        begun = _Begun(
            verifier=verifier, redirect_uri=redirect_uri, target=target, until=time.monotonic() + STATE_AGE_S
        )
        with self._lock:
            _put(self._begun, state, begun)
        answer = RedirectResponse(address, status_code=303, headers={"Cache-Control": "no-store"})
        # Ties the login to this browser: nobody can make another one finish a login that is not its own.
        self._set_cookie(request, answer, STATE_COOKIE, state, max_age_s=STATE_AGE_S)
        return answer

    def finish(self, request: Request, state: str = "", code: str = "") -> Response:
        """Takes a person back."""
        with self._lock:
            begun = self._begun.pop(state, None)
        is_own = secrets.compare_digest(request.cookies.get(STATE_COOKIE, "").encode(), state.encode())
        if begun is None or not is_own or time.monotonic() > begun.until or not code:
            return error_answer(403, "This login was not begun here, or too long ago. Go back and sign in again.")
        try:
            member = redeem(self._login, code=code, redirect_uri=begun.redirect_uri, verifier=begun.verifier)
        except RemoteError as error:
            return error_answer(502, str(error))
        session = secrets.token_urlsafe(32)
        with self._lock:
            _put(self._members, session, member)
        # From /t/login/callback to the page; the query alone is taken over, so that it leads nowhere else.
        query = begun.target.lstrip("?").partition("#")[0].replace("\r", "").replace("\n", "")
        answer = RedirectResponse(f"../../?{query}" if query else "../../", status_code=303)
        self._set_cookie(request, answer, SESSION_COOKIE, session, max_age_s=int(member.expires_at - time.time()))
        self._set_cookie(request, answer, STATE_COOKIE, "", max_age_s=0)
        return answer

    def leave(self, request: Request) -> Response:
        """Forgets a login."""
        if not self._access.is_own_page(request.headers):
            return error_answer(403, FOREIGN_PAGE)
        with self._lock:
            self._members.pop(request.cookies.get(SESSION_COOKIE, ""), None)
        answer = Response(status_code=204)
        self._set_cookie(request, answer, SESSION_COOKIE, "", max_age_s=0)
        return answer

    # -- rights --------------------------------------------------------------------------------------------------

    def me(self, request: Request) -> Person:
        """As `People.me`."""
        member = self._member(request)
        if member is None:
            why = f"To rename or delete runs, sign in as somebody who may write to {self._what}."
            return Person(sign_in="hub", login_url="t/login", why=why)
        may_write = member.may_write_in(self._owner)
        why = f"{member.name} may not write to {self._what}, or did not allow this app to do so."
        return Person(
            name=member.name,
            may_write=may_write,
            sign_in="hub",
            login_url="t/login",
            why=None if may_write else why,
        )

    def changes_of(self, request: Request) -> Changes:
        """As `People.changes_of`.

        Raises:
            DeniedError: they may not change anything.
        """
        member = self._member(request)
        if member is None:
            raise DeniedError(401, self.me(request).why or "")
        if not self._access.is_own_page(request.headers):
            raise DeniedError(403, FOREIGN_PAGE)
        if not member.may_write_in(self._owner):
            raise DeniedError(403, self.me(request).why or "")
        return self._changes_with(member.token)

    def _member(self, request: Request) -> Member | None:
        # A page of another site may send the cookie along; it is not told who is signed in.
        if "origin" in request.headers and not self._access.is_own_page(request.headers):
            return None
        session = request.cookies.get(SESSION_COOKIE, "")
        with self._lock:
            member = self._members.get(session)
            if member is not None and time.time() >= member.expires_at:
                del self._members[session]
                return None
            return member

    def _callback_of(self, request: Request) -> str:
        if self._login.host:
            return f"https://{self._login.host}/t/login/callback"
        return f"{str(request.url.replace(query='')).removesuffix('/login')}/login/callback"  # below our mount, too

    def _set_cookie(self, request: Request, answer: Response, name: str, value: str, *, max_age_s: int) -> None:
        is_secure = self._access.is_secure(request.headers, request.url.scheme)
        text = cookie_header(name, value, path="/", is_secure=is_secure, max_age_s=max_age_s, is_framed=True)
        answer.headers.append("set-cookie", text)


def _put(kept: OrderedDict[str, Kept], key: str, value: Kept) -> None:
    kept[key] = value
    while len(kept) > MAX_SESSIONS:
        kept.popitem(last=False)


def people_of_space(
    login: SpaceLogin, access: Access, *, bucket_id: str | None, dataset_id: str | None, endpoint: str
) -> HubPeople:
    """How people are known on a Space.

    Args:
        login: this app at the Hub.
        access: tells our own page from others.
        bucket_id: what it shows.
        dataset_id: what it shows, where that is no bucket.
        endpoint: the Hub.

    Raises:
        ValueError: it shows neither a bucket nor a dataset.
    """
    id_ = bucket_id or dataset_id
    if not id_:
        raise ValueError("A Space shows a bucket or a dataset.")

    def changes_with(token: str) -> Changes:
        from trackio_like.hub.access import HubAccess
        from trackio_like.store.hub_changes import HubChanges

        access = HubAccess.from_login(endpoint, token=token)
        return HubChanges(kind="bucket" if bucket_id else "dataset", id=id_, access=access)

    what = f"the {'bucket' if bucket_id else 'dataset'} {id_}"
    return HubPeople(login, access, owner=id_.partition("/")[0], changes_with=changes_with, what=what)


__all__ = ["SESSION_COOKIE", "HubPeople", "people_of_space"]
