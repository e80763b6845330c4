"""Fixtures that give a test a Hub of its own: `hub_server` runs once, `hub` is empty again for each test.

A root conftest takes them with `pytest_plugins = ["tests.hub_server.fixtures"]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub_server.hub import Hub, running_hub


def client_environment(hub: Hub, home: Path) -> dict[str, str]:
    """What a process needs in its environment so that the real client works with a Hub.

    Args:
        hub: The Hub.
        home: The client's `HF_HOME`. One for each server: hf_xet keeps what it uploaded to an address.
    """
    return {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_XET_CACHE": str(home / "xet"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_XET_CLIENT_RETRY_BASE_DELAY": "100ms",
        "HF_XET_TELEMETRY_ENABLED": "0",
    }


@pytest.fixture(scope="session")
def hub_server() -> Iterator[Hub]:
    """A Hub that runs as long as the tests do; use `hub`."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    with running_hub() as hub:
        yield hub


@pytest.fixture(scope="session")
def hub_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `HF_HOME` that belongs to `hub_server`."""
    return tmp_path_factory.mktemp("hf-home")


@pytest.fixture
def hub(root: Path, hub_server: Hub, hub_home: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A Hub with the accounts `me` (PRO), `free` and `other`, and `team`, of which `me` is a writer.

    The environment and the client in this process point to it, with the write token of `me`. `root` is asked for
    because it sets the environment too, and must do so before.
    """
    from huggingface_hub import constants

    hub_server.reset()
    hub_server.add_user("me", is_pro=True)
    hub_server.add_user("free")
    hub_server.add_user("other")
    hub_server.add_org("team", members={"me": "write", "other": "read"}, plan="team")
    environment = {**client_environment(hub_server, hub_home), "HF_TOKEN": hub_server.tokens["me"]}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # The client reads its environment once, when it is first imported; a test before this one may have done so.
    settings: dict[str, object] = {
        "ENDPOINT": hub_server.endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": hub_server.endpoint + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HOME": str(hub_home),
        "HF_HUB_CACHE": str(hub_home / "hub"),
        "HF_XET_CACHE": str(hub_home / "xet"),
        "HF_TOKEN_PATH": str(hub_home / "token"),
        "HF_STORED_TOKENS_PATH": str(hub_home / "stored_tokens"),
        "HF_HUB_OFFLINE": False,
    }
    for name, setting in settings.items():
        monkeypatch.setattr(constants, name, setting)
    return hub_server
