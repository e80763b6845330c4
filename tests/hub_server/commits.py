"""Commits: which files go how, and putting them on a branch."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.git import Files, add_commit, blob_oid, pointer_of, resolve_revision
from tests.hub_server.repos import Repos
from tests.hub_server.state import Blob, Repo
from tests.hub_server.wire import HubError

if TYPE_CHECKING:
    from starlette.requests import Request

_REGULAR_MAX_BYTES = 10 * 1000 * 1000
_LARGE = re.compile(r"\.(arrow|bin|gz|jpe?g|mp4|npy|npz|parquet|png|pt|pth|safetensors|wav|webp|zip|zst)$")
_SECRET = re.compile(rb"hf_[A-Za-z0-9]{34}")


class Commits:
    """The routes that add to a repository."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos
        self._world = repos.world

    def routes(self) -> list[Route]:
        one = "/api/{plural:repos}/{namespace}/{name}"
        return [
            Route(f"{one}/preupload/{{revision:path}}", self._preupload, methods=["POST"]),
            Route(f"{one}/commit/{{revision:path}}", self._commit, methods=["POST"]),
            Route(f"{one}/lfs-files/duplicate", self._duplicate_lfs, methods=["POST"]),
        ]

    async def _preupload(self, request: Request) -> Response:
        repo = self._repos.writable(request)
        sha = resolve_revision(repo, request.path_params["revision"])
        files = self._repos.trees.files(repo, sha)
        told = []
        for asked in (await request.json())["files"]:
            path = asked["path"]
            mode = "lfs" if _is_large(path, asked["size"], base64.b64decode(asked["sample"])) else "regular"
            entry = {"path": path, "uploadMode": mode, "shouldIgnore": False}
            if path in files:
                entry["oid"] = files[path].sha256 or files[path].oid
            told.append(entry)
        return JSONResponse({"files": told})

    async def _commit(self, request: Request) -> Response:
        repo = self._repos.writable(request)
        branch = request.path_params["revision"].removeprefix("refs/heads/")
        if request.query_params.get("create_pr"):
            raise HubError(400, "this Hub has no pull requests")
        lines = [json.loads(line) for line in (await request.body()).splitlines() if line.strip()]
        header = next((line["value"] for line in lines if line["key"] == "header"), None)
        if header is None or not header.get("summary"):
            raise HubError(400, "a commit needs a summary")
        head = resolve_revision(repo, branch)
        if branch not in repo.branches:
            raise HubError(400, f"{branch} is no branch")
        if header.get("parentCommit") and not head.startswith(header["parentCommit"]):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        self._check_limit(repo)
        changes = self._changes(self._repos.trees.files(repo, head), lines)
        commit = add_commit(
            repo,
            branch,
            parent=head,
            changes=changes,
            author=self._world.account(request).name,
            title=header["summary"],
            message=header.get("description", ""),
            time_ms=self._world.state.now_ms(),
        )
        self._world.meter.count_commit(f"{repo.type}/{repo.id}")
        if repo.space is not None:
            repo.space.rebuild()
        prefix = "" if repo.type == "model" else f"{repo.type}s/"
        url = f"{self._world.at.endpoint}/{prefix}{repo.id}/commit/{commit.sha}"
        return JSONResponse({"success": True, "commitOid": commit.sha, "commitUrl": url, "hookOutput": ""})

    def _check_limit(self, repo: Repo) -> None:
        if self._world.meter.commit_wait_s(f"{repo.type}/{repo.id}") > 0:
            allowed = self._world.limits.commits_per_hour
            raise HubError(
                429,
                f"You have exceeded the rate limit for repository commits ({allowed} per hour). "
                "You can retry this action in about 1 hour.",
            )

    def _changes(self, files: Files, lines: list[dict]) -> dict[str, Blob | None]:
        changes: dict[str, Blob | None] = {}
        for line in lines:
            key, value = line["key"], line["value"]
            if key == "file":
                changes[value["path"]] = self._regular(value)
            elif key == "lfsFile":
                changes[value["path"]] = self._large(value)
            elif key == "deletedFile":
                if value["path"] not in files:
                    raise HubError(400, f"{value['path']} does not exist", code="EntryNotFound")
                changes[value["path"]] = None
            elif key == "deletedFolder":
                prefix = value["path"].rstrip("/") + "/"
                changes |= {path: None for path in files if path.startswith(prefix)}
        return changes

    def _regular(self, value: dict) -> Blob:
        data = base64.b64decode(value["content"]) if value.get("encoding") == "base64" else value["content"].encode()
        if self._world.limits.scan_secrets and _SECRET.search(data):
            raise HubError(400, f"The commit was refused: {value['path']} contains a Hugging Face token")
        if len(data) > _REGULAR_MAX_BYTES:
            raise HubError(413, f"{value['path']} is too large for a regular file")
        return self._repos.keep(data)

    def _large(self, value: dict) -> Blob:
        sha256, size = value["oid"], value["size"]
        xet_hash = self._world.saved.xet_of_sha256.get(sha256)
        if xet_hash is None and f"lfs/{sha256}" not in self._world.blobs:
            raise HubError(400, f"{value['path']} was not uploaded: nothing has the SHA-256 {sha256}")
        return Blob(oid=blob_oid(pointer_of(sha256, size)), size=size, sha256=sha256)

    async def _duplicate_lfs(self, request: Request) -> Response:
        """Copies large files to another repository: here, contents are the same for all repositories."""
        self._repos.readable(request)
        await request.body()
        return JSONResponse({"failed": []})


def _is_large(path: str, size: int, sample: bytes) -> bool:
    return size > 0 and (size > _REGULAR_MAX_BYTES or _LARGE.search(path) is not None or b"\0" in sample)
