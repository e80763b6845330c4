"""Whatever is raised at whichever line of an evaluation: model, optimizer and random numbers are as before."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import trackio_like
from tests.landscape import zoo
from tests.module_state import fingerprint
from trackio_like.landscape import Evaluation

PACKAGE = str(Path(trackio_like.__file__).parent)
KEEPING, LANDSCAPE = "module_state", "landscape"
EVERY = 13
"""Of the lines that keep nothing themselves, one of so many is tried."""

Line = tuple[str, int]


class Training:
    """A model in the middle of being trained."""

    def __init__(self):
        case = zoo.make("cnn-bn")
        self.model, self.batches = case.model, case.batches
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.model(self.batches[0][0]).sum().backward()
        self.optimizer.step()
        self.model.register_forward_hook(lambda *_: None)
        self.model.norm2.weight.requires_grad_(False)

    def evaluate(self, trace=None, mode="serial"):
        evaluation = Evaluation(self.model, self.batches, n=2, exact=True, mode=mode)
        before = sys.gettrace()
        sys.settrace(trace or before)
        try:
            evaluation.run()
        finally:
            sys.settrace(before)

    def fingerprint(self):
        found = fingerprint.of_module(self.model) | fingerprint.of_process()
        return found | {"optimizer": fingerprint.of_optimizer(self.optimizer)}


def lines_of(training: Training, folder: str, mode: str) -> dict[Line, int]:
    """Each line that an evaluation runs, and how often."""
    found: dict[Line, int] = {}

    def trace(frame, event, arg):
        if not frame.f_code.co_filename.startswith(f"{PACKAGE}/{folder}/"):
            return None
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            found[line] = found.get(line, 0) + 1
        return trace

    training.evaluate(trace, mode)
    return found


def raising_at(line: Line, time: int, error: type[BaseException]):
    """A trace function that raises when a line is run for so many times."""
    num = 0

    def trace(frame, event, arg):
        nonlocal num
        if frame.f_code.co_filename != line[0]:
            return trace if frame.f_code.co_filename.startswith(PACKAGE) else None
        if event == "line" and frame.f_lineno == line[1]:
            num += 1
            if num == time:
                raise error("injected")
        return trace

    return trace


@pytest.fixture
def training() -> Iterator[Training]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    found = Training()
    found.evaluate()
    yield found
    torch.set_num_threads(before)


# What is raised while an object goes away is only printed by Python, here as anywhere.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("folder", "error", "mode"),
    [
        (KEEPING, KeyboardInterrupt, "serial"),
        (KEEPING, RuntimeError, "serial"),
        (KEEPING, torch.OutOfMemoryError, "vector"),
        (LANDSCAPE, KeyboardInterrupt, "serial"),
        (LANDSCAPE, MemoryError, "serial"),
        (LANDSCAPE, KeyboardInterrupt, "vector"),
        (LANDSCAPE, torch.OutOfMemoryError, "vector"),
    ],
)
def test_a_fault_at_any_line_leaves_training_as_it_was(training, folder, error, mode):
    lines = sorted(lines_of(training, folder, mode).items())
    assert len(lines) > 50
    step = EVERY if folder == LANDSCAPE else 1 if mode == "serial" else 4
    for number, (line, times) in enumerate(lines[::step]):
        # By turns the first, the last and one between.
        time = (1, times, (times + 1) // 2)[number % 3]
        before = training.fingerprint()
        with contextlib.suppress(error):  # the faults of one way may be mended by another
            training.evaluate(raising_at(line, time, error), mode)
        assert fingerprint.changes(before, training.fingerprint()) == [], f"after {error.__name__} at {line}, {time}"
