"""Buckets: create, look, list, change by batches, read, and follow."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.hub_server.access import can_read, check_creatable, check_readable, check_writable
from tests.hub_server.cas import Cas, xet_token
from tests.hub_server.faults import rules_for
from tests.hub_server.feed import Change, Feed, Stream, change_of
from tests.hub_server.state import Bucket, BucketEntry
from tests.hub_server.wire import HubError, is_true, iso, page, parse_iso_ms
from tests.hub_server.world import World

if TYPE_CHECKING:
    from starlette.requests import Request

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


class Buckets:
    """The routes below `/api/buckets` and `/buckets`."""

    def __init__(self, world: World, cas: Cas) -> None:
        self._world = world
        self._cas = cas

    def routes(self) -> list[Route]:
        one = "/api/buckets/{namespace}/{name}"
        return [
            Route("/api/buckets/{namespace}", self._list),
            Route(one, self._create, methods=["POST"]),
            Route(one, self._info, methods=["GET"]),
            Route(one, self._delete, methods=["DELETE"]),
            Route(f"{one}/settings", self._settings, methods=["PUT"]),
            Route(f"{one}/tree", self._tree),
            Route(f"{one}/tree/{{prefix:path}}", self._tree),
            Route(f"{one}/paths-info", self._paths_info, methods=["POST"]),
            Route(f"{one}/xet-read-token", self._read_token),
            Route(f"{one}/xet-write-token", self._write_token),
            Route(f"{one}/batch", self._batch, methods=["POST"]),
            Route(f"{one}/events", self._events),
            Route("/buckets/{namespace}/{name}/resolve/{path:path}", self._resolve),
        ]

    def feed(self, bucket: Bucket) -> Feed:
        """The bucket's feed, made when it is first needed."""
        if bucket.id not in self._world.feeds:
            self._world.feeds[bucket.id] = Feed(bucket)
        return self._world.feeds[bucket.id]

    def _readable(self, request: Request) -> Bucket:
        return check_readable(self._world.account(request), self._world.bucket(_id(request)))

    def _writable(self, request: Request) -> Bucket:
        return check_writable(self._world.account(request), self._world.bucket(_id(request)))

    async def _create(self, request: Request) -> Response:
        account = self._world.account(request)
        asked = json.loads(await request.body() or b"{}")
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        bucket_id = f"{account.name if namespace == 'me' else namespace}/{name}"
        check_creatable(account, bucket_id, "bucket")
        if not _NAME.fullmatch(name):
            raise HubError(400, f"{name!r} is no name for a bucket")
        url = f"{self._world.at.endpoint}/buckets/{bucket_id}"
        if self._world.bucket(bucket_id) is not None:
            raise HubError(409, "You already created this bucket", body={"url": url})
        org = self._world.saved.orgs.get(bucket_id.split("/", maxsplit=1)[0])
        visibility = asked.get("visibility") or ("private" if org and org.private_by_default else "public")
        now_ms = self._world.state.now_ms()
        self._world.saved.buckets[bucket_id] = Bucket(
            id=bucket_id,
            private=visibility == "private",
            created_ms=now_ms,
            updated_ms=now_ms,
            creator=account.name,
        )
        self._world.saved.moved.pop(f"bucket/{bucket_id}", None)
        return JSONResponse({"url": url, "name": bucket_id})

    async def _list(self, request: Request) -> Response:
        account = self._world.account(request)
        namespace = request.path_params["namespace"]
        if namespace == "me":
            namespace = account.name
        search = request.query_params.get("search", "")
        found = []
        for bucket in self._world.saved.buckets.values():
            owner, name = bucket.id.split("/")
            if owner == namespace and search in name and can_read(account, bucket):
                found.append(_told(bucket, bucket.files, bucket.updated_ms))
        return page(request, self._world.at.endpoint, found)

    async def _info(self, request: Request) -> Response:
        bucket = self._readable(request)
        return JSONResponse(_told(bucket, *self._view(request, bucket)))

    async def _delete(self, request: Request) -> Response:
        bucket = self._writable(request)
        del self._world.saved.buckets[bucket.id]
        feed = self._world.feeds.pop(bucket.id, None)
        if feed is not None:
            feed.close()
        return JSONResponse({})

    async def _settings(self, request: Request) -> Response:
        bucket = self._writable(request)
        bucket.private = bool((await request.json()).get("private", bucket.private))
        bucket.updated_ms = self._world.state.now_ms()
        return JSONResponse({"private": bucket.private})

    def _view(self, request: Request, bucket: Bucket) -> tuple[dict[str, BucketEntry], int]:
        """Files and `updatedAt`, of a while ago where a fault says so."""
        for rule in rules_for(request.scope, "lag"):
            return self.feed(bucket).view(seconds=rule.seconds, operations=rule.operations)
        return bucket.files, bucket.updated_ms

    async def _tree(self, request: Request) -> Response:
        bucket = self._readable(request)
        files, _ = self._view(request, bucket)
        prefix = request.path_params.get("prefix", "")
        items: dict[str, dict] = {}
        # Lexically, as the Hub does it: the prefix "logs" matches "logs/a" and "logs2/b" too.
        for path in sorted(path for path in files if path.startswith(prefix)):
            folder = None if is_true(request.query_params.get("recursive")) else _folder_below(path, prefix)
            if folder is None:
                items[path] = _entry(path, files[path])
            else:
                newest = max(items.get(folder, {}).get("uploadedAt", ""), iso(files[path].uploaded_ms))
                items[folder] = {"type": "directory", "path": folder, "uploadedAt": newest}
        return page(request, self._world.at.endpoint, list(items.values()))

    async def _paths_info(self, request: Request) -> Response:
        bucket = self._readable(request)
        files, _ = self._view(request, bucket)
        asked = (await request.json())["paths"]
        return JSONResponse([_entry(path, files[path]) for path in asked if path in files])

    async def _read_token(self, request: Request) -> Response:
        self._readable(request)
        return xet_token(self._world, "read")

    async def _write_token(self, request: Request) -> Response:
        self._writable(request)
        return xet_token(self._world, "write")

    async def _batch(self, request: Request) -> Response:
        bucket = self._writable(request)
        lines = (await request.body()).splitlines()
        operations = [json.loads(line) for line in lines if line.strip()]
        now_ms = self._world.state.now_ms()
        before: dict[str, BucketEntry | None] = {}
        failed = []
        for operation in operations:
            path = str(operation.get("path", ""))
            error = self._refusal(request, operation, path)
            if error is not None:
                failed.append({"path": path, "error": error})
                continue
            before.setdefault(path, bucket.files.get(path))
            if operation["type"] == "deleteFile":
                bucket.files.pop(path, None)
            else:
                size = self._cas.size(operation["xetHash"])
                assert size is not None
                bucket.files[path] = BucketEntry(
                    xet_hash=operation["xetHash"], size=size, uploaded_ms=now_ms, mtime_ms=operation.get("mtime")
                )
        self._publish(bucket, before, now_ms)
        answer = {
            "success": not failed,
            "processed": len(operations),
            "succeeded": len(operations) - len(failed),
            "failed": failed,
        }
        return JSONResponse(answer, 422 if failed and len(failed) == len(operations) else 200)

    def _refusal(self, request: Request, operation: dict, path: str) -> str | None:
        """Why an operation of a batch fails; None if it does not."""
        for rule in rules_for(request.scope, "partial"):
            if re.search(rule.paths, path):
                return rule.error
        if not _is_key(path):
            return "Invalid path"
        kind = operation.get("type")
        if kind == "deleteFile":
            return None
        if kind not in ("addFile", "copyFile"):
            return f"Unknown operation {kind!r}"
        if kind == "copyFile" and not self._may_copy(request, operation):
            return "Source repository not found"
        return None if self._cas.size(str(operation.get("xetHash"))) is not None else "Xet file not found"

    def _may_copy(self, request: Request, operation: dict) -> bool:
        kind, source_id = operation.get("sourceRepoType"), str(operation.get("sourceRepoId"))
        world = self._world
        source = world.bucket(source_id) if kind == "bucket" else world.repo(str(kind), source_id)
        return source is not None and can_read(world.account(request), source)

    def _publish(self, bucket: Bucket, before: dict[str, BucketEntry | None], now_ms: int) -> None:
        """Makes a batch's changes known."""
        changed = {path: old for path, old in before.items() if old is not None or path in bucket.files}
        if not changed:
            return
        feed = self.feed(bucket)
        bucket.seq += 1
        before_ms, bucket.updated_ms = bucket.updated_ms, now_ms
        told = [change_of(path, old, bucket.files.get(path)) for path, old in changed.items()]
        feed.add(Change(seq=bucket.seq, time_ms=now_ms, before_ms=before_ms, changes=told, before=changed))

    async def _resolve(self, request: Request) -> Response:
        bucket = self._readable(request)
        entry = bucket.files.get(request.path_params["path"])
        if entry is None:
            raise HubError(404, "Entry not found", code="EntryNotFound")
        headers = {
            "X-Xet-Hash": entry.xet_hash,
            "X-Linked-Size": str(entry.size),
            "X-Linked-Etag": f'"{entry.xet_hash}"',
            "Link": f'<{self._world.at.endpoint}/api/buckets/{bucket.id}/xet-read-token>; rel="xet-auth"',
        }
        return RedirectResponse(self._world.cdn_url(f"/files/{entry.xet_hash}"), 302, headers=headers)

    async def _events(self, request: Request) -> Response:
        bucket = self._readable(request)
        feed = self.feed(bucket)
        feed.forget(self._world.limits.replay_window_s)
        cursor, since_ms = _resume_point(request, bucket)
        stream = Stream(is_silent=bool(rules_for(request.scope, "silence")))
        if rules_for(request.scope, "reset"):
            stream.send("reset", {"reason": "injected"})
            stream.end()
        elif rules_for(request.scope, "reconnect"):
            stream.send("reconnect", {})
            stream.end()
        elif not stream.is_silent and not feed.replay(stream, cursor=cursor, since_ms=since_ms):
            stream.send("reset", {"reason": "the resume point is older than what can be replayed"})
            stream.end()
        else:
            stream.send("ready", {"cursor": str(bucket.seq)} if bucket.seq else {})
            feed.streams.add(stream)

        async def parts():
            try:
                async for part in stream.parts():
                    yield part
            finally:
                feed.streams.discard(stream)

        return StreamingResponse(parts(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def _id(request: Request) -> str:
    return f"{request.path_params['namespace']}/{request.path_params['name']}"


def _is_key(path: str) -> bool:
    parts = path.split("/")
    return not any(part in ("", ".", "..") for part in parts) and "\\" not in path and "\0" not in path


def _folder_below(path: str, prefix: str) -> str | None:
    """The folder that a listing shows in place of a file that lies deeper than the prefix; None for the file itself.

    The prefix `logs` lists what is in `logs/`, and shows the folder `logs2` beside it.
    """
    place = path.find("/", len(prefix) + bool(prefix and not prefix.endswith("/")))
    return None if place < 0 else path[:place]


def _entry(path: str, entry: BucketEntry) -> dict:
    told = {
        "type": "file",
        "path": path,
        "size": entry.size,
        "xetHash": entry.xet_hash,
        "uploadedAt": iso(entry.uploaded_ms),
    }
    return told if entry.mtime_ms is None else {**told, "mtime": iso(entry.mtime_ms)}


def _told(bucket: Bucket, files: dict[str, BucketEntry], updated_ms: int) -> dict:
    return {
        "id": bucket.id,
        "private": bucket.private,
        "createdAt": iso(bucket.created_ms),
        "updatedAt": iso(updated_ms),
        "size": sum(entry.size for entry in files.values()),
        "totalFiles": len(files),
    }


def _resume_point(request: Request, bucket: Bucket) -> tuple[int | None, int | None]:
    """The cursor and the time to replay from; both None for what comes next only."""
    cursor, since = request.query_params.get("cursor"), request.query_params.get("since")
    try:
        if cursor is not None:
            seq = int(cursor)
            if 0 <= seq <= bucket.seq:
                return seq, None
        elif since is not None:
            return None, parse_iso_ms(since)
        else:
            return None, None
    except ValueError:
        pass
    raise HubError(400, "this is no point to resume from")
