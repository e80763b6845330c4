"""The two ports, served by uvicorn on one event loop in a thread of their own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_Answer = TypeVar("_Answer")
_HOST = "127.0.0.1"


class Ports:
    """Applications on fixed ports; `down()` frees the ports, `up()` takes the same ones again.

    Everything runs on one thread, so what the applications share needs no lock; `call()` runs there too.

    Args:
        ports: What to listen on; 0 picks a free one.
    """

    def __init__(self, ports: list[int]) -> None:
        self._sockets = [_listen(port) for port in ports]
        self.numbers = [listening.getsockname()[1] for listening in self._sockets]
        self._apps: list[ASGIApp] = []
        self._servers: list[uvicorn.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hub-server", daemon=True)

    def start(self, apps: list[ASGIApp]) -> None:
        """Starts the thread and serves the applications, one for each port."""
        self._apps = apps
        self._thread.start()
        self._run(self._serve())

    def call(self, function: Callable[[], _Answer]) -> _Answer:
        """The function's answer, from the thread that serves."""
        if threading.current_thread() is self._thread:
            return function()
        future: Future[_Answer] = Future()

        def answer() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._loop.call_soon_threadsafe(answer)
        return future.result()

    def later(self, delay_s: float, function: Callable[[], object]) -> asyncio.TimerHandle:
        """Runs a function a little later; to be called from the thread that serves."""
        return self._loop.call_later(delay_s, function)

    def down(self) -> None:
        """Cuts every connection and stops listening."""
        self._run(self._stop())

    def up(self) -> None:
        """Listens again on the same ports."""
        if not self._servers:
            self._sockets = [_listen(port) for port in self.numbers]
            self._run(self._serve())

    def close(self) -> None:
        """Ends the thread."""
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _serve(self) -> None:
        for app, listening in zip(self._apps, self._sockets, strict=True):
            config = uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                ws="none",
                interface="asgi3",
                proxy_headers=False,
                timeout_keep_alive=60,
                http="h11",  # the gate looks for the connection where this implementation has it
            )
            config.load()
            server = uvicorn.Server(config)
            server.lifespan = config.lifespan_class(config)
            await server.startup(sockets=[listening])
            self._servers.append(server)

    async def _stop(self) -> None:
        for server, listening in zip(self._servers, self._sockets, strict=True):
            for connection in list(server.server_state.connections):
                connection.transport.abort()  # type: ignore[union-attr]
            server.force_exit = True
            await server.shutdown(sockets=[listening])
            tasks = list(server.server_state.tasks)
            for task in tasks:
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)
        self._servers.clear()


def _listen(port: int) -> socket.socket:
    # The protocol is named because asyncio turns Nagle's algorithm off only then; else each answer takes 40 ms more.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((_HOST, port))
    listening.listen(256)
    listening.setblocking(False)
    return listening
