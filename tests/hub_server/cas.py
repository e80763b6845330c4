"""The Xet store: takes xorbs and shards, and tells how files are put together."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.access import bearer
from tests.hub_server.state import EMPTY_XET_HASH, Recipe, Term
from tests.hub_server.wire import HubError, byte_range
from tests.hub_server.world import World
from tests.hub_server.xet import CHUNK_HEADER_BYTES, ChunkSpan, chunk_spans, parse_shard, unpack

if TYPE_CHECKING:
    from starlette.requests import Request


def xet_token(world: World, scope: str) -> Response:
    """An access token for the CAS, in the body (read by hf_xet) and in headers (read by huggingface_hub).

    Args:
        world: The Hub.
        scope: read or write.
    """
    lifetime_s = world.limits.xet_token_s
    token = f"{scope}.{world.signed(f'xet {scope}', lifetime_s=lifetime_s)}"
    expiry = int(time.time() + lifetime_s)
    headers = {
        "X-Xet-Cas-Url": world.cas_url,
        "X-Xet-Access-Token": token,
        "X-Xet-Token-Expiration": str(expiry),
    }
    return JSONResponse({"casUrl": world.cas_url, "accessToken": token, "exp": expiry}, headers=headers)


class Cas:
    """The routes of the store, below `/cas`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._spans: dict[str, list[ChunkSpan]] = {}
        self._grants: dict[str, str] = {}

    def routes(self) -> list[Route]:
        prefixed = "/{prefix}/{hash}"
        return [
            Route("/v1/telemetry", self._telemetry, methods=["POST"]),
            Route(f"/cas/v1/chunks{prefixed}", self._chunk),
            Route(f"/cas/v1/xorb-grants{prefixed}", self._grant, methods=["POST"]),
            Route(f"/cas/v1/xorb-commits{prefixed}/grant/{{grant}}", self._commit_grant, methods=["POST"]),
            Route(f"/cas/v1/xorbs{prefixed}", self._put_xorb, methods=["POST"]),
            Route("/cas/v1/shards", self._put_shard, methods=["POST"]),
            Route("/cas/v1/reconstructions/{hash}", self._reconstruction_v1),
            Route("/cas/v2/reconstructions/{hash}", self._reconstruction_v2),
        ]

    def content(self, xet_hash: str) -> bytes:
        """A file's bytes.

        Raises:
            KeyError: The file is unknown.
        """
        if xet_hash == EMPTY_XET_HASH:
            return b""
        return b"".join(
            unpack(xorb, span)
            for term in self._world.saved.recipes[xet_hash].terms
            for xorb in [self._world.blobs.get(f"xorb/{term.xorb}")]
            for span in self._chunks(term.xorb)[term.start : term.end]
        )

    def size(self, xet_hash: str) -> int | None:
        """A file's size in bytes; None if it is unknown."""
        if xet_hash == EMPTY_XET_HASH:
            return 0
        recipe = self._world.saved.recipes.get(xet_hash)
        return recipe.size if recipe else None

    def _chunks(self, xorb_hash: str) -> list[ChunkSpan]:
        if xorb_hash not in self._spans:
            self._spans[xorb_hash] = chunk_spans(self._world.blobs.get(f"xorb/{xorb_hash}"))
        return self._spans[xorb_hash]

    def _check(self, request: Request, *scopes: str) -> None:
        scope, _, signature = (bearer(request.headers.get("authorization")) or "").partition(".")
        if not signature or not self._world.is_signed(f"xet {scope}", signature):
            raise HubError(401, "the CAS token is missing, wrong or expired")
        if scope not in scopes:
            raise HubError(403, "the CAS token does not allow this")

    async def _telemetry(self, request: Request) -> Response:
        await request.body()
        return JSONResponse({})

    async def _chunk(self, request: Request) -> Response:
        """Global deduplication; none is ever found, which is always allowed."""
        self._check(request, "read", "write")
        raise HubError(404, "this chunk is unknown")

    async def _grant(self, request: Request) -> Response:
        self._check(request, "write")
        await request.body()
        xorb_hash = request.path_params["hash"]
        if not self._world.limits.xorb_grants:
            raise HubError(404, "no grants here; upload the xorb itself")
        if f"xorb/{xorb_hash}" in self._world.blobs:
            return JSONResponse({"was_inserted": False})
        grant = secrets.token_hex(8)
        self._grants[grant] = xorb_hash
        url = self._world.cdn_url(f"/upload/{xorb_hash}")
        return JSONResponse({"id": grant, "method": "PUT", "url": url, "headers": {}}, 201)

    async def _commit_grant(self, request: Request) -> Response:
        self._check(request, "write")
        xorb_hash = self._grants.pop(request.path_params["grant"], None)
        if xorb_hash != request.path_params["hash"] or f"xorb/{xorb_hash}" not in self._world.blobs:
            raise HubError(400, "nothing was uploaded for this grant")
        return JSONResponse({"was_inserted": True})

    async def _put_xorb(self, request: Request) -> Response:
        self._check(request, "write")
        return JSONResponse({"was_inserted": self.keep_xorb(request.path_params["hash"], await request.body())})

    def keep_xorb(self, xorb_hash: str, data: bytes) -> bool:
        """Keeps a xorb; False if it was known."""
        try:
            spans = chunk_spans(data)
        except ValueError as error:
            raise HubError(400, f"this is no xorb: {error}") from error
        self._spans[xorb_hash] = spans
        return self._world.blobs.put(f"xorb/{xorb_hash}", data)

    async def _put_shard(self, request: Request) -> Response:
        self._check(request, "write")
        try:
            files = parse_shard(await request.body())
        except ValueError as error:
            raise HubError(400, f"this is no shard: {error}") from error
        for xet_hash, recipe, _ in files:
            self._check_recipe(xet_hash, recipe)
        for xet_hash, recipe, sha256 in files:
            self._world.saved.recipes[xet_hash] = recipe
            if sha256 is not None:
                self._world.saved.xet_of_sha256[sha256] = xet_hash
        return JSONResponse({"result": 1})

    def _check_recipe(self, xet_hash: str, recipe: Recipe) -> None:
        for term in recipe.terms:
            if f"xorb/{term.xorb}" not in self._world.blobs:
                raise HubError(400, f"the file {xet_hash} needs the unknown xorb {term.xorb}")
            spans = self._chunks(term.xorb)[term.start : term.end]
            if sum(span.num_raw_bytes for span in spans) != term.num_bytes:
                raise HubError(400, f"the file {xet_hash} says wrong sizes of the xorb {term.xorb}")

    def _terms(self, request: Request) -> tuple[int, list[Term]]:
        """What covers the range asked for: how many bytes to leave out of the first term, and the terms."""
        self._check(request, "read", "write")
        recipe = self._world.saved.recipes.get(request.path_params["hash"])
        if recipe is None:
            raise HubError(404, "this file is unknown")
        span = byte_range(request.headers.get("range"), recipe.size)
        first, last = span if span is not None else (0, recipe.size - 1)
        if first > last:
            raise HubError(416, "the range is past the file's end")
        terms: list[Term] = []
        skipped = at = 0
        for term in recipe.terms:
            start, at = at, at + term.num_bytes
            if at <= first or start > last:
                continue
            if not terms:
                skipped = first - start
            terms.append(term)
        return skipped, terms

    def _fetches(self, terms: list[Term]) -> dict[str, list[tuple[str, dict, dict]]]:
        """Where to get the terms' data: for each xorb the address, the chunks, the bytes with an inclusive end.

        Ranges of one xorb never overlap: the client looks a term up in the first that holds its start.
        """
        merged: dict[str, list[list[int]]] = {}
        for term in sorted(terms, key=lambda term: (term.xorb, term.start)):
            ranges = merged.setdefault(term.xorb, [])
            if ranges and term.start <= ranges[-1][1]:
                ranges[-1][1] = max(ranges[-1][1], term.end)
            else:
                ranges.append([term.start, term.end])
        fetches: dict[str, list[tuple[str, dict, dict]]] = {}
        for xorb, ranges in merged.items():
            spans = self._chunks(xorb)
            url = self._world.cdn_url(f"/xorbs/{xorb}")
            for start, end in ranges:
                # What is fetched begins with the first chunk's header.
                num_bytes = {"start": spans[start].start - CHUNK_HEADER_BYTES, "end": spans[end - 1].end - 1}
                fetches.setdefault(xorb, []).append((url, {"start": start, "end": end}, num_bytes))
        return fetches

    async def _reconstruction_v2(self, request: Request) -> Response:
        skipped, terms = self._terms(request)
        xorbs = {
            xorb: [{"url": url, "ranges": [{"chunks": chunks, "bytes": span}]} for url, chunks, span in fetches]
            for xorb, fetches in self._fetches(terms).items()
        }
        return JSONResponse({"offset_into_first_range": skipped, "terms": _told(terms), "xorbs": xorbs})

    async def _reconstruction_v1(self, request: Request) -> Response:
        skipped, terms = self._terms(request)
        fetch_info = {
            xorb: [{"range": chunks, "url": url, "url_range": span} for url, chunks, span in fetches]
            for xorb, fetches in self._fetches(terms).items()
        }
        return JSONResponse({"offset_into_first_range": skipped, "terms": _told(terms), "fetch_info": fetch_info})


def _told(terms: list[Term]) -> list[dict]:
    return [
        {"hash": term.xorb, "range": {"start": term.start, "end": term.end}, "unpacked_length": term.num_bytes}
        for term in terms
    ]
