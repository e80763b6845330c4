"""One dashboard over one root for all browser tests, and pages that may do nothing wrong."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

import trackio_like as trackio
from tests.browser.models import wait_for_model

CHROMIUM = next(
    (
        path
        for path in map(Path, ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"))
        if path.exists()
    ),
    None,
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
START_TIMEOUT_S = 60
expect.set_options(timeout=15_000)


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(180))


@dataclass(frozen=True, kw_only=True)
class Board:
    """A dashboard that runs."""

    url: str
    root: Path

    def link(self, **view):
        """The address of a view."""
        return f"{self.url}?{urlencode(view)}"


@contextmanager
def serve(root, *, port=None):
    """A dashboard of its own over a root."""
    port = port or free_port()
    command = [sys.executable, "-m", "space_app", "--root", str(root), "--port", str(port), "--ends-with-stdin"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        url = f"http://127.0.0.1:{port}/"
        wait_until_up(process, url)
        yield Board(url=url, root=Path(root))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=10)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_up(process, url):
    pause = threading.Event()
    for _ in range(START_TIMEOUT_S * 10):
        assert process.poll() is None, "the dashboard ended while it started"
        try:
            with urllib.request.urlopen(f"{url}t/meta", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            pause.wait(0.1)
    raise AssertionError(f"no dashboard on {url}")


@pytest.fixture(scope="session")
def board(tmp_path_factory):
    """The dashboard of the projects of `fill.py` and `fill_nets.py`."""
    root = tmp_path_factory.mktemp("board")
    environment = {**os.environ, "TRACKIO_DIR": str(root), "TRACKIO_DAEMON": "off"}
    scripts = [Path(__file__).with_name(name) for name in ("fill.py", "fill_nets.py")]
    filling = [subprocess.Popen([sys.executable, script], env=environment) for script in scripts]
    assert [process.wait(timeout=120) for process in filling] == [0, 0]
    with serve(root) as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """Chromium; for each module anew, so that no event loop of it stands in another test's way."""
    if CHROMIUM is None:
        # Where everything must have run, a skip would pass for a page that nobody looked at.
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium is installed; run `make system`")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def faults():
    """What a page did wrong; a test that provokes something takes it out."""
    return []


@pytest.fixture
def new_page(browser, faults):
    """Makes pages; each is held to: no error in the console, nothing asked of another host."""
    contexts = []

    def make(**options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if is_outside(request.url) else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert faults == []


def is_outside(url):
    parts = urlsplit(url)
    return parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("127.0.0.1", "localhost")


@pytest.fixture
def page(new_page):
    return new_page()


@pytest.fixture
def log(board, monkeypatch):
    """The tracker, logging into the board's root."""
    monkeypatch.setenv("TRACKIO_DIR", str(board.root))
    yield trackio
    trackio.finish()


@pytest.fixture
def open_view(page, board):
    """Opens a view of the board and waits for its first chart."""

    def show(wait_for='[data-ready="1"]', **view):
        page.goto(board.link(**view))
        if wait_for:
            page.wait_for_selector(wait_for)
            page.wait_for_selector(".tl-sidebar", state="attached")
        return page

    return show


@pytest.fixture
def open_net(open_view, page):
    """Opens the tab with some of its settings."""

    def show(name="language", *, theme="", **settings):
        view = {"project": "nets", "tab": "model", "model": json.dumps({"name": name, **settings})}
        open_view(wait_for=None, **view, **({"theme": theme} if theme else {}))
        wait_for_model(page)
        return page

    return show
