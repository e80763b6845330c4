"""Frozen dashboards, and a Node process that asks one what a page would ask."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from space_app.freeze.page import DIST


@pytest.fixture
def asking():
    """Gives a function that asks a frozen dashboard behind a URL."""
    node = shutil.which("node")
    if node is None:
        # Where everything must have run, a skip would pass for an agreement that nobody looked at.
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Node is not installed")
    manifest = json.loads((DIST / "manifest.json").read_text())
    script = os.path.join(os.path.dirname(__file__), "ask.mjs")

    @contextmanager
    def start(url="http://127.0.0.1:9/"):
        command = [node, script, str(DIST / manifest["frozen_script"]), url]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

            def ask(name, **question):
                process.stdin.write(json.dumps([name, question]) + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            yield ask
            process.stdin.close()

    return start
