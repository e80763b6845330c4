"""Opens the dashboard: a process of its own, because importing Gradio takes seconds that training should not pay."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from trackio_like._settings import Settings, has_screen

START_TIMEOUT_S: Final = 120.0
"""How long a start may take; importing Gradio for the first time on a slow disk needs most of it."""
NUM_PORTS: Final = 100
"""Ports that are tried, from the wanted one on."""
_PORT_TAKEN: Final = 3


class Dashboard:
    """A dashboard that runs in a process of its own; it ends with `close()`, or with this process."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self._process = process
        self.url = url
        """Where it is, with the project in it where one was named."""
        atexit.register(self.close)

    def __repr__(self) -> str:
        return f"Dashboard({self.url!r}, {'running' if self.is_running else 'closed'})"

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return self._process.poll() is None

    def wait(self) -> int:
        """Returns when its process has ended: its exit status."""
        return self._process.wait()

    def close(self) -> None:
        """Ends its process; idempotent."""
        atexit.unregister(self.close)
        _end(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def show(
    project: str | None = None,
    *,
    root: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 7860,
    open_browser: bool = True,
    block: bool | None = None,
) -> Dashboard:
    """Opens the dashboard.

    Args:
        project: the project to open; the most recently active one where it is None.
        root: folder that holds every project; as `init` finds it where it is None.
        host: address to listen on; `0.0.0.0` lets other machines look.
        port: port to listen on; where it is taken, the next free one is used and named.
        open_browser: whether to open a browser where there is a screen.
        block: whether to return only at Ctrl-C; None means outside notebooks.

    Returns:
        The dashboard: its `url`, and `close()`.

    Raises:
        ModuleNotFoundError: the extra `dashboard` is not installed.
        RuntimeError: the dashboard did not start, or no port is free.
    """
    if importlib.util.find_spec("gradio") is None:
        raise ModuleNotFoundError("To open the dashboard, install Gradio: pip install 'trackio-like[dashboard]'.")
    folder = Path(root).expanduser() if root is not None else Settings.from_env().root
    dashboard = _start(folder.resolve(), project, host, port)
    _say(f"Dashboard: {dashboard.url}  (watching {folder})")
    if open_browser and has_screen():
        webbrowser.open(dashboard.url)
    if block if block is not None else not _is_notebook():
        _say("Ctrl-C stops it.")
        with contextlib.suppress(KeyboardInterrupt):
            dashboard.wait()
        dashboard.close()
    return dashboard


def _start(root: Path, project: str | None, host: str, port: int) -> Dashboard:
    taken = port
    for candidate in range(port, port + NUM_PORTS):
        if not _is_free(host, candidate):
            continue
        if candidate != taken:
            _say(f"Port {taken} is taken; using {candidate}.")
            taken = candidate
        command = [sys.executable, "-m", "space_app", "--root", str(root), "--host", host, "--port", str(candidate)]
        # In a session of its own, so that Ctrl-C reaches this process alone, which then ends the other in order.
        process = subprocess.Popen(
            [*command, "--ends-with-stdin"], stdin=subprocess.PIPE, start_new_session=os.name != "nt"
        )
        base = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{candidate}/"  # noqa: S104 - compared only
        try:
            status = _wait_until_up(process, base)
        except BaseException:
            _end(process)
            raise
        if status is None:
            query = f"?{urllib.parse.urlencode({'project': project})}" if project else ""
            return Dashboard(process, base + query)
        if status != _PORT_TAKEN:
            raise RuntimeError(f"The dashboard ended with status {status} while it started; its own words are above.")
    raise RuntimeError(f"No port is free from {port} to {port + NUM_PORTS - 1}; pass another one: port=...")


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _wait_until_up(process: subprocess.Popen[bytes], base: str) -> int | None:
    """Waits for the first answer.

    Returns:
        None once it answers, or the status with which it ended.

    Raises:
        RuntimeError: it neither answered nor ended in time.
    """
    # A proxy for the outside must not be asked for a page on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    pause = threading.Event()
    for _ in range(int(START_TIMEOUT_S / 0.1)):
        status = process.poll()
        if status is not None:
            return status
        try:
            with opener.open(f"{base}t/meta", timeout=5):
                return None
        except (urllib.error.URLError, OSError):
            pause.wait(0.1)
    raise RuntimeError(f"The dashboard did not answer within {START_TIMEOUT_S:.0f} s.")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _say(text: str) -> None:
    # Output is the point of this function, and a broken terminal must not stop it.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _is_notebook() -> bool:
    return "ipykernel" in sys.modules


__all__ = ["Dashboard", "show"]
