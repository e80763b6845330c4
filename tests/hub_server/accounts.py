"""Who am I, and what the Hub says of accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.access import Account
from tests.hub_server.state import Org, Token
from tests.hub_server.wire import HubError
from tests.hub_server.world import World

if TYPE_CHECKING:
    from starlette.requests import Request


class Accounts:
    """`whoami` and the check of a card."""

    def __init__(self, world: World) -> None:
        self._world = world

    def routes(self) -> list[Route]:
        return [
            Route("/api/whoami-v2", self._whoami),
            Route("/api/validate-yaml", self._validate_yaml, methods=["POST"]),
        ]

    async def _whoami(self, request: Request) -> Response:
        account = self._world.account(request)
        if account.token is None:
            raise HubError(401, "Invalid username or password.")
        orgs = [_org(self._world.saved.orgs[name], role) for name, role in account.orgs.items()]
        user = self._world.saved.users[account.name]
        return JSONResponse(
            {
                "type": "user",
                "id": f"{account.name}-id",
                "name": account.name,
                "fullname": account.name.title(),
                "email": f"{account.name}@example.org",
                "emailVerified": True,
                "canPay": user.is_pro,
                "isPro": user.is_pro,
                "avatarUrl": f"{self._world.at.endpoint}/avatars/{account.name}.svg",
                "orgs": orgs,
                "auth": _auth(account, account.token),
            }
        )

    async def _validate_yaml(self, request: Request) -> Response:
        self._world.account(request)
        await request.body()
        return JSONResponse({"errors": [], "warnings": []})


def _org(org: Org, role: str) -> dict:
    return {
        "type": "org",
        "id": f"{org.name}-id",
        "name": org.name,
        "fullname": org.name.title(),
        "email": None,
        "canPay": org.plan is not None,
        "isEnterprise": org.plan == "enterprise",
        "plan": org.plan,
        "avatarUrl": "",
        "roleInOrg": role,
    }


def _auth(account: Account, token: Token) -> dict:
    if token.role == "oauth":
        return {"type": "oauth", "expiresAt": None, "scopes": token.scopes}
    told: dict = {"displayName": f"{account.name} {token.role}", "role": token.role}
    if token.role == "fineGrained":
        scoped = [
            {"entity": {"type": "dataset" if "/" in name else "user", "name": name}, "permissions": allowed}
            for name, allowed in token.permissions.items()
        ]
        told["fineGrained"] = {"canReadGatedRepos": False, "global": [], "scoped": scoped}
    return {"type": "access_token", "accessToken": told}
