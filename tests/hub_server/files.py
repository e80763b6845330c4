"""What a git repository shows: trees, paths, commits, references, and the files themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.hub_server.cas import xet_token
from tests.hub_server.git import Files, add_commit, history, last_commits, resolve_revision, split_revision
from tests.hub_server.repos import Repos
from tests.hub_server.state import Commit, Repo
from tests.hub_server.wire import HubError, is_true, iso, page, ranged

if TYPE_CHECKING:
    from starlette.requests import Request

_EXPANDED_PAGE_SIZE = 50


class RepoFiles:
    """The routes that read one repository, and those that change its references."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos
        self._world = repos.world

    def routes(self) -> list[Route]:
        one = "/api/{plural:repos}/{namespace}/{name}"
        return [
            Route(f"{one}/tree/{{rest:path}}", self._tree),
            Route(f"{one}/paths-info/{{revision:path}}", self._paths_info, methods=["POST"]),
            Route(f"{one}/commits/{{revision:path}}", self._commits),
            Route(f"{one}/refs", self._refs),
            Route(f"{one}/super-squash/{{branch:path}}", self._squash, methods=["POST"]),
            Route(f"{one}/branch/{{branch:path}}", self._create_branch, methods=["POST"]),
            Route(f"{one}/branch/{{branch:path}}", self._delete_branch, methods=["DELETE"]),
            Route(f"{one}/tag/{{revision:path}}", self._create_tag, methods=["POST"]),
            Route(f"{one}/xet-read-token/{{revision:path}}", self._read_token),
            Route(f"{one}/xet-write-token/{{revision:path}}", self._write_token),
            Route("/{plural:repos}/{namespace}/{name}/resolve/{rest:path}", self._resolve),
            Route("/{namespace}/{name}/resolve/{rest:path}", self._resolve),
        ]

    async def _tree(self, request: Request) -> Response:
        repo = self._repos.readable(request)
        revision, folder = split_revision(repo, request.path_params["rest"])
        sha = self._repos.sha(request, repo, revision)
        files = self._repos.trees.files(repo, sha)
        prefix = f"{folder}/" if folder else ""
        below = sorted(path for path in files if path.startswith(prefix))
        if folder and not below:
            raise HubError(404, f"{folder} does not exist on {revision!r}", code="EntryNotFound")
        is_recursive = is_true(request.query_params.get("recursive"))
        paths: dict[str, None] = {}
        for path in below:
            parts = path[len(prefix) :].split("/")
            for depth in range(1, len(parts) + 1 if is_recursive else 2):
                paths[prefix + "/".join(parts[:depth])] = None
        is_expanded = is_true(request.query_params.get("expand"))
        told = self._told(repo, sha, files, paths, is_expanded=is_expanded)
        size = _EXPANDED_PAGE_SIZE if is_expanded else 1000
        return page(request, self._world.at.endpoint, told, size=size)

    async def _paths_info(self, request: Request) -> Response:
        repo = self._repos.readable(request)
        sha = self._repos.sha(request, repo, request.path_params["revision"])
        body = await request.body()
        if "json" in request.headers.get("content-type", ""):
            asked = await request.json()
            paths, expand = asked["paths"], str(asked.get("expand"))
        else:
            form = parse_qs(body.decode())
            paths, expand = form.get("paths", []), form.get("expand", [""])[0]
        files = self._repos.trees.files(repo, sha)
        known = [path for path in paths if path in files or any(file.startswith(f"{path}/") for file in files)]
        return JSONResponse(self._told(repo, sha, files, known, is_expanded=is_true(expand)))

    def _told(self, repo: Repo, sha: str, files: Files, paths: Iterable[str], *, is_expanded: bool) -> list[dict]:
        changed = last_commits(repo, sha) if is_expanded else {}
        found = []
        for path in paths:
            blob = files.get(path)
            if blob is None:
                told = {"type": "directory", "oid": repo.commits[sha].sha, "size": 0, "path": path}
            else:
                told = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
                if blob.sha256 is not None:
                    told["lfs"] = {"oid": blob.sha256, "size": blob.size, "pointerSize": 134}
                    if blob.sha256 in self._world.saved.xet_of_sha256:
                        told["xetHash"] = self._world.saved.xet_of_sha256[blob.sha256]
            if path in changed:
                told["lastCommit"] = _commit_ref(changed[path])
            found.append(told)
        return found

    async def _commits(self, request: Request) -> Response:
        repo = self._repos.readable(request)
        sha = self._repos.sha(request, repo, request.path_params["revision"])
        told = [
            {
                "id": commit.sha,
                "title": commit.title,
                "message": commit.message,
                "authors": [{"user": commit.author}],
                "date": iso(commit.time_ms),
            }
            for commit in history(repo, sha)
        ]
        return page(request, self._world.at.endpoint, told)

    async def _refs(self, request: Request) -> Response:
        repo = self._repos.readable(request)
        told = {
            "branches": [_ref(name, "heads", sha) for name, sha in repo.branches.items()],
            "tags": [_ref(name, "tags", sha) for name, sha in repo.tags.items()],
            "converts": [],
            "pullRequests": [],
        }
        return JSONResponse(told)

    async def _squash(self, request: Request) -> Response:
        repo = self._repos.writable(request)
        branch = request.path_params["branch"]
        files = self._repos.trees.files(repo, resolve_revision(repo, branch))
        add_commit(
            repo,
            branch,
            parent=None,
            changes=dict(files),
            author=self._world.account(request).name,
            title=(await request.json()).get("message", "Super-squash"),
            message="",
            time_ms=self._world.state.now_ms(),
        )
        return JSONResponse({})

    async def _create_branch(self, request: Request) -> Response:
        repo = self._repos.writable(request)
        branch = request.path_params["branch"]
        if branch in repo.branches:
            raise HubError(409, f"Reference already exists: refs/heads/{branch}")
        asked = await request.json()
        repo.branches[branch] = resolve_revision(repo, asked.get("startingPoint", "main"))
        return JSONResponse({})

    async def _delete_branch(self, request: Request) -> Response:
        repo = self._repos.writable(request)
        branch = request.path_params["branch"]
        resolve_revision(repo, branch)
        if branch == "main":
            raise HubError(403, "Cannot delete the branch main")
        del repo.branches[branch]
        return JSONResponse({})

    async def _create_tag(self, request: Request) -> Response:
        repo = self._repos.writable(request)
        tag = (await request.json())["tag"]
        if tag in repo.tags:
            raise HubError(409, f"Tag reference exists already: refs/tags/{tag}")
        repo.tags[tag] = resolve_revision(repo, request.path_params["revision"])
        return JSONResponse({})

    async def _read_token(self, request: Request) -> Response:
        self._repos.readable(request)
        return xet_token(self._world, "read")

    async def _write_token(self, request: Request) -> Response:
        self._repos.writable(request)
        return xet_token(self._world, "write")

    async def _resolve(self, request: Request) -> Response:
        repo = self._repos.readable(request)
        revision, path = split_revision(repo, request.path_params["rest"])
        sha = self._repos.sha(request, repo, revision)
        headers = {"X-Repo-Commit": sha}
        blob = self._repos.trees.files(repo, sha).get(path)
        if blob is None:
            raise HubError(404, "Entry not found", code="EntryNotFound", headers=headers)
        if blob.sha256 is None:
            return ranged(request, self._repos.content(blob), headers={**headers, "ETag": f'"{blob.oid}"'})
        headers |= {"X-Linked-Size": str(blob.size), "X-Linked-Etag": f'"{blob.sha256}"', "ETag": f'"{blob.oid}"'}
        xet_hash = self._world.saved.xet_of_sha256.get(blob.sha256)
        if xet_hash is None:
            return RedirectResponse(self._world.cdn_url(f"/lfs/{blob.sha256}"), 302, headers=headers)
        auth = f"{self._world.at.endpoint}/api/{repo.type}s/{repo.id}/xet-read-token/{sha}"
        headers |= {"X-Xet-Hash": xet_hash, "Link": f'<{auth}>; rel="xet-auth"'}
        return RedirectResponse(self._world.cdn_url(f"/files/{xet_hash}"), 302, headers=headers)


def _commit_ref(commit: Commit) -> dict:
    return {"id": commit.sha, "title": commit.title, "date": iso(commit.time_ms)}


def _ref(name: str, kind: str, sha: str) -> dict:
    return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": sha}
