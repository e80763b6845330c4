"""`python -m space_app`: serves the dashboard until it is told to end."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

from trackio_like._settings import Settings, space_login
from trackio_like.errors import RemoteError


def main(arguments: list[str] | None = None) -> int:
    """Serves; returns the exit status.

    Args:
        arguments: the command line, without the program.
    """
    parser = argparse.ArgumentParser(prog="python -m space_app", description=__doc__)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--root", type=Path, help="folder that holds every project")
    shown.add_argument("--bucket", metavar="ID", help="a bucket, read only")
    shown.add_argument("--dataset", metavar="ID", help="a dataset, read only")
    shown.add_argument("--space", metavar="ID", help="what a Space shows, read only")
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
    from trackio_like.store.source import open_source

    settings = Settings.from_env()
    doors = doors_of(settings, space_login(), host=options.host, port=options.port)
    try:
        source = open_source(
            None if options.root is None else options.root.expanduser().resolve(),
            bucket_id=options.bucket,
            dataset_id=options.dataset,
            space_id=options.space,
        )
    except (RemoteError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 4
    try:
        launch(
            source,
            host=options.host,
            port=options.port,
            access=doors.access,
            people=doors.people,
            max_bytes=doors.max_bytes,
        )
    except OSError as error:
        sys.stderr.write(f"The dashboard cannot listen on {options.host}:{options.port}: {error}\n")
        return 3
    finally:
        source.close()
    return 0


def _end_with_stdin() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    # The server's threads wait for clients that may never leave; nothing here needs to be saved.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
