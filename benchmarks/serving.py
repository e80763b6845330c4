"""A dashboard server as users start it, and the page's own requests to it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

from benchmarks.places import cpu_s, seconds_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A running `trackio-like show`."""

    url: str
    """Without a slash at its end."""
    process: psutil.Process
    """The command; the server is its child."""

    def get(self, path: str) -> bytes:
        """The body of a GET."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return bytes(answer.read())

    def poll(self, **request: Any) -> bytes:
        """The body of a poll, as the page would ask for it."""
        body = json.dumps({"epoch": "", "cursor": 0, "want_runs": False, "panels": [], **request}).encode()
        asked = urllib.request.Request(self.url + "/t/poll", data=body, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return bytes(answer.read())

    def cpu_s(self) -> float:
        """Seconds of CPU that the server has used."""
        return cpu_s(self.process.children(recursive=True))

    def rss_mb(self) -> float:
        """Memory that the server holds, in MiB."""
        return sum(float(child.memory_info().rss) for child in self.process.children(recursive=True)) / 2**20


def panel(number: int, key: str, runs: list[str], *, since: int = 0, buckets: int = 375) -> dict[str, Any]:
    """What the page asks for one chart over steps."""
    return {
        "id": f"m{number}",
        "key": key,
        "x": "step",
        "runs": runs,
        "buckets": buckets,
        "since": since,
        "x0": None,
        "x1": None,
    }


def header(body: bytes) -> dict[str, Any]:
    """The JSON before the arrays."""
    length = int.from_bytes(body[:4], "little")
    document: dict[str, Any] = json.loads(body[4 : 4 + length])
    return document


def arrays(body: bytes) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """The arrays behind the header."""
    start = 4 + int.from_bytes(body[:4], "little")
    return [
        np.frombuffer(body, "<f8", count=part["length"], offset=start + part["offset"])
        for part in header(body)["arrays"]
    ]


@contextlib.contextmanager
def dashboard() -> Iterator[Dashboard]:
    """A dashboard of the current root on a free port, up when the block begins."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "trackio_like.cli",
        "show",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-browser",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        served = Dashboard(url=f"http://127.0.0.1:{port}", process=psutil.Process(process.pid))

        def is_up() -> bool:
            with contextlib.suppress(urllib.error.URLError, OSError):
                served.get("/t/meta")
                return True
            return False

        try:
            seconds_until(is_up, timeout_s=120)
            yield served
        finally:
            process.terminate()


def rss_of_gradio_mb() -> float:
    """Memory of a process that only imports Gradio and what serving needs, in MiB."""
    code = (
        "import os; os.environ['GRADIO_ANALYTICS_ENABLED'] = 'False'; import gradio, psutil;"
        "print(psutil.Process().memory_info().rss / 2**20)"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
