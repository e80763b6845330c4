"""What holds for every test: a root of its own, and no thread, child or changed environment left behind."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest_plugins = ["tests.hub_server.fixtures"]

THREAD_PREFIX = "trackio-like-"
DAEMON_MODULE = "trackio_like.daemon"
END_TIMEOUT_S = 10.0
"""How long a thread or child that was told to end may take; a busy machine needs some of it."""

_SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Fails a test that leaves another environment; set up before monkeypatch, so that it looks after its undoing."""
    environment = dict(os.environ)
    yield
    changed = {key for key in environment.keys() | os.environ.keys() if environment.get(key) != os.environ.get(key)}
    changed -= {"PYTEST_CURRENT_TEST", "TORCHINDUCTOR_CACHE_DIR"}  # pytest's, and torch's once it counts memory
    for key in changed:
        os.environ.pop(key, None)
        if key in environment:
            os.environ[key] = environment[key]
    assert not changed, f"environment variables left changed: {sorted(changed)}; use monkeypatch"


@pytest.fixture(autouse=True)
def root(same_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's root: `TRACKIO_DIR`, not made yet. No daemon is started but where a test asks for `daemon`."""
    for name in [name for name in os.environ if name.startswith("TRACKIO_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "root"
    monkeypatch.setenv("TRACKIO_DIR", str(folder))
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return folder


@pytest.fixture
def daemon(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets `init()` start a real daemon, which seals ten times a second and has ended when the test has."""
    monkeypatch.setenv("TRACKIO_DAEMON", "process")
    monkeypatch.setenv("TRACKIO_SEAL_INTERVAL_S", "0.1")
    monkeypatch.setenv("TRACKIO_IDLE_EXIT_S", "2")
    yield
    _end([process for process in psutil.process_iter() if _serves(process, root)])


@pytest.fixture(autouse=True)
def nothing_left_behind(root: Path) -> Iterator[None]:
    """Fails a test that leaves a thread of ours or a child process."""
    threads = set(threading.enumerate())
    children = set(psutil.Process().children())
    yield
    left_threads = [t for t in threading.enumerate() if t not in threads and t.name.startswith(THREAD_PREFIX)]
    for thread in left_threads:
        thread.join(END_TIMEOUT_S)
    left_children = [
        child for child in psutil.Process().children() if child not in children and not _serves(child, root)
    ]
    _, left_children = psutil.wait_procs(left_children, timeout=1)
    left_commands = [_command(child) for child in left_children]
    _end(left_children)
    assert not [t.name for t in left_threads if t.is_alive()], "threads left running; close or finish what started them"
    assert not left_commands, f"child processes left running: {left_commands}"


def _serves(process: psutil.Process, root: Path) -> bool:
    """Whether a process is a daemon of this test: of its root, or of another one in its folder."""
    try:
        words = process.cmdline()
    except (psutil.Error, OSError):
        return False
    return DAEMON_MODULE in words and any(word.startswith(str(root.parent)) for word in words)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return str(process)


def _end(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(processes, timeout=END_TIMEOUT_S)
    for process in stubborn:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
