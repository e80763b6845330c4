"""A progress bar for people who wait: after a second, on a terminal in place, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

SHOWN_AFTER_S: Final = 1.0
LINE_EVERY_S: Final = 10.0
"""Where there is no terminal, a log file gets a line only so often."""
_WIDTH: Final = 24


class Progress:
    """Shows how much of something is done, on stderr; a broken stderr is no reason to fail."""

    def __init__(
        self, what: str, *, amount: Callable[[int], str] | None = None, is_for_terminals: bool = False
    ) -> None:
        """Shows nothing yet.

        Args:
            what: what goes on, such as `Sending`.
            amount: how a number of what is done reads; as bytes where None.
            is_for_terminals: show nothing where there is no terminal.
        """
        self._what = what
        self._amount = amount or size_text
        self._is_for_terminals = is_for_terminals
        self._shown = ""
        self._line_due_s = SHOWN_AFTER_S

    def show(self, done: int, total: int, waited_s: float) -> None:
        """Shows how far it is, where somebody has waited long enough to ask.

        Args:
            done: how much is done, such as bytes that have arrived.
            total: how much there is in all, as far as known.
            waited_s: seconds since it began.
        """
        if waited_s < SHOWN_AFTER_S:
            return
        text = f"{self._what} {_bar(done, total)} {self._amount(done)} of {self._amount(total)}, {waited_s:.0f} s"
        if _is_terminal():
            self._write(f"\r{text:<{len(self._shown)}}")
            self._shown = text
        elif waited_s >= self._line_due_s and not self._is_for_terminals:
            self._line_due_s = waited_s + LINE_EVERY_S
            self._write(f"{text}\n")

    def clear(self) -> None:
        """Takes the bar off the terminal; idempotent."""
        if self._shown:
            self._write(f"\r{'':<{len(self._shown)}}\r")
            self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _bar(done: int, total: int) -> str:
    share = min(done / total, 1.0) if total > 0 else 0.0
    filled = int(share * _WIDTH)
    return f"[{'=' * filled}{' ' * (_WIDTH - filled)}] {share:4.0%}"


def size_text(num_bytes: int) -> str:
    """Bytes as people read them: `1.2 MB`."""
    if num_bytes < 1000:
        return f"{num_bytes} B"
    amount = float(num_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            break
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError, OSError):
        return False


__all__ = ["Progress", "size_text"]
