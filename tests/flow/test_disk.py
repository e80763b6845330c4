"""A root that cannot be written, is full, or is deleted: training goes on, one warning, and rows are kept."""

import os

import pytest

import trackio_like as trackio
from tests.flow.conftest import only_run, until


def test_a_root_that_cannot_be_made_is_replaced_and_the_place_is_told(run_script, tmp_path):
    environment = {**os.environ, "TRACKIO_DIR": "/proc/nowhere", "TMPDIR": str(tmp_path), "HOME": "/"}
    code, output, errors = run_script(
        """
        import os
        os.chdir("/proc")
        run = trackio.init(project="p")
        trackio.log({"a": 1})
        trackio.finish()
        print(run.root)
        print(trackio.Api(run.root).run("p", run.id).history()["value"].to_pylist())
        """,
        env=environment,
    )
    assert code == 0
    root, values = output.splitlines()
    assert root.startswith(str(tmp_path))
    assert values == "[1.0]"
    assert errors.count("TrackioLikeWarning") == 1
    assert "/proc/nowhere cannot be written" in errors
    assert root in errors
    assert os.stat(os.path.dirname(root)).st_mode & 0o077 == 0


def test_a_disk_that_fills_and_heals_costs_no_row(run_script):
    code, _, errors = run_script(
        """
        import resource, signal, threading
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        run = trackio.init(project="p")
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        for step in range(300):
            if step == 100:
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, unlimited[1]))
            trackio.log({"a": step})
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        trackio.log({"a": 300})
        trackio.finish()
        """
    )
    assert code == 0, errors
    assert only_run().history()["value"].to_pylist() == [float(step) for step in range(301)]
    assert errors.count("refuses writes") == 1


def test_a_root_that_is_deleted_under_a_run_is_made_again(tmp_path, root, monkeypatch):
    import shutil

    monkeypatch.setenv("TRACKIO_FSYNC_INTERVAL_S", "0.05")
    run = trackio.Run("p")
    run.log({"a": 1})
    shutil.rmtree(root)
    with pytest.warns(trackio.TrackioLikeWarning, match="was deleted while it was written"):
        until(lambda: list(root.rglob("*.journal")))
    run.log({"a": 2})
    run.finish()
    assert only_run().history()["value"].to_pylist()[-1] == 2


def test_the_thread_seals_where_no_process_may_be_started(run_script, root):
    code, _, errors = run_script(
        """
        import threading
        trackio.init(project="p")
        for step in range(100):
            trackio.log({"a": step})
        assert any(t.name == "trackio-like-seal" for t in threading.enumerate())
        """,
        env={**os.environ, "TRACKIO_DAEMON": "thread"},
    )
    assert (code, errors) == (0, "")
    assert not list(root.rglob("*.journal"))
    assert only_run().history()["value"].to_pylist() == list(range(100))
    assert only_run().state == "finished"


def test_a_script_without_a_daemon_is_sealed_as_it_ends(run_script, root):
    code, _, errors = run_script("trackio.init(project='p'); trackio.log({'a': 1})")
    assert (code, errors) == (0, "")
    assert not list(root.rglob("*.journal"))
    assert only_run().history()["value"].to_pylist() == [1.0]


def test_rows_are_readable_while_the_run_is_open_and_nothing_is_sealed(root):
    with trackio.Run("p") as run:
        run.log({"a": 1})
        assert trackio.Api().run("p", run.id).history()["value"].to_pylist() == [1.0]
        assert trackio.Api().run("p", run.id).state == "running"


def test_files_can_be_copied_at_any_moment(script, tmp_path, root):
    import shutil

    process = script(
        """
        trackio.init(project="p")
        for step in range(10_000_000):
            trackio.log({"a": step})
            if step == 1000:
                print(step, flush=True)
        """
    )
    process.stdout.readline()
    for copy in range(5):
        shutil.copytree(root, tmp_path / f"copy{copy}", ignore_dangling_symlinks=True)
        (run,) = trackio.Api(tmp_path / f"copy{copy}").runs("p")
        values = run.history()["value"].to_pylist()
        assert values == list(range(len(values)))
        assert len(values) > 1000
    process.kill()


def test_the_daemons_log_does_not_grow_without_end(run_script, root, tmp_path):
    folder = tmp_path / f"trackio_like-{os.getuid()}"
    folder.mkdir(mode=0o700)
    (folder / "daemon.log").write_bytes(b"x" * (2 << 20))
    environment = {**os.environ, "TRACKIO_DAEMON": "process", "TRACKIO_IDLE_EXIT_S": "0.1", "TMPDIR": str(tmp_path)}
    assert run_script("trackio.init(project='p')", env=environment)[0] == 0
    assert (folder / "daemon.log").stat().st_size < 1 << 20
    assert (folder / "daemon.log.1").stat().st_size == 2 << 20


def test_a_program_that_does_not_know_its_interpreter_seals_in_a_thread(run_script, root):
    environment = {**os.environ, "TRACKIO_DAEMON": "process"}
    code, _, errors = run_script(
        "import sys; sys.executable = None; trackio.init(project='p'); trackio.log({'a': 1})", env=environment
    )
    assert code == 0
    assert "a thread of this process seals instead" in errors
    assert not list(root.rglob("*.journal"))
