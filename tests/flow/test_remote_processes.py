"""Rows of every kind of process arrive: forked, terminated, without a daemon, or one of many on many hosts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import trackio_like as trackio
from tests.flow.conftest import until
from tests.flow.test_kill import daemons
from tests.flow.test_sending import rows_in, steps_in
from trackio_like.run.hostlock import private_folder

pytestmark = [pytest.mark.usefixtures("hub", "daemon"), pytest.mark.timeout(120)]

TEN_ROWS = """
    run = trackio.init(project="p", bucket_id="me/rows")
    for step in range(10):
        run.log({"a": step})
"""
WAITS_FOR_THE_END = """
    import signal, sys
    run = trackio.init(project="p", bucket_id="me/rows")
    run.log({"a": 0})
    print("waits", flush=True)
    signal.pause()
"""


@pytest.fixture(autouse=True)
def own_copies(hub, tmp_path, monkeypatch):
    """What `Api` copies of a bucket is this test's own: another test had a bucket of the same name."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def state_there():
    with trackio.Api(bucket_id="me/rows") as api:
        (run,) = api.runs("p")
        return run.state


def start_and_wait(script, **env):
    process = script(WAITS_FOR_THE_END, env={**os.environ, **env})
    assert "rows go to" in process.stdout.readline()
    assert process.stdout.readline() == "waits\n"
    return process


@pytest.mark.parametrize("ending", ["run.finish(timeout=60)", ""], ids=["finish()", "the script's end"])
def test_a_thread_sends_where_no_process_may_be_started_and_shows_nothing_of_it(
    hub, run_script, root, monkeypatch, ending
):
    monkeypatch.setenv("TRACKIO_DAEMON", "thread")
    monkeypatch.delenv("HF_HUB_DISABLE_PROGRESS_BARS")
    status, out, errors = run_script(TEN_ROWS + f"    {ending}\n")
    assert (status, errors) == (0, "")
    assert len(out.splitlines()) == 1
    assert steps_in(hub) == list(range(10))
    assert state_there() == "finished"
    assert daemons(root) == []


@pytest.mark.slow
def test_a_thread_whose_hub_hangs_does_not_keep_the_process_alive(hub, run_script, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "thread")
    hub.fail("/api/", kind="hang", times=None)
    status, out, _ = run_script(TEN_ROWS + "    run.finish(timeout=0.2)\n")
    assert status == 0
    assert "wait to be sent. Nothing is lost" in out
    hub.clear_faults()
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    assert all(report.is_complete for report in trackio.sync())
    assert steps_in(hub) == list(range(10))


def test_without_a_daemon_nobody_asks_the_hub_until_sync_does(hub, run_script, root, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    status, out, errors = run_script(TEN_ROWS)
    assert (status, errors) == (0, "")
    assert "2 files wait to be sent, for TRACKIO_DAEMON=off" in out
    assert "`trackio-like sync`" in out
    assert hub.requests == []
    assert daemons(root) == []
    assert all(report.is_complete for report in trackio.sync())
    assert steps_in(hub) == list(range(10))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_rows_of_a_forked_child_arrive_once_beside_its_parents(hub, run_script):
    status, _, errors = run_script(
        TEN_ROWS
        + """
    import multiprocessing

    def work():
        for step in range(10, 15):
            trackio.log({"a": step})

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
    trackio.finish(timeout=60)
    """
    )
    assert status == 0, errors
    assert until(lambda: sorted(steps_in(hub)) == list(range(15)))


def test_sigterm_waits_until_everything_has_arrived(hub, script):
    process = start_and_wait(script, TRACKIO_HANDLE_SIGTERM="1")
    process.terminate()
    process.communicate(timeout=50)
    assert process.returncode == -signal.SIGTERM
    assert steps_in(hub) == [0]
    assert state_there() == "terminated"


@pytest.mark.slow
def test_sigterm_waits_no_longer_than_a_scheduler_does_and_what_is_left_arrives(hub, script):
    hub.down()
    process = start_and_wait(script, TRACKIO_HANDLE_SIGTERM="1", TRACKIO_IDLE_EXIT_S="20")
    process.terminate()
    out, _ = process.communicate(timeout=28)  # Slurm, Kubernetes and others kill after 30 s
    assert process.returncode == -signal.SIGTERM
    assert "wait to be sent. Nothing is lost" in out
    hub.up()
    assert until(lambda: steps_in(hub) == [0], timeout_s=60)
    assert state_there() == "terminated"


def test_ten_hosts_commit_to_one_dataset_at_once_and_every_row_is_there_once(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    started = []
    for number in range(10):
        root, private = tmp_path / f"root{number}", tmp_path / f"private{number}"
        private.mkdir()
        with trackio.Run("p", f"rank{number}", root=root) as run:
            for step in range(5):
                run.log({"a": number * 5 + step})
        command = [sys.executable, "-m", "trackio_like.cli", "sync", "--root", str(root), "--dataset", "me/shared"]
        # What the processes of one host share lies below its temporary folder.
        env = {**os.environ, "TMPDIR": str(private)}
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    ended = [(*process.communicate(timeout=100), process.returncode) for process in started]
    assert [code for _, _, code in ended] == [0] * 10, ended
    rows = rows_in(hub.repo_files("dataset", "me/shared"))
    assert sorted(value for _, _, value in rows) == [float(value) for value in range(50)]


def test_the_write_token_of_a_server_is_kept_for_the_daemon_alone(root, script):
    process = script(
        """
        import sys
        run = trackio.init(project="p", server_url=sys.argv[1], config={"url": sys.argv[1]})
        run.log({"a": 1.0})
        run.finish(timeout=0.3)
        """,
        "http://127.0.0.1:9/sub/?write_token=s3cret-w0rd",
    )
    out, errors = process.communicate(timeout=50)
    assert process.returncode == 0
    assert "rows go to http://127.0.0.1:9/sub\n" in out
    until(lambda: list(root.glob(".sync/*/state.json")))
    log = (private_folder() / "daemon.log").read_text(errors="replace")
    commands = [" ".join(process.cmdline()) for process in daemons(root)]
    assert "s3cret-w0rd" not in "\n".join([out, errors, log, *commands])
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if b"s3cret-w0rd" in path.read_bytes()]
