"""The right final state for a process that ends: at exit, by an exception, as a worker, by SIGTERM."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import NoReturn

from trackio_like.run.core import LoggingRun
from trackio_like.run.identity import end_state, error_text


class ExitHooks:
    """Finishes open runs when the process ends. Hooks are chained, never replaced."""

    def __init__(
        self,
        open_runs: Callable[[], list[LoggingRun]],
        *,
        on_exit: Callable[[], None],
        on_termination: Callable[[], None],
    ) -> None:
        """Installs nothing yet.

        Args:
            open_runs: the runs that this process has open.
            on_exit: called last, once all are finished.
            on_termination: called once all are finished for SIGTERM, before the process ends.
        """
        self._open_runs = open_runs
        self._on_exit = on_exit
        self._on_termination = on_termination
        self.is_ending = False
        """Whether the process ends: what runs still send is waited for once, when all are finished."""
        self._error: BaseException | None = None
        self._pid = -1
        self._worker_frame: FrameType | None = None
        self._previous_hook = sys.excepthook
        self._previous_exit: Callable[[sys._ExitCode], object] = sys.exit
        self._previous_sigterm: Callable[[int, FrameType | None], object] | int | None = None

    def install(self, *, handles_sigterm: bool) -> None:
        """Hooks into this process, once.

        Args:
            handles_sigterm: whether SIGTERM records `terminated` first.
        """
        if self._pid == os.getpid():
            return
        is_child = self._pid != -1
        self._pid = os.getpid()
        self._error = None
        util = sys.modules.get("multiprocessing.util")
        process = sys.modules.get("multiprocessing.process")
        is_worker = util is not None and process is not None and process.parent_process() is not None
        if not is_child:
            if not is_worker:
                atexit.register(self._finish_all)
            self._previous_hook = sys.excepthook
            sys.excepthook = self._note_error
            # Python tells no hook of a SystemExit; whoever raises it without sys.exit() has a run that finished.
            self._previous_exit = sys.exit
            sys.exit = self._note_exit
            if handles_sigterm and threading.current_thread() is threading.main_thread():
                self._previous_sigterm = signal.signal(signal.SIGTERM, self._terminate)
        if util is not None and is_worker:
            # Workers of multiprocessing skip atexit up to Python 3.12; a finalizer of theirs is run in all versions.
            self._worker_frame = _bootstrap_frame()
            util.Finalize(None, self._finish_worker, exitpriority=100)

    def _note_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._error = error
        self._previous_hook(kind, error, trace)

    def _note_exit(self, status: sys._ExitCode | None = None, /) -> NoReturn:
        error = SystemExit(status)
        if threading.current_thread() is threading.main_thread():
            self._error = error
        self._previous_exit(status)
        raise error  # another hook's exit that came back

    def _finish_worker(self) -> None:
        # Up to Python 3.12 this runs while the worker's exception passes; later ones have only its exit code left.
        self._error = self._error or sys.exc_info()[1]
        frame = self._worker_frame
        has_failed = frame is not None and bool(frame.f_locals.get("exitcode"))
        self._finish_all("failed" if has_failed and self._error is None else None)

    def _finish_all(self, state: str | None = None) -> None:
        if os.getpid() != self._pid:
            return
        self._finish(state or end_state(self._error), self._error)
        self._on_exit()

    def _finish(self, state: str, error: BaseException | None) -> None:
        self.is_ending = True
        for run in self._open_runs():
            if run.is_open_here:
                run.finish(state, error=error_text(error))

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        previous = self._previous_sigterm
        if callable(previous):
            # The user's handler decides: it may finish the run itself, end the process, or let training go on.
            try:
                previous(number, frame)
            except BaseException:
                self._finish("terminated", None)
                raise
            return
        self._finish("terminated", None)
        if previous != signal.SIG_IGN:
            self._on_termination()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def _bootstrap_frame() -> FrameType | None:
    """The frame of multiprocessing that runs this worker and will hold its exit code; None in another thread."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - multiprocessing offers no hook for a worker's end
    while frame is not None and frame.f_code.co_name != "_bootstrap":
        frame = frame.f_back
    return frame


__all__ = ["ExitHooks"]
