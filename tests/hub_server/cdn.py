"""The CDN: contents at signed addresses, on a port of its own; it refuses requests that bring a token."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from tests.hub_server.cas import Cas
from tests.hub_server.wire import HubError, answer_error, ranged
from tests.hub_server.world import World

if TYPE_CHECKING:
    from starlette.requests import Request


class Cdn:
    """What is served without an account."""

    def __init__(self, world: World, cas: Cas) -> None:
        self._world = world
        self._cas = cas

    def app(self) -> Starlette:
        routes = [
            Route("/files/{hash}", self._file),
            Route("/lfs/{hash}", self._lfs),
            Route("/xorbs/{hash}", self._xorb),
            Route("/upload/{hash}", self._upload, methods=["PUT"]),
        ]
        return Starlette(routes=routes, exception_handlers={HubError: answer_error})

    def _check(self, request: Request) -> str:
        """The hash in the path, for a request that may have it."""
        if "authorization" in request.headers:
            raise HubError(400, "a token was sent to another host than the Hub")
        if not self._world.is_signed(request.url.path, unquote(request.query_params.get("Signature", ""))):
            raise HubError(403, "this address is not signed, or its time is over")
        name: str = request.path_params["hash"]
        return name

    async def _file(self, request: Request) -> Response:
        xet_hash = self._check(request)
        return ranged(request, self._cas.content(xet_hash), headers={"ETag": f'"{xet_hash}"'})

    async def _lfs(self, request: Request) -> Response:
        sha256 = self._check(request)
        return ranged(request, self._world.blobs.get(f"lfs/{sha256}"), headers={"ETag": f'"{sha256}"'})

    async def _xorb(self, request: Request) -> Response:
        return ranged(request, self._world.blobs.get(f"xorb/{self._check(request)}"))

    async def _upload(self, request: Request) -> Response:
        self._cas.keep_xorb(self._check(request), await request.body())
        return Response(status_code=200)
