"""Git repositories without git: trees made from commits, revisions by name, and git's own hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from tests.hub_server.state import Blob, Commit, Repo
from tests.hub_server.wire import HubError

Files = dict[str, Blob]


def blob_oid(data: bytes) -> str:
    """Git's hash of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def pointer_of(sha256: str, size: int) -> bytes:
    """What git holds in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def history(repo: Repo, sha: str) -> Iterator[Commit]:
    """Commits, the newest first."""
    at: str | None = sha
    while at is not None:
        commit = repo.commits[at]
        yield commit
        at = commit.parent


class Trees:
    """Which files a commit shows. Commits hold only what they changed, so trees are put together once and kept."""

    def __init__(self) -> None:
        self._files: dict[str, Files] = {"": {}}

    def files(self, repo: Repo, sha: str) -> Files:
        """Path to blob; not to be changed."""
        missing = []
        base: Files = {}
        for commit in history(repo, sha):
            if commit.sha in self._files:
                base = self._files[commit.sha]
                break
            missing.append(commit)
        for commit in reversed(missing):
            base = dict(base)
            for path, blob in commit.changes.items():
                if blob is None:
                    base.pop(path, None)
                else:
                    base[path] = blob
            self._files[commit.sha] = base
        return base


def add_commit(
    repo: Repo,
    branch: str,
    *,
    parent: str | None,
    changes: dict[str, Blob | None],
    author: str,
    title: str,
    message: str,
    time_ms: int,
) -> Commit:
    """Puts a commit on a branch."""
    seed = repr((repo.id, parent, sorted(changes.items(), key=lambda item: item[0]), author, title, message, time_ms))
    commit = Commit(
        sha=hashlib.sha1(seed.encode()).hexdigest(),
        parent=parent,
        author=author,
        title=title,
        message=message,
        time_ms=time_ms,
        changes=changes,
    )
    repo.commits[commit.sha] = commit
    repo.branches[branch] = commit.sha
    return commit


def resolve_revision(repo: Repo, revision: str) -> str:
    """The commit that a branch, tag, reference or (short) hash names.

    Raises:
        HubError: 404, there is none.
    """
    name = revision.removeprefix("refs/heads/").removeprefix("refs/tags/")
    if name in repo.branches:
        return repo.branches[name]
    if name in repo.tags:
        return repo.tags[name]
    found = [sha for sha in repo.commits if len(revision) >= 7 and sha.startswith(revision)]
    if len(found) == 1:
        return found[0]
    raise HubError(404, f"Invalid rev id: {revision}", code="RevisionNotFound")


def split_revision(repo: Repo, rest: str) -> tuple[str, str]:
    """The revision and the path of `revision/path`, where a branch's name may hold slashes."""
    for name in sorted([*repo.branches, *repo.tags], key=len, reverse=True):
        for form in (name, f"refs/heads/{name}"):
            if rest == form or rest.startswith(f"{form}/"):
                return name, rest[len(form) :].strip("/")
    revision, _, path = rest.partition("/")
    return revision, path.strip("/")


def last_commits(repo: Repo, sha: str) -> dict[str, Commit]:
    """Path to the newest commit that changed it, folders too."""
    found: dict[str, Commit] = {}
    for commit in history(repo, sha):
        for path in commit.changes:
            parts = path.split("/")
            for depth in range(1, len(parts) + 1):
                found.setdefault("/".join(parts[:depth]), commit)
    return found
