"""`python -m trackio_like.sync ROOT`: the daemon as a process of its own; started by `init()`."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

from trackio_like._settings import Settings
from trackio_like.sync.daemon import serve


def main(root: str) -> int:
    """Seals a root until nobody logs into it.

    Args:
        root: absolute path of the root.

    Returns:
        The exit status.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(process)d %(levelname)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(5)  # training goes first on a busy machine
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    serve(replace(Settings.from_env(), root=Path(root)), stop)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
