"""Sending beside sealing: threads that neither delay nor outlive the daemon."""

import os
import subprocess
import sys
import threading

import trackio_like as trackio
from tests.daemon.sending import log, make_run, make_target, rows_in, truth
from tests.flow.conftest import until
from tests.hub_server.fixtures import client_environment, hub, hub_home, hub_server
from trackio_like._settings import Settings, prepare_for_sending
from trackio_like.daemon.fleet import Fleet
from trackio_like.daemon.loop import serve
from trackio_like.daemon.state import SyncState
from trackio_like.daemon.status import delivery, is_complete, run_status
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import bind_run

__all__ = ["hub", "hub_home", "hub_server"]

A, B = "w-1-aa", "w-2-bb"


def test_the_daemon_seals_and_sends_and_goes_when_all_is_there(hub, root):
    target = make_target(hub, "bucket")
    run = trackio.Run("p")
    folder = RunFolder(root=root, project="p", run_id=run.id)
    known = bind_run(target, folder)
    run.log({"a": 1})
    run.finish()
    serve(Settings(root=root, seal_interval_s=0.02, idle_exit_s=0.1), threading.Event())
    assert is_complete(folder, known)
    assert len(rows_in(truth(hub, target))) == 1
    assert SyncState.load(known).word == "ok"


def test_a_hub_that_never_answers_delays_neither_sealing_nor_the_end(hub, root):
    target = make_target(hub, "bucket")
    folder, _ = make_run(root, target)
    log(folder, A, [1])
    hub.fail("/api/", kind="hang", times=None)
    run = trackio.Run("p")
    shards = RunFolder(root=root, project="p", run_id=run.id).shards("metrics")
    stop = threading.Event()
    daemon = threading.Thread(
        target=serve, args=(Settings(root=root, seal_interval_s=0.02, idle_exit_s=60.0), stop), name="trackio-like-test"
    )
    daemon.start()
    until(lambda: any(record.status is None for record in hub.requests))
    for i in range(3):
        run.log({"a": i})
        until(lambda n=i + 1: len(list(shards.glob("*.parquet"))) >= n)
    stop.set()
    daemon.join(30)
    assert not daemon.is_alive()
    run.finish()
    hub.clear_faults()
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("trackio-like-send")])


def test_a_target_that_is_bound_later_gets_its_thread_and_a_damaged_one_harms_nobody(hub, root):
    good, other = make_target(hub, "bucket"), make_target(hub, "dataset")
    folder, known = make_run(root, good)
    log(folder, A, [1])
    damaged = bind_run(make_target(hub, "bucket"), folder)
    damaged.description.write_text("{")
    fleet = Fleet(root)
    fleet.tend()
    until(lambda: is_complete(folder, known))
    late = bind_run(other, folder)
    fleet.tend()
    until(lambda: is_complete(folder, late))
    assert rows_in(truth(hub, good)) == rows_in(truth(hub, other))
    fleet.close()
    fleet.close()


def test_the_status_of_a_run_says_what_is_there_and_what_waits(hub, root):
    target = make_target(hub, "bucket")
    folder, known = make_run(root, target)
    log(folder, A, [1])
    before = run_status(folder)
    assert (before.has_journals, before.num_files) == (False, 1)
    assert [(t.num_stored, t.num_waiting, t.is_complete) for t in before.targets] == [(0, 1, False)]
    assert not delivery(folder, known, [A]).is_complete
    assert delivery(folder, known, [B]).is_complete
    fleet = Fleet(root)
    fleet.tend()
    until(lambda: is_complete(folder, known))
    fleet.close()
    after = run_status(folder)
    assert [(t.num_stored, t.num_waiting, t.is_complete) for t in after.targets] == [(1, 0, True)]
    assert after.targets[0].num_bytes_stored == after.num_bytes
    assert after.targets[0].state.word == "ok"
    folder.journal.mkdir(exist_ok=True)
    (folder.journal / f"{B}.1.journal").touch()
    assert run_status(folder).has_journals
    assert not is_complete(folder, known)
    assert delivery(folder, known, [A]).is_complete


def test_asking_how_a_run_stands_imports_nothing_heavy():
    code = (
        "import sys; import trackio_like.daemon.status, trackio_like.daemon.state; "
        "print([name for name in ('pyarrow', 'numpy', 'huggingface_hub') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_what_the_user_set_for_the_client_is_kept():
    env = {"HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "9"}
    prepare_for_sending(env)
    assert env["HF_XET_CLIENT_RETRY_MAX_ATTEMPTS"] == "9"
    assert env["HF_XET_CLIENT_CONNECT_TIMEOUT"] == "10s"


SEND = """
import sys
from pathlib import Path
from trackio_like.daemon.once import sync_once
from trackio_like.daemon.pace import RHYTHMS
(report,) = sync_once(Path(sys.argv[1]), rhythms={"dataset": RHYTHMS["dataset"].every(0.05)})
print(report.num_files, report.num_files_waiting, report.message)
"""


def test_ten_processes_that_commit_to_one_dataset_all_arrive(hub, root, hub_home, tmp_path):
    """Each has a root of its own, as on ten machines, and some commits meet a conflict."""
    target = make_target(hub, "dataset")
    for i in range(10):
        folder = RunFolder(root=tmp_path / f"root{i}", project="p", run_id=f"r{i}")
        folder.path.mkdir(parents=True)
        bind_run(target, folder)
        log(folder, f"w-{i}-aa", range(i + 1))
    hub.fail("/commit/", kind="status", status=412, times=7)
    environment = {**os.environ, **client_environment(hub, hub_home)}
    senders = [
        subprocess.Popen(
            [sys.executable, "-c", SEND, str(tmp_path / f"root{i}")], env=environment, stdout=subprocess.PIPE, text=True
        )
        for i in range(10)
    ]
    assert [sender.communicate()[0] for sender in senders] == ["1 0 \n"] * 10
    rows = rows_in(truth(hub, target))
    assert sorted(row[1:4] for row in rows) == sorted(
        (f"r{i}", f"w-{i}-aa", seq) for i in range(10) for seq in range(1, i + 2)
    )
    assert set(rows.values()) == {1}
