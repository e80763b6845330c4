"""The dashboard as a Space runs it: what its environment means, and what its pages let the Hub do."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

import trackio_like as trackio
from space_app.hosted import Hosting

SPACE = {"SYSTEM": "spaces", "SPACE_ID": "me/board", "SPACE_HOST": "me-board.hf.space", "HF_TOKEN": "secret"}
PROXY = {"x-forwarded-proto": "https", "x-forwarded-host": "me-board.hf.space", "x-forwarded-for": "192.0.2.1"}


def test_the_environment_of_a_space_says_what_is_shown(tmp_path: Path) -> None:
    hosting = Hosting.from_env({**SPACE, "TRACKIO_BUCKET_ID": "me/rows"}, mount=tmp_path)
    assert (hosting.bucket_id, hosting.dataset_id, hosting.space_id) == ("me/rows", None, "me/board")
    assert (hosting.token, hosting.mount, hosting.host, hosting.port) == ("secret", tmp_path, "0.0.0.0", 7860)


def test_a_volume_that_is_not_mounted_is_none(tmp_path: Path) -> None:
    env = {**SPACE, "TRACKIO_DATASET_ID": "me/set"}
    assert Hosting.from_env(env, mount=tmp_path / "none").mount is None


@pytest.mark.parametrize("env", [{}, {"TRACKIO_BUCKET_ID": "me/a", "TRACKIO_DATASET_ID": "me/b"}])
def test_a_space_that_names_not_one_thing_says_which_variables_to_set(env: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="TRACKIO_BUCKET_ID and TRACKIO_DATASET_ID"):
        Hosting.from_env({**SPACE, **env})


def test_the_token_is_not_in_what_is_printed() -> None:
    assert "secret" not in repr(Hosting.from_env({**SPACE, "TRACKIO_BUCKET_ID": "me/rows"}))


# In a process of its own, as in a Space: Gradio keeps event loops for as long as its process lives.
SERVE = """
import sys
from pathlib import Path
import uvicorn
from space_app.hosted import build_app
from trackio_like.store.source import FolderOfThisMachine
app = build_app(FolderOfThisMachine(Path(sys.argv[1])))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard that is hosted, over a root with one run."""
    folder = tmp_path_factory.mktemp("hosted")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TRACKIO_DIR", str(folder))
        environment.setenv("TRACKIO_DAEMON", "off")
        with trackio.init(project="p", name="n"):
            trackio.log({"loss": 0.5})
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(folder), str(port)])
    try:
        yield _once_up(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=20)


def _once_up(url: str) -> str:
    pause = threading.Event()
    for _ in range(600):
        try:
            get(f"{url}/t/meta")
        except OSError:
            pause.wait(0.1)
        else:
            return url
    raise AssertionError("the hosted dashboard did not answer")


def get(url: str) -> tuple[str, Message]:
    """A page and its headers, as the Hub's proxy asks for it."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, headers=PROXY), timeout=30) as answer:
        return answer.read().decode(), answer.headers


def test_a_page_asks_every_two_seconds(url: str) -> None:
    meta = json.loads(get(f"{url}/t/meta")[0])
    assert meta["poll_ms"] == 2000
    assert [project["name"] for project in meta["projects"]] == ["p"]


@pytest.mark.parametrize("address", ["/", "/?sidebar=hidden", "/?project=p&sidebar=hidden&__theme=dark"])
def test_the_hub_may_show_the_page_in_an_iframe_without_a_cookie(url: str, address: str) -> None:
    page, headers = get(url + address)
    assert "data-tl-panel" in page
    assert "x-frame-options" not in headers
    assert "frame-ancestors" not in headers["content-security-policy"]
    assert "set-cookie" not in headers


def test_the_page_loads_its_script_from_the_address_that_the_proxy_has(url: str) -> None:
    page, _ = get(f"{url}/")
    assert '<base href="./"' in page
    assert 'src="tstatic/app-' in page
    assert "http://me-board.hf.space" not in page
