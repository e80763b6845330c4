"""Sends to a self-hosted server: one request for each file, over one connection for each pass."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2

from trackio_like._version import __version__
from trackio_like.daemon.plan import shard_of
from trackio_like.daemon.scan import run_key_of
from trackio_like.daemon.sender import Batch, Outcome, Upload
from trackio_like.errors import (
    RemoteError,
    RemoteInvalidError,
    RemoteMissingError,
    RemoteRefusedError,
    RemoteUnavailableError,
)
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import Target
from trackio_like.format.tombstones import Tombstone
from trackio_like.shards.events import write_event

TIMEOUT: Final = httpx2.Timeout(60.0, connect=10.0, pool=10.0)
"""Seconds: of one connection, and of one read or write; a large file may take many of them."""
LONGEST_WAIT_S: Final = 600.0
_STORED: Final = frozenset({200, 201, 409})
"""409: the name holds other bytes. Names are given once, so these are the same rows, written by another version."""
_REJECTED: Final = frozenset({404, 410, 411, 413, 415, 422})


class ServerSender:
    """A server, with its write token. No token of the Hub ever goes there."""

    def __init__(self, target: Target, token: str) -> None:
        """Asks for nothing yet.

        Args:
            target: of kind server; its id is the base URL.
            token: the server's write token; empty for none.
        """
        self._base = target.id
        self._token = token

    def prepare(self) -> str | None:
        """Asks the server what it is, and whether it will take files from us.

        Returns:
            None: there is nothing that the user should know.

        Raises:
            RemoteMissingError: there is no trackio_like server at this address.
            RemoteRefusedError: the token is missing or wrong.
            RemoteInvalidError: it shows something read-only.
            RemoteUnavailableError: no answer.
        """
        with self._client() as client:
            answer = self._ask(client, "GET", "server")
        found = _document(answer)
        if answer.status_code == 404 or found.get("app") != "trackio_like":
            raise RemoteMissingError(
                f"There is no trackio_like server at {self._base}: it answered {answer.status_code}. "
                "Copy the address that the server printed when it started."
            )
        if not found.get("takes_files"):
            raise RemoteInvalidError(f"The dashboard at {self._base} shows something read-only and takes no rows.")
        if not found.get("may_write"):
            raise RemoteRefusedError(
                f"The server at {self._base} does not know this write token. Set TRACKIO_WRITE_TOKEN, or pass the "
                "write URL that the server printed: another one at each start, unless TRACKIO_WRITE_TOKEN is set there."
            )
        return None

    def send(self, batch: Batch) -> Outcome:
        """Sends and deletes one after another; what fails on the way keeps what was done.

        Raises:
            RemoteError: nothing was done.
        """
        stored: set[str] = set()
        deleted: set[str] = set()
        failed: dict[str, str] = {}
        rejected: dict[str, str] = {}
        path = ""
        try:
            with self._client() as client:
                for upload in batch.uploads:
                    path = upload.path
                    self._put(client, upload, stored, failed, rejected)
                for tombstone in batch.purged:
                    path = f"{run_key_of(tombstone)}/"
                    self._purge(client, tombstone, deleted, failed)
                # Events last: the server removes a deleted run's files only while it knows that it is deleted.
                for path in _events_last(path for path in batch.deletes if path not in deleted):
                    self._delete(client, path, deleted, failed)
        except RemoteError as error:
            if not (stored or deleted or failed or rejected):
                raise
            failed[path] = str(error)
        return Outcome(stored=frozenset(stored), deleted=frozenset(deleted), failed=failed, rejected=rejected)

    def paths(self) -> Iterator[tuple[str, int]]:
        """Every file that the server holds, page by page.

        Raises:
            RemoteError: the listing failed.
        """
        with self._client() as client:
            yield from self._list(client)

    def _list(self, client: httpx2.Client, prefix: str = "") -> Iterator[tuple[str, int]]:
        after: str | None = ""
        while after is not None:
            answer = self._ask(client, "GET", "files", params={"after": after, "prefix": prefix})
            found = _document(answer)
            if answer.status_code != 200 or not isinstance(found.get("files"), list):
                raise self._missing(answer)
            for file in found["files"]:
                yield str(file["path"]), int(file["size"])
            after = found.get("next")

    def _put(
        self,
        client: httpx2.Client,
        upload: Upload,
        stored: set[str],
        failed: dict[str, str],
        rejected: dict[str, str],
    ) -> None:
        try:
            digest = _digest_of(upload.file)
            with open(upload.file, "rb") as file:
                headers = {"X-Content-SHA256": digest, "Content-Type": "application/octet-stream"}
                answer = self._ask(client, "PUT", _route(upload.path), content=file, headers=headers)
        except FileNotFoundError:
            return  # compacted away: what covers it is sent instead
        if answer.status_code in _STORED:
            stored.add(upload.path)
        elif answer.status_code in _REJECTED and "error" in _document(answer):
            rejected[upload.path] = _reason(answer)
        elif answer.status_code == 400:
            failed[upload.path] = _reason(answer)
        else:
            raise self._missing(answer)

    def _delete(self, client: httpx2.Client, path: str, deleted: set[str], failed: dict[str, str]) -> None:
        answer = self._ask(client, "DELETE", _route(path))
        if answer.status_code == 204:
            deleted.add(path)
        elif "error" in _document(answer):
            failed[path] = _reason(answer)
        else:
            raise self._missing(answer)

    def _purge(self, client: httpx2.Client, tombstone: Tombstone, deleted: set[str], failed: dict[str, str]) -> None:
        """Removes a run that was purged here, whatever the server has heard of it.

        It lets go only of what it knows to be deleted, and the event that said so may have gone from here before it was
        sent. Where somebody else's rows are under the same id, nothing is done: the run is not ours alone.
        """
        held = [path for path, _ in self._list(client, f"{run_key_of(tombstone)}/")]
        foreign = [path for path in held if shard_of(path)[1] is not None and not tombstone.buries(path)]
        if not held or any("/events/" not in path for path in foreign):
            return
        with tempfile.TemporaryDirectory(prefix="trackio-like-purge-") as scratch:
            folder = RunFolder(root=Path(scratch), project=tombstone.project, run_id=tombstone.run_id)
            file = write_event(folder, "delete", {})
            told = file.relative_to(scratch).as_posix()
            self._put(client, Upload(path=told, file=file, num_bytes=file.stat().st_size), set(), failed, failed)
        for path in _events_last([*held, told]):
            self._delete(client, path, deleted, failed)

    def _client(self) -> httpx2.Client:
        headers = {"User-Agent": f"trackio_like/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        # No redirect is followed: a token goes to the address that the user named, and nowhere else.
        return httpx2.Client(timeout=TIMEOUT, headers=headers, follow_redirects=False)

    def _ask(self, client: httpx2.Client, method: str, route: str, **options: Any) -> httpx2.Response:
        """One request.

        Raises:
            RemoteUnavailableError: no answer, a server's fault, or too many requests.
            RemoteRefusedError: 401, 403.
            RemoteInvalidError: the address is none, or the server is elsewhere.
        """
        try:
            answer = client.request(method, f"{self._base}/t/{route}", **options)
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL, UnicodeError) as error:
            raise RemoteInvalidError(f"{self._base} is no address of a server: {error}") from error
        except httpx2.HTTPError as error:
            text = str(error) or type(error).__name__
            raise RemoteUnavailableError(f"The server at {self._base} does not answer: {text}") from error
        if answer.status_code in (401, 403):
            raise RemoteRefusedError(f"The server at {self._base} refuses: {_reason(answer)}")
        if answer.is_redirect:
            raise RemoteInvalidError(
                f"The server at {self._base} says that it is elsewhere: {answer.headers.get('location', '')[:200]}. "
                "Use that address."
            )
        if answer.status_code == 429 or answer.status_code >= 500:
            raise RemoteUnavailableError(
                f"The server at {self._base} cannot take it now: {_reason(answer)}",
                retry_after_s=_wait_s(answer.headers.get("retry-after", "")),
            )
        return answer

    def _missing(self, answer: httpx2.Response) -> RemoteMissingError:
        return RemoteMissingError(f"There is no trackio_like server at {self._base}: it answered {answer.status_code}.")


def _route(path: str) -> str:
    # Once more than on disk: the server decodes the address before it looks at the path.
    return f"files/{quote(path)}"


def _events_last(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda each: ("/events/" in each, each))


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _document(answer: httpx2.Response) -> dict[str, Any]:
    """The answer's JSON; empty where it is none, as of a proxy or another program."""
    try:
        found = json.loads(answer.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _reason(answer: httpx2.Response) -> str:
    return str(_document(answer).get("error") or f"it answered {answer.status_code}")[:500]


def _wait_s(header: str) -> float | None:
    return min(float(header), LONGEST_WAIT_S) if header.strip().isdigit() else None


__all__ = ["ServerSender"]
