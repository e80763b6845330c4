"""A self-hosted server that goes wrong on demand, with the same controls as the local Hub."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount

from space_app.api import create_api
from space_app.api.access import Access
from space_app.api.gate import Gate
from tests.hub_server.faults import Faults, Rule, serve_with_faults
from tests.hub_server.serving import Ports

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class FaultyServer:
    """Our own routes on a real port; each `reset` begins with an empty root."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._faults = Faults()
        self._refused = False
        self._ports = Ports([0])
        self._app: ASGIApp = Starlette()
        self.endpoint = f"http://127.0.0.1:{self._ports.numbers[0]}"
        self.root = home
        self._ports.start([self._serve])

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._refused:
            await JSONResponse({"error": "wrong token"}, status_code=401)(scope, receive, send)
        else:
            scope["hub.transport"] = send.__self__.transport  # type: ignore[attr-defined]  # what cuts a connection
            await serve_with_faults(self._app, scope, receive, send, faults=self._faults)

    def reset(self) -> None:
        """An empty root, no fault, reachable."""
        self.up()
        self.clear_faults()
        self._refused = False
        self.root = Path(tempfile.mkdtemp(dir=self._home))

    def add_user(self, name: str, *, is_pro: bool) -> str:
        """The write token of a server that begins anew; names and plans mean nothing here."""
        assert name
        assert is_pro
        token = secrets.token_hex(8)
        access = Access(write_token=token)
        self._app = Gate(Starlette(routes=[Mount("/t", create_api(self.root, access=access))]), access)
        return token

    def expire(self, token: str) -> None:
        """The token is refused."""
        assert token
        self._refused = True

    def revive(self, token: str) -> None:
        """The token is good again."""
        assert token
        self._refused = False

    def fail(self, path_regex: str, *, kind: str, **options: Any) -> None:
        """As the local Hub's."""
        rule = Rule(path_regex=path_regex, kind=kind, **options)
        self._ports.call(lambda: self._faults.rules.append(rule))

    def clear_faults(self) -> None:
        """Nothing goes wrong any more."""
        self._ports.call(self._faults.clear)

    def down(self) -> None:
        """Connections are cut and refused."""
        self._ports.down()

    def up(self) -> None:
        """Back on the same port."""
        self._ports.up()

    def files(self) -> dict[str, bytes]:
        """What the server holds, by path."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and not path.relative_to(self.root).parts[0].startswith(".")
        }

    def close(self) -> None:
        """Stops."""
        self._ports.close()
