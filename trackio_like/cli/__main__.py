"""`python -m trackio_like.cli`: the same as the command `trackio-like`."""

from __future__ import annotations

import sys

from trackio_like.cli import main

if __name__ == "__main__":
    sys.exit(main())
