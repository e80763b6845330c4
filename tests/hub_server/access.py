"""Who asks, and what that account may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from tests.hub_server.state import Bucket, Repo, Saved, Token
from tests.hub_server.wire import HubError

READ_ROLES = ("read", "write", "contributor", "admin")
WRITE_SCOPES = ("write-repos", "manage-repos")
READ_SCOPES = ("read-repos", "gated-repos", *WRITE_SCOPES)


@dataclass(frozen=True, kw_only=True)
class Account:
    """Who asks."""

    name: str = "anonymous"
    plan: str = "anonymous"
    token: Token | None = None
    orgs: dict[str, str] = field(default_factory=dict)
    """Organisation to role."""

    @property
    def is_known(self) -> bool:
        return self.token is not None


def bearer(authorization: str | None) -> str | None:
    """The token of an `Authorization` header."""
    scheme, _, value = (authorization or "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" and value.strip() else None


def account_of(saved: Saved, authorization: str | None) -> Account:
    """The account of a request.

    Raises:
        HubError: 401, the token is unknown, expired or revoked.
    """
    value = bearer(authorization)
    if value is None:
        return Account()
    token = saved.tokens.get(value)
    if token is None or not token.is_valid():
        raise HubError(401, "Invalid credentials in Authorization header")
    user = saved.users[token.user]
    orgs = {org.name: org.members[user.name] for org in saved.orgs.values() if user.name in org.members}
    plans = {saved.orgs[name].plan for name in orgs} | {"pro" if user.is_pro else "free"}
    plan = next(plan for plan in ("enterprise", "team", "pro", "free") if plan in plans)
    return Account(name=user.name, plan=plan, token=token, orgs=orgs)


def can_read(account: Account, thing: Bucket | Repo) -> bool:
    if not thing.private:
        return True
    namespace = thing.id.split("/")[0]
    is_member = namespace == account.name or account.orgs.get(namespace) in READ_ROLES
    return account.is_known and is_member and _token_allows(account, thing.id, writes=False)


def can_write(account: Account, thing: Bucket | Repo) -> bool:
    namespace = thing.id.split("/")[0]
    role = account.orgs.get(namespace)
    may = namespace == account.name or role in ("admin", "write")
    may = may or (role == "contributor" and thing.creator == account.name)
    return account.is_known and may and _token_allows(account, thing.id, writes=True)


def can_create(account: Account, thing_id: str) -> bool:
    namespace = thing_id.split("/", maxsplit=1)[0]
    may = namespace == account.name or account.orgs.get(namespace) in ("admin", "write", "contributor")
    return account.is_known and may and _token_allows(account, thing_id, writes=True)


def _token_allows(account: Account, thing_id: str, *, writes: bool) -> bool:
    token = account.token
    assert token is not None
    if token.role == "write":
        return True
    if token.role == "read":
        return not writes
    if token.role == "oauth":
        return any(scope in token.scopes for scope in (WRITE_SCOPES if writes else READ_SCOPES))
    granted = token.permissions.get(thing_id, []) + token.permissions.get(thing_id.split("/", maxsplit=1)[0], [])
    return "repo.write" in granted or (not writes and "repo.content.read" in granted)


_Thing = TypeVar("_Thing", Bucket, Repo)


def check_readable(account: Account, thing: _Thing | None) -> _Thing:
    """The thing, for one who may see it.

    Raises:
        HubError: 404, or 401 for those who are not logged in; whether it exists is not told.
    """
    if thing is not None and can_read(account, thing):
        return thing
    if not account.is_known:
        raise HubError(401, "Invalid username or password.", code="RepoNotFound")
    raise HubError(404, "Repository not found", code="RepoNotFound")


def check_writable(account: Account, thing: _Thing | None) -> _Thing:
    """The thing, for one who may change it.

    Raises:
        HubError: As for reading, and 403.
    """
    seen = check_readable(account, thing)
    if not account.is_known:
        raise HubError(401, "Invalid username or password.")
    if not can_write(account, seen):
        raise HubError(403, f"Forbidden: you must have write access to {seen.id} and a token that allows it")
    return seen


def check_creatable(account: Account, thing_id: str, noun: str) -> None:
    """Nothing, for one who may create it.

    Raises:
        HubError: 401 or 403.
    """
    if not account.is_known:
        raise HubError(401, "Invalid username or password.")
    if not can_create(account, thing_id):
        namespace = thing_id.split("/", maxsplit=1)[0]
        raise HubError(403, f'You don\'t have the rights to create a {noun} under the namespace "{namespace}"')
