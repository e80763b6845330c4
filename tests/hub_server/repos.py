"""Models, datasets and Spaces as things: create, delete, move, settings, duplicate and what is said of them."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hub_server.access import Account, can_read, check_creatable, check_readable, check_writable
from tests.hub_server.cas import Cas
from tests.hub_server.faults import rules_for
from tests.hub_server.git import Trees, add_commit, blob_oid, history, resolve_revision
from tests.hub_server.spaces import check_plan, runtime, space_settings
from tests.hub_server.state import Blob, Repo
from tests.hub_server.wire import HubError, is_true, iso, page
from tests.hub_server.world import World

if TYPE_CHECKING:
    from starlette.requests import Request

PLURALS = {"models": "model", "datasets": "dataset", "spaces": "space"}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")
_ATTRIBUTES = "".join(
    f"*.{ending} filter=lfs diff=lfs merge=lfs -text\n" for ending in ("bin", "npy", "parquet", "png", "mp4", "zip")
)


class Repos:
    """The routes about whole repositories, and what other parts need of them."""

    def __init__(self, world: World, cas: Cas) -> None:
        self.world = world
        self.trees = Trees()
        self._cas = cas

    def routes(self) -> list[Route]:
        one = "/api/{plural:repos}/{namespace}/{name}"
        return [
            Route("/api/repos/create", self._create, methods=["POST"]),
            Route("/api/repos/delete", self._delete, methods=["DELETE"]),
            Route("/api/repos/move", self._move, methods=["POST"]),
            Route("/api/{plural:repos}", self._list),
            Route(one, self._info),
            Route(f"{one}/revision/{{revision:path}}", self._info),
            Route(f"{one}/auth-check", self._auth_check),
            Route(f"{one}/settings", self._settings, methods=["PUT"]),
            Route(f"{one}/duplicate", self._duplicate, methods=["POST"]),
        ]

    # -- for other parts ---------------------------------------------------------------------------------------------

    def readable(self, request: Request) -> Repo:
        return check_readable(self.world.account(request), self._named(request))

    def writable(self, request: Request) -> Repo:
        return check_writable(self.world.account(request), self._named(request))

    def _named(self, request: Request) -> Repo | None:
        params = request.path_params
        repo_type = PLURALS[params.get("plural", "models")]
        return self.world.repo(repo_type, f"{params['namespace']}/{params['name']}")

    def sha(self, request: Request, repo: Repo, revision: str) -> str:
        """The commit that a revision shows; of a while ago where a fault says so."""
        sha = resolve_revision(repo, revision)
        rules = rules_for(request.scope, "lag") if revision in repo.branches else []
        if not rules:
            return sha
        border = time.time() * 1000 - rules[0].seconds * 1000
        commits = list(history(repo, sha))
        num_hidden = rules[0].operations
        if rules[0].seconds:
            num_hidden = max(num_hidden, sum(commit.time_ms > border for commit in commits))
        return commits[min(num_hidden, len(commits) - 1)].sha

    def content(self, blob: Blob) -> bytes:
        """A file's bytes."""
        if blob.sha256 is None:
            return self.world.blobs.get(f"git/{blob.oid}")
        xet_hash = self.world.saved.xet_of_sha256.get(blob.sha256)
        return self._cas.content(xet_hash) if xet_hash else self.world.blobs.get(f"lfs/{blob.sha256}")

    def keep(self, data: bytes) -> Blob:
        """Keeps a small file."""
        oid = blob_oid(data)
        self.world.blobs.put(f"git/{oid}", data)
        return Blob(oid=oid, size=len(data))

    # -- routes ------------------------------------------------------------------------------------------------------

    async def _create(self, request: Request) -> Response:
        asked = await request.json()
        account = self.world.account(request)
        repo_type = asked.get("type", "model")
        repo_id = f"{asked.get('organization') or account.name}/{asked['name']}"
        repo = self._make(account, repo_type, repo_id, asked)
        return JSONResponse({"url": self._url(repo), "name": repo.id, "id": f"{repo.id}-id"})

    def _make(self, account: Account, repo_type: str, repo_id: str, asked: dict) -> Repo:
        check_creatable(account, repo_id, repo_type)
        if repo_type not in PLURALS.values() or not _NAME.fullmatch(repo_id.split("/", maxsplit=1)[1]):
            raise HubError(400, f"{repo_id!r} is no name for a {repo_type}")
        known = self.world.repo(repo_type, repo_id)
        if known is not None:
            raise HubError(409, f"You already created this {repo_type} repo", body={"url": self._url(known)})
        settings = None
        if repo_type == "space":
            owner_org = self.world.saved.orgs.get(repo_id.split("/", maxsplit=1)[0])
            check_plan(account, owner_org, asked)
            settings = space_settings(asked, self.world.state.now_ms())
        org = self.world.saved.orgs.get(repo_id.split("/", maxsplit=1)[0])
        visibility = asked.get("visibility") or ("private" if org and org.private_by_default else "public")
        now_ms = self.world.state.now_ms()
        repo = Repo(
            type=repo_type,
            id=repo_id,
            private=visibility == "private",
            created_ms=now_ms,
            creator=account.name,
            space=settings,
        )
        changes: dict[str, Blob | None] = {".gitattributes": self.keep(_ATTRIBUTES.encode())}
        if settings is not None:
            card = f"---\ntitle: {repo_id.split('/', maxsplit=1)[1]}\nsdk: {settings.sdk}\n---\n"
            changes["README.md"] = self.keep(card.encode())
        add_commit(
            repo,
            "main",
            parent=None,
            changes=changes,
            author=account.name,
            title="initial commit",
            message="",
            time_ms=now_ms,
        )
        self.world.saved.repos[f"{repo_type}/{repo_id}"] = repo
        self.world.saved.moved.pop(f"{repo_type}/{repo_id}", None)
        return repo

    async def _delete(self, request: Request) -> Response:
        asked = await request.json()
        account = self.world.account(request)
        repo_id = f"{asked.get('organization') or account.name}/{asked['name']}"
        repo = check_writable(account, self.world.repo(asked.get("type", "model"), repo_id))
        del self.world.saved.repos[f"{repo.type}/{repo.id}"]
        return JSONResponse({})

    async def _move(self, request: Request) -> Response:
        asked = await request.json()
        account = self.world.account(request)
        kind, old_id, new_id = asked.get("type", "model"), asked["fromRepo"], asked["toRepo"]
        saved = self.world.saved
        thing: Any
        if kind == "bucket":
            thing, shelf, old_key, new_key = self.world.bucket(old_id), saved.buckets, old_id, new_id
        else:
            thing, shelf = self.world.repo(kind, old_id), saved.repos  # type: ignore[assignment]
            old_key, new_key = f"{kind}/{old_id}", f"{kind}/{new_id}"
        thing = check_writable(account, thing)
        check_creatable(account, new_id, kind)
        if new_key in shelf:
            raise HubError(409, f"{new_id} exists already")
        thing.id = new_id
        shelf[new_key] = shelf.pop(old_key)
        # An address that was used stays good, as on the Hub.
        prefix = "bucket/" if kind == "bucket" else ""
        saved.moved[prefix + old_key] = new_key
        saved.moved.pop(prefix + new_key, None)
        if kind == "bucket" and old_id in self.world.feeds:
            self.world.feeds[new_id] = self.world.feeds.pop(old_id)
        return JSONResponse({})

    async def _list(self, request: Request) -> Response:
        account = self.world.account(request)
        params = request.query_params
        repo_type = PLURALS[request.path_params["plural"]]
        found = [
            self._told(repo, resolve_revision(repo, "main"))
            for repo in self.world.saved.repos.values()
            if repo.type == repo_type
            and params.get("author") in (None, repo.id.split("/", maxsplit=1)[0])
            and params.get("search", "") in repo.id
            and can_read(account, repo)
        ]
        return page(request, self.world.at.endpoint, found)

    async def _info(self, request: Request) -> Response:
        repo = self.readable(request)
        sha = self.sha(request, repo, request.path_params.get("revision", "main"))
        told = self._told(repo, sha)
        files = self.trees.files(repo, sha)
        has_details = is_true(request.query_params.get("blobs"))
        told["siblings"] = [_sibling(path, blob, has_details=has_details) for path, blob in sorted(files.items())]
        if "README.md" in files:
            told["cardData"] = _card(self.content(files["README.md"]))
            told["tags"] = (told["cardData"] or {}).get("tags") or []
        return JSONResponse(told)

    def _told(self, repo: Repo, sha: str) -> dict:
        told = {
            "_id": f"{repo.id}-id",
            "id": repo.id,
            "author": repo.id.split("/", maxsplit=1)[0],
            "sha": sha,
            "lastModified": iso(repo.commits[sha].time_ms),
            "createdAt": iso(repo.created_ms),
            "private": repo.private,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
        }
        if repo.space is not None:
            subdomain = re.sub(r"[^a-z0-9]", "-", repo.id.lower())
            told |= {"sdk": repo.space.sdk, "subdomain": subdomain, "host": f"https://{subdomain}.hf.space"}
            told["runtime"] = runtime(repo.space)
        return told

    async def _auth_check(self, request: Request) -> Response:
        check = self.writable if is_true(request.query_params.get("write")) else self.readable
        check(request)
        return JSONResponse({})

    async def _settings(self, request: Request) -> Response:
        repo = self.writable(request)
        asked = await request.json()
        if "visibility" in asked:
            repo.private = asked["visibility"] == "private"
        elif "private" in asked:
            repo.private = bool(asked["private"])
        return JSONResponse({"private": repo.private})

    async def _duplicate(self, request: Request) -> Response:
        source = self.readable(request)
        asked = await request.json()
        account = self.world.account(request)
        if source.space is not None:
            asked.setdefault("sdk", source.space.sdk)
            # Variables are copied, secrets are not: whoever duplicates must not get them.
            copied = [{"key": key, "value": var["value"]} for key, var in source.space.variables.items()]
            asked["variables"] = [*copied, *asked.get("variables", [])]
        if "visibility" not in asked and source.private:
            asked["visibility"] = "private"
        repo = self._make(account, source.type, asked["repository"], asked)
        add_commit(
            repo,
            "main",
            parent=repo.branches["main"],
            changes=dict(self.trees.files(source, source.branches["main"])),
            author=account.name,
            title=f"Duplicate from {source.id}",
            message="",
            time_ms=self.world.state.now_ms(),
        )
        if repo.space is not None:
            repo.space.rebuild()
        return JSONResponse({"url": self._url(repo), "filesCopyPending": False})

    def _url(self, repo: Repo) -> str:
        prefix = "" if repo.type == "model" else f"{repo.type}s/"
        return f"{self.world.at.endpoint}/{prefix}{repo.id}"


def _sibling(path: str, blob: Blob, *, has_details: bool) -> dict:
    told: dict = {"rfilename": path}
    if has_details:
        told |= {"size": blob.size, "blobId": blob.oid}
        if blob.sha256 is not None:
            told["lfs"] = {"size": blob.size, "sha256": blob.sha256, "pointerSize": 134}
    return told


def _card(readme: bytes) -> dict | None:
    """What a README's header says; None without a header."""
    match = re.match(r"---\n(.*?)\n---\s*(\n|$)", readme.decode("utf-8", "replace"), re.DOTALL)
    found = yaml.safe_load(match[1]) if match else None
    return found if isinstance(found, dict) else None
