"""Large files over plain HTTP, for clients without Xet."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.repos import Repos
from tests.hub_server.wire import HubError

if TYPE_CHECKING:
    from starlette.requests import Request


class Lfs:
    """The batch call, the upload and its check."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos
        self._world = repos.world

    def routes(self) -> list[Route]:
        batch = "/{namespace}/{name}.git/info/lfs/objects/batch"
        return [
            Route("/{plural:repos}" + batch, self._batch, methods=["POST"]),
            Route(batch, self._batch, methods=["POST"]),
            Route("/lfs/{sha256}", self._upload, methods=["PUT"]),
            Route("/lfs/{sha256}/verify", self._verify, methods=["POST"]),
        ]

    async def _batch(self, request: Request) -> Response:
        self._repos.writable(request)
        objects = []
        for asked in (await request.json())["objects"]:
            sha256, size = asked["oid"], asked["size"]
            told = {"oid": sha256, "size": size}
            if not self._is_known(sha256):
                path = f"/lfs/{sha256}"
                href = f"{self._world.at.endpoint}{path}"
                signed = f"{href}?Signature={self._world.signed(path)}"
                told["actions"] = {"upload": {"href": signed}, "verify": {"href": f"{href}/verify"}}
            objects.append(told)
        return JSONResponse({"transfer": "basic", "objects": objects}, media_type="application/vnd.git-lfs+json")

    def _is_known(self, sha256: str) -> bool:
        return sha256 in self._world.saved.xet_of_sha256 or f"lfs/{sha256}" in self._world.blobs

    async def _upload(self, request: Request) -> Response:
        if not self._world.is_signed(request.url.path, request.query_params.get("Signature", "")):
            raise HubError(403, "this address is not signed, or its time is over")
        data = await request.body()
        sha256 = request.path_params["sha256"]
        if hashlib.sha256(data).hexdigest() != sha256:
            raise HubError(400, "the content has another SHA-256")
        self._world.blobs.put(f"lfs/{sha256}", data)
        return Response(status_code=200)

    async def _verify(self, request: Request) -> Response:
        asked = await request.json()
        if not self._is_known(asked["oid"]):
            raise HubError(404, "Object does not exist")
        return JSONResponse({})
