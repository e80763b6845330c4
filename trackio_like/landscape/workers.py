"""Processes that measure beside this one, on the CPU: forked while the model is lent, ended when it is given back.

All of them, this process too, take points from one pipe, so nobody is idle while there are any. A worker that dies or
hangs costs its last points only, which this process measures again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import struct
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Self

import torch

from trackio_like.landscape.errors import LandscapeError, TimeIsUpError
from trackio_like.landscape.evaluator import Evaluator, Point
from trackio_like.landscape.measuring import LocalSource, Stored
from trackio_like.landscape.plan import Needs, Way
from trackio_like.landscape.tune import reason

if TYPE_CHECKING:
    from torch import nn

_TICK_S: Final = 0.2
"""How often this process looks at the clock while it waits, and a worker whether this process is still there."""
_PATIENCE_S: Final = 10.0
"""How long a worker may be silent at least, when all others have finished: a busy machine needs some of it."""
_PATIENCE_PARTS: Final = 20
"""And how many times the longest that this process took."""


@dataclass(slots=True, kw_only=True)
class _Child:
    pid: int
    answers: Connection


class Workers:
    """This process and those beside it; within `with`."""

    def __init__(self, local: LocalSource, num: int) -> None:
        """Starts nothing yet.

        Args:
            local: this process; its model is lent and its way is chosen.
            num: how many processes beside it; 0 for none.
        """
        self.local = local
        self._num = num
        self._children: list[_Child] = []
        self._jobs: _Jobs | None = None
        self._num_given = 0
        self._longest_s = 0.0

    def __enter__(self) -> Self:
        """Starts the processes."""
        try:
            if self._num:
                self._jobs = _Jobs()
            for _ in range(self._num):
                self._start(self._jobs)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends them at once: they hold nothing that is not known here."""
        self.close()

    def measure(self, points: Sequence[Point], stored: Stored) -> None:
        """Hands over each loss as soon as it is known; see `Source`."""
        if self._jobs is None or not self._children or len(points) < 2:
            self.local.measure(points, stored)
            return
        jobs = self._jobs
        # Numbers go on from list to list, so that a late answer is not taken for one of this list.
        first, self._num_given = self._num_given, self._num_given + len(points)
        share = -(-len(points) // (len(self._children) + 1))
        given = deque((first + number, point) for number, point in enumerate(points))
        left = dict.fromkeys(range(len(points)))
        num_children = len(self._children)
        began_s: float | None = None

        def keep(number: int, loss: float) -> None:
            if number in left:
                del left[number]
                stored(number, loss)

        def take(num: int) -> list[tuple[int, Point]]:
            nonlocal began_s
            now_s = time.monotonic()
            self._longest_s = max(self._longest_s, 0.0 if began_s is None else now_s - began_s)
            began_s = now_s
            for number, loss in self._received(0):
                keep(number - first, loss)
            while True:
                jobs.put(given, share)
                found = jobs.take(min(num, share))
                if found or not given:
                    return [(number - first, point) for number, point, _ in found]

        self.local.measure_taken(take, keep)
        silent_since_s = time.monotonic()
        while left and len(self._children) == num_children:
            self._check_time()
            for number, loss in self._received(_TICK_S):
                keep(number - first, loss)
                silent_since_s = time.monotonic()
            silence_s = time.monotonic() - silent_since_s
            if silence_s > _PATIENCE_S + _PATIENCE_PARTS * self._longest_s:
                self.local.choice.notes.append(f"workers were silent for {silence_s:.0f} s, and were ended")
                self.close()
        numbers = list(left)
        self.local.measure([points[number] for number in numbers], lambda i, loss: keep(numbers[i], loss))

    def close(self) -> None:
        """Ends the processes, also where Ctrl-C comes in between; that is raised afterwards. Idempotent."""
        interrupt: KeyboardInterrupt | None = None
        while self._children or self._jobs is not None:
            try:
                if self._jobs is not None:
                    self._jobs.close()
                    self._jobs = None
                while self._children:
                    _end(self._children[-1])
                    self._children.pop()
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _start(self, jobs: _Jobs | None) -> None:
        assert jobs is not None
        receiver, sender = Pipe(duplex=False)
        way = replace(self.local.choice.way, num_threads=1)
        parent = os.getpid()
        # A signal between the fork and the child's own handlers would run this process's handlers there.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            pid = _fork()
            if pid == 0:
                _be_worker(self.local.evaluator, way, jobs, sender, parent=parent, held=held)
            self._children.append(_Child(pid=pid, answers=receiver))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            sender.close()

    def _received(self, timeout_s: float) -> Iterator[tuple[int, float]]:
        """The answers that are there, or come within the time."""
        while ready := wait([child.answers for child in self._children], timeout_s):
            timeout_s = 0
            for child in [child for child in self._children if child.answers in ready]:
                try:
                    answer: list[tuple[int, float]] | str = child.answers.recv()
                except (EOFError, OSError):
                    answer = "it was killed"
                if isinstance(answer, str):
                    self._children.remove(child)
                    _end(child)
                    self.local.choice.notes.append(f"a worker ended, and the others went on: {answer}")
                else:
                    yield from answer

    def _check_time(self) -> None:
        if self.local.deadline_s is not None and time.monotonic() >= self.local.deadline_s:
            raise TimeIsUpError


def check_workers(num: int, model: nn.Module) -> None:
    """Whether a model can be evaluated by several processes of this machine.

    Raises:
        LandscapeError: it cannot.
    """
    if not num:
        return
    if not hasattr(os, "fork"):
        raise LandscapeError("workers= needs processes that can be forked, which this system has not: leave it out.")
    tensors = [*model.parameters(), *model.buffers()]
    if other := next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), None):
        raise LandscapeError(f"workers= is for models on the CPU, and this one is on {other}: leave workers= out.")
    if any(tensor.is_shared() for tensor in tensors):
        raise LandscapeError(
            "workers= is not for models in shared memory (share_memory()), where all processes would move the same "
            "weights: leave workers= out."
        )


def affordable(
    num: int, needs: Needs, way: Way, *, keeps_directions: bool, product_bytes: int, budget_bytes: int
) -> int:
    """How many processes fit the memory budget beside this one.

    Args:
        num: wanted.
        needs: what the parts of an evaluation take.
        way: how each of them measures.
        keeps_directions: whether directions lie in memory, which all share.
        product_bytes: what the products of the first layer take, in each.
        budget_bytes: what all may take together.
    """
    own = needs.of(replace(way, first_layer=False), keeps_directions=keeps_directions) + product_bytes
    shared = needs.backup_bytes + (2 * needs.direction_bytes if keeps_directions else 0)
    # What a process writes to is its own: the moved weights, and what a forward pass makes.
    each = max(1, own - shared + needs.moved_bytes)
    return max(0, min(num, (budget_bytes - own) // each))


# -- the points that are to be measured ------------------------------------------------------------------------------


class _Jobs:
    """A pipe that any process takes points from, each point once."""

    _RECORD: Final = struct.Struct("=qddq")
    """Number, x, y, and how many a process may take at once: 32 bytes, of which whole ones are read and written."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def put(self, given: deque[tuple[int, Point]], share: int) -> None:
        """Moves as many into the pipe as it holds."""
        most = select.PIPE_BUF // self._RECORD.size  # more may be written in parts
        while given:
            part = [given.popleft() for _ in range(min(most, len(given)))]
            try:
                os.write(self._writer, b"".join(self._RECORD.pack(number, *point, share) for number, point in part))
            except BlockingIOError:
                given.extendleft(reversed(part))
                return

    def take(self, num: int) -> list[tuple[int, Point, int]]:
        """At most so many, none where none is there."""
        if num < 1:
            return []
        try:
            found = os.read(self._reader, num * self._RECORD.size)
        except BlockingIOError:
            return []
        if not found:
            raise EOFError
        return [(number, (x, y), share) for number, x, y, share in self._RECORD.iter_unpack(found)]

    def await_some(self, chunk: int, *, parent: int) -> list[tuple[int, Point]]:
        """In a worker: waits for the next points; none where there will be no more."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        while os.getppid() == parent:
            poll.poll(_TICK_S * 1e3)
            try:
                found = self.take(1)
                if found:
                    found += self.take(min(chunk, found[0][2]) - 1)
                    return [(number, point) for number, point, _ in found]
            except EOFError:
                break
        return []

    def close_writer(self) -> None:
        """In a worker: else it would wait for itself."""
        os.close(self._writer)

    def close(self) -> None:
        """Nobody takes any more."""
        os.close(self._reader)
        os.close(self._writer)


# -- a worker --------------------------------------------------------------------------------------------------------


def _fork() -> int:
    with warnings.catch_warnings():
        # What the child goes on with is one thread's numbers: it takes no lock that another thread could have held.
        warnings.filterwarnings("ignore", message=".*fork.*")
        return os.fork()


def _be_worker(
    evaluator: Evaluator, way: Way, jobs: _Jobs, answers: Connection, *, parent: int, held: set[int | signal.Signals]
) -> NoReturn:
    """All that a worker does; nothing of this process's program runs in it, not even its end."""
    try:
        _leave_the_program(held)
        # Before any operation: a parallel region in a forked process waits for threads that are not there.
        torch.set_num_threads(1)
        jobs.close_writer()
        with evaluator.using(way) as losses:
            while part := jobs.await_some(way.chunk, parent=parent):
                found = losses([point for _, point in part])
                answers.send([(number, loss) for (number, _), loss in zip(part, found, strict=True)])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent does the work then
        with contextlib.suppress(BaseException):
            answers.send(reason(error))
    finally:
        os._exit(0)


def _leave_the_program(held: set[int | signal.Signals]) -> None:
    """No handler, finalizer or output of the program is this process's."""
    gc.freeze()
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent decides
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, held)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def _end(child: _Child) -> None:
    child.answers.close()
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # someone else has waited for it
        os.waitpid(child.pid, 0)


__all__ = ["Workers", "affordable", "check_workers"]
