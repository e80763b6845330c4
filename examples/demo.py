"""What `make demo` runs: the dashboard in a browser, and beside it a training whose curves grow while you watch."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import trackio_like as trackio

PROJECT = "digits"


def main() -> None:
    """Serves until Ctrl-C."""
    print("Starting the dashboard ...", flush=True)
    with trackio.show(PROJECT, block=False) as dashboard, contextlib.suppress(KeyboardInterrupt):
        print(f"\n  Watch it live: {dashboard.url}\n\nTraining four small networks, about a minute ...", flush=True)
        subprocess.run([sys.executable, Path(__file__).with_name("train_digits.py"), "--project", PROJECT], check=True)
        print(f"\nTrained. The dashboard stays at {dashboard.url}")
        print("Ctrl-C stops it; `.venv/bin/trackio-like show` brings it back.", flush=True)
        dashboard.wait()


if __name__ == "__main__":
    main()
