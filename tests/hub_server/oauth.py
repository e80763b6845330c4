"""Logging in with the Hub: OpenID Connect's discovery, authorisation, token and user information."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.hub_server.state import Token, User, new_token_value
from tests.hub_server.wire import HubError
from tests.hub_server.world import World

if TYPE_CHECKING:
    from starlette.requests import Request

_LIFETIME_S = 8 * 3600
_CODE_LIFETIME_S = 60
_SCOPES = ("openid", "profile", "email", "read-repos", "write-repos", "manage-repos", "inference-api")


class OAuth:
    """The routes of a login. The Hub's login page is replaced by `Hub.sign_in`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/openid-configuration", self._discovery),
            Route("/.well-known/jwks.json", self._keys),
            Route("/oauth/authorize", self._authorize),
            Route("/oauth/token", self._token, methods=["POST"]),
            Route("/oauth/userinfo", self._userinfo),
        ]

    async def _discovery(self, _: Request) -> Response:
        at = self._world.at.endpoint
        return JSONResponse(
            {
                "issuer": at,
                "authorization_endpoint": f"{at}/oauth/authorize",
                "token_endpoint": f"{at}/oauth/token",
                "userinfo_endpoint": f"{at}/oauth/userinfo",
                "jwks_uri": f"{at}/.well-known/jwks.json",
                "scopes_supported": list(_SCOPES),
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["HS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def _keys(self, _: Request) -> Response:
        """The key of the ID tokens: a shared secret, which spares this server public-key signatures."""
        key = {"kty": "oct", "kid": "hub", "use": "sig", "alg": "HS256", "k": _base64(self._key())}
        return JSONResponse({"keys": [key]})

    async def _authorize(self, request: Request) -> Response:
        query = request.query_params
        if query.get("client_id") not in self._world.logins.apps:
            raise HubError(400, "this client_id is unknown")
        user = self._world.logins.signed_in
        if user is None:
            return HTMLResponse("<h1>Log in</h1><p>Nobody is logged in at this Hub.</p>", 401)
        code = secrets.token_urlsafe(16)
        self._world.logins.codes[code] = {
            "user": user,
            "client_id": query["client_id"],
            "redirect_uri": query["redirect_uri"],
            "scopes": [scope for scope in query.get("scope", "openid").split() if scope in _SCOPES],
            "nonce": query.get("nonce"),
            "challenge": query.get("code_challenge"),
            "until": time.time() + _CODE_LIFETIME_S,
        }
        answer = {"code": code, **({"state": query["state"]} if "state" in query else {})}
        joint = "&" if "?" in query["redirect_uri"] else "?"
        return RedirectResponse(f"{query['redirect_uri']}{joint}{urlencode(answer)}", 302)

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        client_id, client_secret = _client(request, form)
        if not client_id or self._world.logins.apps.get(client_id) != client_secret:
            return JSONResponse({"error": "invalid_client"}, 401)
        login = self._world.logins.codes.pop(form.get("code", ""), None)
        if login is None or not _is_good(login, client_id, form):
            return JSONResponse({"error": "invalid_grant"}, 400)
        value = new_token_value("hf_oauth_")
        expires_at = time.time() + _LIFETIME_S
        self._world.saved.tokens[value] = Token(
            value=value, user=login["user"], role="oauth", expires_at=expires_at, scopes=login["scopes"]
        )
        return JSONResponse(
            {
                "access_token": value,
                "token_type": "bearer",
                "expires_in": _LIFETIME_S,
                "scope": " ".join(login["scopes"]),
                "id_token": self._id_token(login),
            }
        )

    async def _userinfo(self, request: Request) -> Response:
        account = self._world.account(request)
        if account.token is None or account.token.role != "oauth":
            raise HubError(401, "an OAuth token is needed")
        return JSONResponse(self._claims(self._world.saved.users[account.name]))

    def _claims(self, user: User) -> dict:
        """What is said of a person: the standard's names and the Hub's own."""
        orgs = [
            {
                "sub": f"{org.name}-id",
                "name": org.name.title(),
                "preferred_username": org.name,
                "picture": f"{self._world.at.endpoint}/avatars/{org.name}.svg",
                "plan": org.plan,
                "isEnterprise": org.plan == "enterprise",
                "roleInOrg": org.members[user.name],
            }
            for org in self._world.saved.orgs.values()
            if user.name in org.members
        ]
        return {
            "sub": f"{user.name}-id",
            "name": user.name.title(),
            "preferred_username": user.name,
            "profile": f"{self._world.at.endpoint}/{user.name}",
            "picture": f"{self._world.at.endpoint}/avatars/{user.name}.svg",
            "website": "",
            "email_verified": True,
            "isPro": user.is_pro,
            "canPay": user.is_pro,
            "orgs": orgs,
        }

    def _id_token(self, login: dict) -> str:
        now = int(time.time())
        claims = {
            **self._claims(self._world.saved.users[login["user"]]),
            "iss": self._world.at.endpoint,
            "aud": login["client_id"],
            "iat": now,
            "auth_time": now,
            "exp": now + _LIFETIME_S,
        }
        if login["nonce"]:
            claims["nonce"] = login["nonce"]
        head = {"alg": "HS256", "typ": "JWT", "kid": "hub"}
        signed = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
        return f"{signed}.{_base64(hmac.new(self._key(), signed.encode(), hashlib.sha256).digest())}"

    def _key(self) -> bytes:
        return hashlib.sha256(f"id tokens {self._world.saved.secret}".encode()).digest()


def _client(request: Request, form: dict[str, str]) -> tuple[str, str]:
    """The application's name and secret, of the header or of the form."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        client_id, _, client_secret = base64.b64decode(value).decode().partition(":")
        return client_id, client_secret
    return form.get("client_id", ""), form.get("client_secret", "")


def _is_good(login: dict, client_id: str, form: dict[str, str]) -> bool:
    if login["challenge"]:
        given = _base64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not hmac.compare_digest(given, login["challenge"]):
            return False
    is_same = login["client_id"] == client_id and login["redirect_uri"] == form.get("redirect_uri")
    return is_same and time.time() < login["until"]


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
