"""`python -m trackio_like.daemon ROOT`: the daemon as a process of its own; started by `init()`."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

from trackio_like._settings import Settings, prepare_for_sending
from trackio_like.daemon.loop import serve


class _WithoutPandas(MetaPathFinder):
    """Hides pandas, which pyarrow loads at its first array where it can: half a second and 60 MB for nothing."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system's signature
        target: ModuleType | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Says that there is no pandas.

        Raises:
            ImportError: pandas is asked for.
        """
        if fullname == "pandas":
            raise ImportError("The daemon does without pandas.", name=fullname)


def main(root: str) -> int:
    """Seals and sends a root until nobody logs into it and nothing waits.

    Args:
        root: absolute path of the root.

    Returns:
        The exit status.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(process)d %(levelname)s %(message)s")
    prepare_for_sending()
    sys.meta_path.insert(0, _WithoutPandas())
    if hasattr(os, "nice"):
        os.nice(5)  # training goes first on a busy machine
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    serve(replace(Settings.from_env(), root=Path(root)), stop)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
