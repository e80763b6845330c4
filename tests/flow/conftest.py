"""Training scripts as real processes, and what is left of them."""

import subprocess
import sys
import textwrap
import time

import pytest

import trackio_like as trackio


@pytest.fixture
def script(tmp_path):
    """Starts a script of the text given; ended with the test, whatever happens."""
    started = []

    def start(text, *args, **options):
        path = tmp_path / f"train{len(started)}.py"
        path.write_text("import trackio_like as trackio\n" + textwrap.dedent(text))
        process = subprocess.Popen(
            [sys.executable, str(path), *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            **options,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def run_script(script):
    """Runs a script to its end: exit status, output, errors."""

    def run(text, *args, **options):
        process = script(text, *args, **options)
        output, errors = process.communicate(timeout=50)
        return process.returncode, output, errors

    return run


def until(condition, timeout_s=20.0):
    """What a condition gives once it is true; fails the test where it never is."""
    deadline = time.monotonic() + timeout_s
    wait = __import__("threading").Event().wait
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        wait(0.05)
    raise AssertionError(f"not within {timeout_s} s: {condition}")


def steps(project="p", run=None):
    """Steps of every row of a run, in call order."""
    runs = trackio.Api().runs(project)
    (chosen,) = [r for r in runs if run is None or run in (r.id, r.name)]
    return chosen.history()["step"].to_pylist()


def only_run(project="p"):
    (run,) = trackio.Api().runs(project)
    return run
