"""`python -m space_app`: serves the dashboard until it is told to end."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

from trackio_like._settings import Settings, space_login


def main(arguments: list[str] | None = None) -> int:
    """Serves; returns the exit status.

    Args:
        arguments: the command line, without the program.
    """
    parser = argparse.ArgumentParser(prog="python -m space_app", description=__doc__)
    parser.add_argument("--root", type=Path, help="folder that holds every project")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument(
        "--ends-with-stdin", action="store_true", help="end when standard input closes: with the caller"
    )
    options = parser.parse_args(arguments)
    if options.ends_with_stdin:
        threading.Thread(target=_end_with_stdin, name="trackio-like-stdin", daemon=True).start()
    from space_app.app import launch
    from space_app.doors import doors_of

    settings = Settings.from_env()
    root = options.root or settings.root
    doors = doors_of(settings, space_login(), host=options.host, port=options.port)
    try:
        launch(
            root.expanduser().resolve(),
            host=options.host,
            port=options.port,
            access=doors.access,
            people=doors.people,
            max_bytes=doors.max_bytes,
        )
    except OSError as error:
        sys.stderr.write(f"The dashboard cannot listen on {options.host}:{options.port}: {error}\n")
        return 3
    return 0


def _end_with_stdin() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    # The server's threads wait for clients that may never leave; nothing here needs to be saved.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
