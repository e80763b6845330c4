"""All random generators, put back as they were."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def random_states_kept() -> Iterator[None]:
    """What is drawn inside has not been drawn outside: Python, numpy, torch on the CPU and on devices in use."""
    put_back = random_states_undo()
    try:
        yield
    finally:
        put_back()


def random_states_undo() -> Callable[[], None]:
    """What puts all generators back as they are now."""
    python = random.getstate()
    numpy = np.random.get_state()  # noqa: NPY002 - the old one is what is used
    cpu = torch.get_rng_state()
    # Asking a device that was never used would start it.
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None

    def undo() -> None:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if mps is not None:
            torch.mps.set_rng_state(mps)

    return undo


def generator_undo(value: Any) -> Callable[[], None] | None:
    """What puts a generator of somebody's own back as it is now; None where the value is no generator."""
    match value:
        case torch.Generator():
            state = value.get_state()

            def undo() -> None:
                value.set_state(state)

            return undo
        case np.random.Generator():
            bits = value.bit_generator.state
            return lambda: setattr(value.bit_generator, "state", bits)
        case np.random.RandomState():
            old = value.get_state()
            return lambda: value.set_state(old)
        case random.Random():
            python = value.getstate()
            return lambda: value.setstate(python)
        case _:
            return None


def seed_all(seed: int) -> None:
    """Starts every generator that a forward pass may draw from anew; within `random_states_kept`."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    torch.manual_seed(seed)


__all__ = ["generator_undo", "random_states_kept", "random_states_undo", "seed_all"]
