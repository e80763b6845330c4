"""Sealing a root once, without a daemon."""

from __future__ import annotations

from pathlib import Path

from trackio_like.daemon.root_sealer import PassReport, RootSealer


def seal_root(root: Path) -> PassReport:
    """Seals and compacts what a root holds now. Safe beside a daemon: rows are never doubled.

    Raises:
        OSError: the root cannot be written; journals keep every row.
    """
    return RootSealer(root).run_pass()


__all__ = ["seal_root"]
