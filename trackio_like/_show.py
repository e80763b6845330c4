"""Opens the dashboard: a process of its own, because importing Gradio takes seconds that training should not pay."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode

from trackio_like._settings import Settings, has_screen, server_environment
from trackio_like.run.secrets import mask_text

START_TIMEOUT_S: Final = 120.0
"""How long a start may take; importing Gradio for the first time on a slow disk needs most of it."""
NUM_PORTS: Final = 100
"""Ports that are tried, from the wanted one on."""
_PORT_TAKEN: Final = 3
_ALL_ADDRESSES: Final = ("0.0.0.0", "::")  # noqa: S104 - compared only


class Dashboard:
    """A dashboard that runs in a process of its own; it ends with `close()`, or with this process."""

    def __init__(self, process: subprocess.Popen[bytes], urls: Urls) -> None:
        self._process = process
        self.url = urls.read
        """Where it is, with the project in it where one was named, and the read token where there is one."""
        self.write_url = urls.write
        """The same with the write token: for `server_url`, and for a browser that may change runs. A secret."""
        atexit.register(self.close)

    def __repr__(self) -> str:
        return f"Dashboard({mask_text(self.url)!r}, {'running' if self.is_running else 'closed'})"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a dashboard shows: a folder of this machine, or something on the Hub, read only."""

    root: Path | None = None
    bucket_id: str | None = None
    dataset_id: str | None = None
    space_id: str | None = None

    def __post_init__(self) -> None:
        named = [value for value in (self.root, self.bucket_id, self.dataset_id, self.space_id) if value is not None]
        if len(named) != 1:
            raise ValueError("Name one thing to show: a root, or a bucket, or a dataset, or a Space.")

    def __str__(self) -> str:
        """For messages."""
        if self.root is not None:
            return str(self.root)
        kind = "bucket" if self.bucket_id else "dataset" if self.dataset_id else "Space"
        return f"the {kind} {self.bucket_id or self.dataset_id or self.space_id}"

    @property
    def options(self) -> list[str]:
        """For the command line of the server."""
        named = {
            "--root": self.root,
            "--bucket": self.bucket_id,
            "--dataset": self.dataset_id,
            "--space": self.space_id,
        }
        return [word for option, value in named.items() if value is not None for word in (option, str(value))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What the server will ask for. Its text never shows them."""

    write: str = field(repr=False)
    read: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Urls:
    """Where a dashboard is."""

    read: str
    write: str = field(repr=False)

    @classmethod
    def at(cls, base: str, project: str | None, tokens: Tokens) -> Urls:
        """The addresses of a dashboard.

        Args:
            base: its address, with a slash at the end.
            project: the project to open; None for none.
            tokens: what it asks for.
        """
        query = {"project": project} if project else {}
        read = {**query, "read_token": tokens.read} if tokens.read else query
        return cls(
            read=base + (f"?{urlencode(read)}" if read else ""),
            write=f"{base}?{urlencode({**query, 'write_token': tokens.write})}",
        )


def show(
    project: str | None = None,
    *,
    root: str | os.PathLike[str] | None = None,
    bucket_id: str | None = None,
    dataset_id: str | None = None,
    space_id: str | None = None,
    host: str = "127.0.0.1",
    port: int = 7860,
    write_token: str | None = None,
    read_token: str | None = None,
    open_browser: bool = True,
    block: bool | None = None,
) -> Dashboard:
    """Opens the dashboard.

    Args:
        project: the project to open; the most recently active one where it is None.
        root: folder that holds every project; as `init` finds it where it is None.
        bucket_id: a bucket to show instead, read only.
        dataset_id: a dataset to show instead, read only.
        space_id: a Space whose bucket or dataset is to be shown instead, read only.
        host: address to listen on; `0.0.0.0` lets other machines look, and send rows with the write token.
        port: port to listen on; where it is taken, the next free one is used and named.
        write_token: allows to change runs and to send rows; `TRACKIO_WRITE_TOKEN`, else a random one.
        read_token: asked of everybody who looks; `TRACKIO_READ_TOKEN`, else everybody may look.
        open_browser: whether to open a browser where there is a screen.
        block: whether to return only at Ctrl-C; None means outside notebooks.

    Returns:
        The dashboard: its `url`, its `write_url`, and `close()`.

    Raises:
        ModuleNotFoundError: the extra `dashboard` is not installed.
        RuntimeError: the dashboard did not start, or no port is free.
        ValueError: several things are to be shown at once.
    """
    if importlib.util.find_spec("gradio") is None:
        raise ModuleNotFoundError("To open the dashboard, install Gradio: pip install 'trackio-like[dashboard]'.")
    settings = Settings.from_env()
    is_remote = bool(bucket_id or dataset_id or space_id)
    folder = Path(root).expanduser() if root is not None else None if is_remote else settings.root
    source = Source(
        root=folder.resolve() if folder is not None else None,
        bucket_id=bucket_id,
        dataset_id=dataset_id,
        space_id=space_id,
    )
    tokens = Tokens(
        write=write_token or settings.write_token or secrets.token_urlsafe(24),
        read=read_token or settings.read_token,
    )
    process, local = _start(source, tokens, host, port)
    public = f"{settings.public_url.rstrip('/')}/" if settings.public_url else _reached_from_outside(local, host)
    dashboard = Dashboard(process, Urls.at(public, project, tokens))
    # What a notebook prints is saved with it, and shared.
    url, own = dashboard.url, dashboard.write_url
    if _is_notebook():
        url, own = mask_text(url), "the write_url of what show() returned"
    _say(f"Dashboard: {url}  (watching {folder or source})")
    if not is_remote:
        _say(f"To change runs or send rows to it: {own}")
    if open_browser and has_screen():
        # An address of this machine: the public one may not be reachable from here.
        webbrowser.open(Urls.at(local, project, tokens).write)
    if block if block is not None else not _is_notebook():
        _say("Ctrl-C stops it.")
        with contextlib.suppress(KeyboardInterrupt):
            dashboard.wait()
        dashboard.close()
    return dashboard


def _start(source: Source, tokens: Tokens, host: str, port: int) -> tuple[subprocess.Popen[bytes], str]:
    """Starts the server; its process, and its address on this machine."""
    environment = server_environment(write_token=tokens.write, read_token=tokens.read)
    taken = port
    for candidate in range(port, port + NUM_PORTS):
        if not _is_free(host, candidate):
            continue
        if candidate != taken:
            _say(f"Port {taken} is taken; using {candidate}.")
            taken = candidate
        command = [sys.executable, "-m", "space_app", *source.options, "--host", host, "--port", str(candidate)]
        # In a session of its own, so that Ctrl-C reaches this process alone, which then ends the other in order.
        process = subprocess.Popen(
            [*command, "--ends-with-stdin"],
            stdin=subprocess.PIPE,
            start_new_session=os.name != "nt",
            env=environment,  # not the command line, which every user of the machine can read
        )
        name = "127.0.0.1" if host in _ALL_ADDRESSES else f"[{host}]" if ":" in host else host
        base = f"http://{name}:{candidate}/"
        try:
            status = _wait_until_up(process, base)
        except BaseException:
            _end(process)
            raise
        if status is None:
            return process, base
        if status != _PORT_TAKEN:
            raise RuntimeError(f"The dashboard ended with status {status} while it started; its own words are above.")
    raise RuntimeError(f"No port is free from {port} to {port + NUM_PORTS - 1}; pass another one: port=...")


def _reached_from_outside(local: str, host: str) -> str:
    """The address for other machines, where the server listens on all of this one's; else the local one."""
    if host not in _ALL_ADDRESSES:
        return local
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 9))  # sends nothing: it only chooses the address that would send
            return local.replace("127.0.0.1", probe.getsockname()[0])
        except OSError:
            return local


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
            with opener.open(f"{base}t/server", timeout=5):
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
