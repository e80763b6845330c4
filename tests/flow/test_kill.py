"""No row is lost or doubled, whoever is killed, and the run says how it ended."""

import os
import random
import signal

import psutil
import pytest

import trackio_like as trackio
from tests.flow.conftest import only_run, steps, until
from trackio_like.run.hostlock import daemon_lock

ENDLESS = """
    import sys
    trackio.init(project="p", name="n")
    for step in range(10_000_000):
        trackio.log({"a": step, "b": step / 2})
        sys.stdout.write(f"{step}\\n")
        sys.stdout.flush()
"""


def last_returned(process, how_many):
    """Reads until so many calls have returned; the last one's step."""
    last = -1
    for _ in range(how_many):
        last = int(process.stdout.readline())
    return last


def rest_returned(process, last):
    """The last step that the dead process said it had logged."""
    lines = process.stdout.read().splitlines()
    whole = [line for line in lines if line.isdigit()]
    return max([last, *map(int, whole)]) if whole else last


def daemons(root):
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if "trackio_like.daemon" in words and str(root) in words:
            found.append(process)
    return found


def expect_exactly_once(last):
    """Every returned row is there, in order, once; a row whose log() had not returned may be there too."""
    found = steps()
    by_key = found[::2]
    assert found == [step for step in by_key for _ in "ab"]
    assert by_key[: last + 1] == list(range(last + 1))
    assert len(by_key) <= last + 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_training_process_loses_no_row_that_log_returned_from(script, daemon, number, seed):
    process = script(ENDLESS)
    last = last_returned(process, random.Random(seed).randint(1, 4000))
    process.send_signal(number)
    process.wait()
    last = rest_returned(process, last)
    expect_exactly_once(last)
    until(lambda: only_run().state == "crashed", timeout_s=5)
    expect_exactly_once(last)


def test_os_exit_loses_nothing(run_script, daemon):
    run_script(
        """
        import os
        trackio.init(project="p", name="n")
        for step in range(500):
            trackio.log({"a": step, "b": 1})
        os._exit(3)
        """
    )
    expect_exactly_once(499)
    assert only_run().state == "crashed"


def test_a_killed_daemon_is_replaced_and_nothing_is_lost_or_doubled(script, daemon, root):
    process = script(ENDLESS)
    last_returned(process, 100)
    (first,) = until(lambda: daemons(root))
    first.kill()
    last_returned(process, 100)
    until(lambda: [d for d in daemons(root) if d.pid != first.pid], timeout_s=30)
    last = last_returned(process, 100)
    process.kill()
    process.wait()
    last = rest_returned(process, last)
    expect_exactly_once(last)


def test_both_killed_at_once_leaves_every_row_readable_and_the_next_run_seals_them(script, run_script, daemon, root):
    process = script(ENDLESS)
    last = last_returned(process, 1500)
    found = until(lambda: daemons(root))
    process.kill()
    for one in found:
        one.kill()
    process.wait()
    last = rest_returned(process, last)
    expect_exactly_once(last)
    assert only_run().state == "crashed"
    run_script("trackio.init(project='other'); trackio.log({'x': 1})")
    until(lambda: not list((root / "p").rglob("*.journal")))
    expect_exactly_once(last)


def test_ctrl_c_of_the_job_does_not_reach_the_daemon_and_is_recorded(script, daemon, root):
    process = script(ENDLESS, start_new_session=True)
    last_returned(process, 50)
    (one,) = until(lambda: daemons(root))
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert one.is_running()
    assert only_run().state == "cancelled"


def test_an_uncaught_exception_is_recorded_and_its_traceback_untouched(run_script):
    code, _, errors = run_script(
        """
        trackio.init(project="p")
        trackio.log({"a": 1})
        raise ValueError("last words")
        """
    )
    assert code == 1
    assert "ValueError: last words" in errors
    assert only_run().state == "failed"
    (finish,) = [event for event in only_run().events() if event.type == "finish"]
    assert finish.payload["error"] == "ValueError('last words')"


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        ("sys.exit(1)", "failed"),
        ("sys.exit('no data')", "failed"),
        ("sys.exit(0)", "finished"),
        ("sys.exit()", "finished"),
        ("threading.Thread(target=sys.exit, args=(1,)).start()", "finished"),
        ("raise KeyboardInterrupt", "cancelled"),
    ],
)
def test_the_exit_status_of_a_script_is_its_runs_state(run_script, ending, state):
    run_script(f"""
        import sys, threading
        trackio.init(project='p')
        {ending}
    """)
    assert only_run().state == state


def test_a_script_that_ends_without_finish_is_finished(run_script):
    assert run_script("trackio.init(project='p'); trackio.log({'a': 1})")[0] == 0
    assert only_run().state == "finished"


def test_sigterm_records_its_state_when_asked_to_and_still_ends_the_process(script):
    process = script(ENDLESS, env={**os.environ, "TRACKIO_HANDLE_SIGTERM": "1"})
    last = last_returned(process, 100)
    process.terminate()
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert only_run().state == "terminated"
    assert steps()[::2][: last + 1] == list(range(last + 1))


def test_a_users_own_signal_handler_is_called(run_script):
    code, output, _ = run_script(
        """
        import os, signal, sys
        def handler(*_):
            trackio.log({"last": 1})
            trackio.finish(state="preempted")
            print("mine")
            sys.exit(143)
        signal.signal(signal.SIGTERM, handler)
        trackio.init(project="p")
        os.kill(os.getpid(), signal.SIGTERM)
        """,
        env={**os.environ, "TRACKIO_HANDLE_SIGTERM": "1"},
    )
    assert (code, output) == (143, "mine\n")
    assert only_run().state == "preempted"
    assert only_run().history()["key"].to_pylist() == ["last"]


def test_the_daemon_ends_when_nobody_logs(run_script, daemon, root):
    run_script("trackio.init(project='p'); trackio.log({'a': 1})")
    until(lambda: not list(root.rglob("*.journal")))
    until(lambda: not daemons(root), timeout_s=30)
    assert not daemon_lock(root).is_held()
    assert trackio.Api().run("p", only_run().id).history()["value"].to_pylist() == [1.0]


def test_one_daemon_serves_a_root(script, daemon, root):
    processes = [
        script("import sys\ntrackio.init(project='p')\nprint(1, flush=True)\nsys.stdin.read()", stdin=-1)
        for _ in range(4)
    ]
    for process in processes:
        process.stdout.readline()
    until(lambda: daemon_lock(root).is_held())
    until(lambda: len(daemons(root)) == 1)
    for process in processes:
        process.stdin.close()
    for process in processes:
        process.wait()
