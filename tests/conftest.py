"""What holds for every test: a root of its own, and no thread, child or changed environment left behind."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THREAD_PREFIX = "trackio-like-"
END_TIMEOUT_S = 10.0
"""How long a thread or child that was told to end may take; a busy machine needs some of it."""

_SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's root: `TRACKIO_DIR`, not made yet; every other TRACKIO_* variable is unset."""
    for name in [name for name in os.environ if name.startswith("TRACKIO_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "root"
    monkeypatch.setenv("TRACKIO_DIR", str(folder))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return folder


@pytest.fixture(autouse=True)
def nothing_left_behind(root: Path) -> Iterator[None]:
    """Fails a test that leaves a thread of ours, a child process or another environment."""
    environment = dict(os.environ)
    threads = set(threading.enumerate())
    children = {child.pid for child in psutil.Process().children()}
    yield
    left_threads = [t for t in threading.enumerate() if t not in threads and t.name.startswith(THREAD_PREFIX)]
    for thread in left_threads:
        thread.join(END_TIMEOUT_S)
    left_children = _end_daemons([c for c in psutil.Process().children(recursive=False) if c.pid not in children])
    changed = {key for key in environment.keys() | os.environ.keys() if environment.get(key) != os.environ.get(key)}
    changed -= {"PYTEST_CURRENT_TEST"}
    for key in changed:
        if key in environment:
            os.environ[key] = environment[key]
        else:
            os.environ.pop(key)
    assert not [t.name for t in left_threads if t.is_alive()], "threads left running; close or finish what started them"
    assert not left_children, f"child processes left running: {left_children}"
    assert not changed, f"environment variables left changed: {sorted(changed)}; use monkeypatch"


def _end_daemons(children: list[psutil.Process]) -> list[str]:
    """Waits for what is ending anyway, ends the rest, and says what that was; daemons may idle, so they don't count."""
    _, alive = psutil.wait_procs(children, timeout=0)
    left = []
    for child in alive:
        try:
            words = child.cmdline()
            child.terminate()
        except psutil.NoSuchProcess:
            continue
        if words and not any("trackio_like" in word and "sync" in word for word in words):
            left.append(" ".join(words))
    _, stubborn = psutil.wait_procs(alive, timeout=END_TIMEOUT_S)
    for child in stubborn:
        child.kill()
    return left
