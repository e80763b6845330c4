"""Who is the daemon, and when it goes."""

import shutil
import subprocess
import sys
import threading

import trackio_like as trackio
from tests.flow.conftest import until
from trackio_like._settings import Settings
from trackio_like.daemon.loop import serve
from trackio_like.daemon.once import seal_root
from trackio_like.daemon.thread import start
from trackio_like.run.hostlock import HostLock, daemon_lock

HOLD = """
import sys
from pathlib import Path
from trackio_like.run.hostlock import HostLock
lock = HostLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


def settings(root, **changes):
    return Settings(**{"root": root, "seal_interval_s": 0.02, "idle_exit_s": 0.1, **changes})


def test_a_lock_is_held_by_one_and_freed_by_the_death_of_its_process(tmp_path):
    lock = HostLock(tmp_path / "x.lock")
    assert not lock.is_held()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLD,
            str(tmp_path / "x.lock"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "True\n"
    assert lock.is_held()
    assert not lock.acquire()
    holder.kill()
    holder.communicate()
    assert lock.acquire()
    assert lock.is_held()
    lock.release()
    assert not lock.is_held()


def test_an_alias_of_a_root_has_the_same_daemon(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert daemon_lock(tmp_path / "real").path == daemon_lock(tmp_path / "link").path
    assert daemon_lock(tmp_path / "real").path != daemon_lock(tmp_path).path


def test_a_second_daemon_of_a_root_goes_at_once(root):
    lock = daemon_lock(root)
    assert lock.acquire()
    serve(settings(root), threading.Event(), stays=True)
    lock.release()


def test_a_daemon_with_nothing_to_do_goes_and_frees_the_lock(root):
    root.mkdir()
    serve(settings(root), threading.Event())
    assert not daemon_lock(root).is_held()


def test_a_daemon_that_is_stopped_seals_once_more(root):
    run = trackio.Run("p")
    run.log({"a": 1})
    stop = threading.Event()
    stop.set()
    serve(settings(root), stop)
    assert list((root / "p" / run.id / "metrics").glob("*.parquet"))
    run.finish()


def test_a_daemon_stays_while_a_run_is_open(root):
    run = trackio.Run("p")
    thread = start(settings(root))
    stayed = threading.Event().wait(0.5)
    assert not stayed
    assert thread.is_running
    run.finish()
    thread.close()
    assert not thread.is_running


def test_sealing_once_takes_what_is_there_and_finish_the_rest_where_no_daemon_may_run(root):
    run = trackio.Run("p")
    run.log({"a": 1})
    assert seal_root(root).num_open == 1
    assert len(list((root / "p" / run.id / "metrics").glob("*.parquet"))) == 1
    run.log({"a": 2})
    run.finish()
    assert not list(root.rglob("*.journal"))
    assert trackio.Api().run("p", run.id).history()["value"].to_pylist() == [1.0, 2.0]


def test_a_root_that_is_deleted_does_not_keep_its_daemon(root):
    run = trackio.Run("p")
    thread = start(settings(root))
    run.log({"a": 1})
    run.finish()
    until(lambda: shutil.rmtree(root, ignore_errors=True) or not root.exists())
    thread._thread.join(timeout=20)
    assert not thread.is_running


LOOK = """
import sys
from pathlib import Path
from trackio_like.run.hostlock import daemon_lock
lock = daemon_lock(Path(sys.argv[1]))
print("up", flush=True)
while True:
    lock.is_held()
"""


def test_a_daemon_is_elected_while_others_look_whether_there_is_one(root):
    lookers = [
        subprocess.Popen([sys.executable, "-c", LOOK, str(root)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    stop = threading.Event()
    stop.set()
    try:
        for looker in lookers:
            assert looker.stdout.readline() == "up\n"
        for _ in range(10):
            run = trackio.Run("p")
            serve(settings(root), stop)
            assert list((root / "p" / run.id / "events").glob("*.parquet"))
            run.finish()
    finally:
        for looker in lookers:
            looker.kill()
            looker.communicate()


def test_a_root_that_cannot_be_written_is_told_once_and_not_in_every_pass(root, caplog):
    root.mkdir()
    (root / ".hosts").write_bytes(b"")  # a file where the folder should be is refused like a read-only disk
    serve(settings(root), threading.Event())
    assert caplog.text.count("cannot be sealed now") == 1
