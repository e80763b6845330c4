"""Exactly what was uploaded runs, in a fresh environment with nothing but what its requirements name."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trackio_like as trackio
from tests.hub_server import Hub
from trackio_like.daemon.deploy import deploy
from trackio_like.daemon.space_files import GRADIO_VERSION
from trackio_like.format.targets import Target
from trackio_like.hub.access import HubAccess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]

# Notes each name that is looked up and each address that is connected to, from the interpreter's first moment.
WATCH = """
import os, sys
def note(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        host = arguments[1][0] if event == "socket.connect" and isinstance(arguments[1], tuple) else arguments[0]
        with open(os.environ["WATCH_FILE"], "a") as file:
            file.write(f"{host}\\n")
sys.addaudithook(note)
"""
OWN_HOSTS = {"127.0.0.1", "localhost", "::1", "None"}


@pytest.fixture(scope="module")
def fresh_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment as the Hub makes it: empty, but for Gradio of the pinned version. Requirements come later."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    [packages] = (folder / "lib").glob("python*/site-packages")
    (packages / "watch_hosts.py").write_text(WATCH)
    (packages / "watch_hosts.pth").write_text("import watch_hosts\n")
    return python


@pytest.fixture
def space(hub: Hub, root: Path, tmp_path: Path) -> tuple[Path, str]:
    """The folder of a deployed Space, whose bucket holds a run, and the Space's read token."""
    with trackio.init(project="p", name="n"):
        trackio.log({"loss": 0.5})
    access = HubAccess(endpoint=hub.endpoint, token=hub.tokens["me"])
    token = hub.token("me", role="fineGrained", permissions={"me/rows": ["repo.content.read"]})
    target = Target(kind="bucket", id="me/rows", space_id="me/board", endpoint=hub.endpoint)
    deploy(access, target, read_token=token)
    shards: list[tuple[str | Path | bytes, str]] = [
        (str(path), path.relative_to(root).as_posix()) for path in root.rglob("*.parquet")
    ]
    assert shards
    access.api.batch_bucket_files("me/rows", add=shards)
    folder = tmp_path / "space"
    for path, content in hub.repo_files("space", "me/board").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder, token


@pytest.fixture
def running(hub: Hub, space: tuple[Path, str], fresh_python: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The Space's address, and its folder."""
    folder, token = space
    install = [
        str(fresh_python),
        "-m",
        "pip",
        "install",
        "-q",
        "-r",
        "requirements.txt",
        f"gradio[oauth]=={GRADIO_VERSION}",
    ]
    environment = {**os.environ, "WATCH_FILE": os.devnull}
    subprocess.run(install, cwd=folder, env=environment, check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "WATCH_FILE": str(tmp_path / "hosts"),
        "SYSTEM": "spaces",
        "SPACE_ID": "me/board",
        "SPACE_HOST": "me-board.hf.space",
        "OAUTH_CLIENT_ID": "client",
        "OAUTH_CLIENT_SECRET": "client-secret",
        "OAUTH_SCOPES": "openid profile write-repos",
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "HF_ENDPOINT": hub.endpoint,
        **hub.space("me/board").variables,
        **hub.space("me/board").secrets,
    }
    assert environment["HF_TOKEN"] == token
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([fresh_python, "app.py"], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}", folder
        finally:
            process.terminate()
            process.wait(timeout=20)


def get(url: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as answer:
        return str(answer.read().decode())


def wait_for_project(url: str, log: Path) -> dict[str, Any]:
    pause = threading.Event()
    for _ in range(600):
        try:
            meta: dict[str, Any] = json.loads(get(f"{url}/t/meta"))
        except OSError:
            meta = {}
        if meta.get("projects"):
            return meta
        pause.wait(0.2)
    raise AssertionError(f"no project was shown; the log ends so:\n{log.read_text()[-3000:]}")


def test_the_uploaded_files_show_the_bucket_and_ask_nobody_but_the_hub(hub: Hub, running, space, tmp_path) -> None:
    url, _ = running
    meta = wait_for_project(url, tmp_path / "log")
    page = get(f"{url}/?sidebar=hidden")
    assert meta["poll_ms"] == 2000
    assert [(project["name"], project["num_runs"]) for project in meta["projects"]] == [("p", 1)]
    assert "tstatic/app-" in page
    hosts = set((tmp_path / "hosts").read_text().split("\n")) - {""}
    assert hosts <= OWN_HOSTS
    assert not hub.leaks
    told = page + json.dumps(meta) + (tmp_path / "log").read_text()
    for secret in (space[1], hub.tokens["me"], "client-secret"):
        assert secret not in told


def test_the_packages_come_from_the_space_and_nowhere_else(running, fresh_python: Path) -> None:
    _, folder = running
    code = "import trackio_like, space_app; print(trackio_like.__file__, space_app.__file__)"
    environment = {**os.environ, "WATCH_FILE": os.devnull}
    here = subprocess.run(
        [fresh_python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert here.stdout.count(str(folder)) == 2
    elsewhere = subprocess.run([fresh_python, "-c", code], cwd=folder.parent, env=environment, capture_output=True)
    assert b"No module named 'trackio_like'" in elsewhere.stderr
    assert sys.version_info[:2] >= (3, 11)
