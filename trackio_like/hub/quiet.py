"""No progress bars of the Hub's client while we send: they would fill a training script's output."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

from huggingface_hub.utils import (  # type: ignore[attr-defined]  # loaded lazily there
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

_lock = threading.Lock()
_num_inside = 0


@contextlib.contextmanager
def without_progress_bars() -> Iterator[None]:
    """Turns the client's bars off while any thread is inside, and on again where they were on before."""
    global _num_inside  # noqa: PLW0603 - the client's switch is the process's as well
    with _lock:
        was_off = are_progress_bars_disabled()
        if not was_off:
            _switch(is_on=False)
        is_ours = not was_off or _num_inside > 0
        _num_inside += is_ours
    try:
        yield
    finally:
        with _lock:
            _num_inside -= is_ours
            if is_ours and not _num_inside:
                _switch(is_on=True)


def _switch(*, is_on: bool) -> None:
    with warnings.catch_warnings():
        # The user's own setting by environment goes first, and the client warns that it does.
        warnings.simplefilter("ignore")
        (enable_progress_bars if is_on else disable_progress_bars)()


__all__ = ["without_progress_bars"]
