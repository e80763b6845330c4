"""Signing in with the Hub: OpenID Connect's code flow with PKCE. Tokens stay with the server, never in a browser."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import httpx2

from trackio_like._settings import SpaceLogin
from trackio_like.errors import RemoteRefusedError, RemoteUnavailableError

TIMEOUT_S: Final = 15.0
_WRITING_ROLES: Final = frozenset({"admin", "write"})
_WRITING_SCOPES: Final = frozenset({"write-repos", "manage-repos"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person who signed in."""

    name: str
    token: str = field(repr=False)
    orgs: Mapping[str, str]
    """Organisation to the person's role there."""
    scopes: frozenset[str]
    expires_at: float
    """When the token ends, in seconds since the epoch."""

    def may_write_in(self, namespace: str) -> bool:
        """Whether the person may write what belongs to an account or an organisation, and let this app do so."""
        is_theirs = namespace == self.name or self.orgs.get(namespace) in _WRITING_ROLES
        return is_theirs and bool(self.scopes & _WRITING_SCOPES)


def challenge_of(verifier: str) -> str:
    """What is sent ahead of a secret, so that only who knows the secret can use the code."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def login_url(login: SpaceLogin, *, redirect_uri: str, state: str, verifier: str) -> str:
    """Where a person is sent to sign in.

    Args:
        login: the app.
        redirect_uri: where the Hub sends the person back to.
        state: comes back unchanged.
        verifier: a secret that stays here until the code is redeemed.

    Raises:
        RemoteUnavailableError: the Hub does not answer.
    """
    query = {
        "client_id": login.client_id,
        "redirect_uri": redirect_uri,
        "response_type": "code",
        "scope": login.scopes,
        "state": state,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
    }
    with _client() as client:
        return f"{_endpoints(client, login)['authorization_endpoint']}?{urlencode(query)}"


def redeem(login: SpaceLogin, *, code: str, redirect_uri: str, verifier: str) -> Member:
    """Exchanges a code for the person's token, and asks who that is.

    Args:
        login: the app.
        code: what the person came back with.
        redirect_uri: the same as before.
        verifier: the same as before.

    Raises:
        RemoteRefusedError: the code is none, is used, or is too old.
        RemoteUnavailableError: the Hub does not answer.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
        "client_id": login.client_id,
    }
    with _client() as client:
        known = _endpoints(client, login)
        token = _ask(client, "POST", known["token_endpoint"], data=form, auth=(login.client_id, login.client_secret))
        value = str(token.get("access_token") or "")
        person = _ask(client, "GET", known["userinfo_endpoint"], headers={"Authorization": f"Bearer {value}"})
    orgs = person.get("orgs") or []
    return Member(
        name=str(person.get("preferred_username") or ""),
        token=value,
        orgs={str(org.get("preferred_username")): str(org.get("roleInOrg")) for org in orgs if isinstance(org, dict)},
        scopes=frozenset(str(token.get("scope") or login.scopes).split()),
        expires_at=time.time() + float(token.get("expires_in") or 3600),
    )


def _client() -> httpx2.Client:
    return httpx2.Client(timeout=TIMEOUT_S, follow_redirects=False)


def _endpoints(client: httpx2.Client, login: SpaceLogin) -> dict[str, Any]:
    return _ask(client, "GET", f"{login.provider_url}/.well-known/openid-configuration")


def _ask(client: httpx2.Client, method: str, url: str, **options: Any) -> dict[str, Any]:
    try:
        answer = client.request(method, url, **options)
        found = answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        raise RemoteUnavailableError("Cannot sign in: the Hub does not answer as it should.") from error
    if answer.status_code in (400, 401, 403):
        raise RemoteRefusedError("Cannot sign in: the Hub refused it. Try once more.")
    if answer.status_code != 200 or not isinstance(found, dict):
        raise RemoteUnavailableError(f"Cannot sign in: the Hub answered {answer.status_code}.")
    return found


__all__ = ["Member", "challenge_of", "login_url", "redeem"]
