"""All random generators, put back as they were."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def random_states_kept() -> Iterator[None]:
    """What is drawn inside has not been drawn outside: Python, numpy, torch on the CPU and on devices in use."""
    python = random.getstate()
    numpy = sys.modules.get("numpy")  # whoever has not imported it draws nothing from it
    numpy_state = None if numpy is None else numpy.random.get_state()
    cpu = torch.get_rng_state()
    # Asking a device that was never used would start it.
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
    try:
        yield
    finally:
        random.setstate(python)
        if numpy is not None and numpy_state is not None:
            numpy.random.set_state(numpy_state)
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if mps is not None:
            torch.mps.set_rng_state(mps)


def seed_all(seed: int) -> None:
    """Starts every generator that a forward pass may draw from anew; within `random_states_kept`."""
    random.seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


__all__ = ["random_states_kept", "seed_all"]
