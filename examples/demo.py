"""What `make demo` runs: the dashboard in a browser, and beside it a training whose curves grow while you watch."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

PROJECT = "digits"
HOST = "127.0.0.1"
PORT = 7860
START_TIMEOUT_S = 120


def main() -> int:
    """Serves until Ctrl-C; returns the exit status."""
    port = free_port(PORT)
    url = f"http://{HOST}:{port}/?project={PROJECT}"
    command = [sys.executable, "-m", "trackio_like.cli", "show", "--host", HOST, "--port", str(port), "--no-browser"]
    print(f"Starting the dashboard on {url} ...", flush=True)
    dashboard = subprocess.Popen(command)
    try:
        if not is_up(dashboard, f"http://{HOST}:{port}/t/meta"):
            print("The dashboard did not start; its own words are above.", file=sys.stderr)
            return 1
        print(f"\n  Watch it live: {url}\n\nTraining four small networks, about a minute ...", flush=True)
        if has_browser():
            webbrowser.open(url)
        subprocess.run([sys.executable, Path(__file__).with_name("train_digits.py"), "--project", PROJECT], check=True)
        print(f"\nTrained. The dashboard goes on at {url}\nStop it with Ctrl-C; see it again with: trackio-like show")
        return dashboard.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        dashboard.terminate()
        dashboard.wait()


def free_port(wanted: int) -> int:
    """The wanted port, or the next one where something else listens there."""
    for port in range(wanted, wanted + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise SystemExit(f"No port is free from {wanted} to {wanted + 99}; stop what listens there.")


def is_up(dashboard: subprocess.Popen[bytes], url: str) -> bool:
    """Waits until the dashboard answers; False where it ended or took longer than `START_TIMEOUT_S`."""
    pause = threading.Event()
    for _ in range(START_TIMEOUT_S * 5):
        if dashboard.poll() is not None:
            return False
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            pause.wait(0.2)
    return False


def has_browser() -> bool:
    """Whether opening one would show something: not on a server, not inside continuous integration."""
    if os.environ.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())
