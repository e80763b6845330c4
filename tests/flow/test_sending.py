"""Rows arrive at the Hub once each, whatever happens to the network, the token, the daemon or the training."""

from __future__ import annotations

import io
import os
import signal
import stat

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from huggingface_hub import HfFileSystem

import trackio_like as trackio
from tests.flow.conftest import until
from tests.flow.test_kill import daemons, last_returned
from trackio_like.daemon.status import run_status
from trackio_like.errors import RemoteRefusedError
from trackio_like.format.names import RunFolder, ShardName
from trackio_like.format.ranges import plan_reads
from trackio_like.format.targets import SYNC_FOLDER
from trackio_like.run.hostlock import private_folder

pytestmark = [pytest.mark.usefixtures("hub", "daemon"), pytest.mark.timeout(120)]

ENDLESS = """
    import sys
    trackio.init(project="p", name="n", bucket_id="me/rows")
    for step in range(10_000_000):
        trackio.log({"a": step})
        sys.stdout.write(f"{step}\\n")
        sys.stdout.flush()
"""


@pytest.fixture(autouse=True)
def patient_daemon(hub, daemon, monkeypatch):
    """A daemon outlives the moments between a test's steps."""
    monkeypatch.setenv("TRACKIO_IDLE_EXIT_S", "5")


def rows_in(files: dict[str, bytes], kind: str = "metrics") -> list[tuple[str, int, float]]:
    """(key, step, value) of each row that a reader of these files takes, in call order."""
    by_folder: dict[str, list[ShardName]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        shard = ShardName.parse(name)
        if shard is not None and folder.endswith(f"/{kind}"):
            by_folder.setdefault(folder, []).append(shard)
    rows = []
    for folder, shards in by_folder.items():
        for read in plan_reads(shards):
            table = pq.read_table(io.BytesIO(files[f"{folder}/{read.shard}"]))
            rows += [row for row in table.to_pylist() if row["seq"] > read.after]
    rows.sort(key=lambda row: (row["attempt"], row["writer"], row["seq"]))
    return [(row["key"], row["step"], row["value"]) for row in rows]


def steps_in(hub, bucket="me/rows"):
    if bucket not in hub.bucket_ids():
        return []
    return [step for _, step, _ in rows_in(hub.bucket_files(bucket))]


def log_run(**arguments):
    with trackio.init(project="p", **arguments) as run:
        for step in range(20):
            run.log({"a": float(step)})
    return run


def folder_of(run):
    return RunFolder(root=run.root, project=run.project, run_id=run.id)


@pytest.mark.parametrize("kills_daemon", [False, True], ids=["training", "training and daemon"])
def test_rows_arrive_when_the_hub_is_back_though_the_training_was_killed(hub, script, root, kills_daemon):
    process = script(ENDLESS)
    assert "rows go to" in process.stdout.readline()
    last_returned(process, 50)
    hub.down()
    last = last_returned(process, 200)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if kills_daemon:
        for daemon in daemons(root):
            daemon.kill()
        until(lambda: not daemons(root))
    hub.up()
    if kills_daemon:
        reports = trackio.sync(root=root)
        assert all(report.is_complete for report in reports)
    found = until(lambda: steps_in(hub) if last in steps_in(hub) else None, timeout_s=60)
    assert found == list(range(len(found)))


def test_finish_returns_when_everything_is_there_and_the_run_says_that_it_finished(hub, capsys):
    run = log_run(bucket_id="me/rows")
    assert steps_in(hub) == list(range(20))
    assert run_status(folder_of(run)).targets[0].is_complete
    assert "wait to be sent" not in capsys.readouterr().out
    with trackio.Api(bucket_id="me/rows") as api:
        assert api.run("p", run.id).state == "finished"


def test_nothing_of_init_and_log_waits_for_a_hub_that_hangs_and_finish_ends_in_time(hub, capsys):
    hub.fail("/api/", kind="hang", times=1000)
    run = trackio.init(project="p", space_id="me/board")
    run.log({"a": 1.0})
    run.finish(timeout=0.5)
    assert "wait to be sent. Nothing is lost" in capsys.readouterr().out
    hub.clear_faults()
    hub.down()  # what hangs is cut
    hub.up()
    until(lambda: steps_in(hub, "me/board-bucket") == [0], timeout_s=60)


@pytest.mark.parametrize(("status", "told"), [(401, "refused"), (403, "refused"), (404, "could not be made")])
def test_a_hub_that_refuses_is_told_once_and_what_waits_arrives_once_it_is_healed(hub, capsys, status, told):
    hub.fail("/api/buckets/", kind="status", status=status, times=1000, headers={"X-Error-Message": "no"})
    with pytest.warns(trackio.TrackioLikeWarning, match=told) as warned:  # noqa: PT031 - told by a thread meanwhile
        run = trackio.init(project="p", bucket_id="me/rows")
        run.log({"a": 1.0})
        until(lambda: [w for w in warned if "me/rows" in str(w.message)])
        run.finish(timeout=0.2)
    assert len({str(w.message) for w in warned}) == len(warned)
    hub.clear_faults()
    assert all(report.is_complete for report in trackio.sync())
    assert steps_in(hub) == [0]


def test_a_token_that_expires_holds_rows_back_and_a_new_one_lets_them_go(hub, monkeypatch):
    run = trackio.init(project="p", bucket_id="me/rows")
    run.log({"a": 0.0})
    until(lambda: steps_in(hub) == [0])
    hub.expire(hub.tokens["me"])
    with pytest.warns(trackio.TrackioLikeWarning, match="The token for the bucket me/rows was refused") as warned:  # noqa: PT031 - as above
        run.log({"a": 1.0})
        until(lambda: list(warned))
    fresh = hub.token("me")
    monkeypatch.setenv("HF_TOKEN", fresh)
    other = trackio.Run("p", "other", bucket_id="me/rows")  # a new process of the user's would bring the new login, too
    other.finish()
    run.finish()
    until(lambda: steps_in(hub) == [0, 1], timeout_s=40)


def test_sync_raises_for_a_refused_token_and_says_what_is_safe(hub, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    log_run()
    hub.expire(hub.tokens["me"])
    with pytest.raises(RemoteRefusedError, match="me/rows"):
        trackio.sync(bucket_id="me/rows")
    hub.revive(hub.tokens["me"])
    [report] = trackio.sync(bucket_id="me/rows")
    assert report.is_complete
    assert report.num_files > 0


def test_a_second_sync_sends_nothing_and_asks_next_to_nothing(hub, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    log_run()
    trackio.sync("p", bucket_id="me/rows")
    hub.clear_requests()
    [report] = trackio.sync("p", bucket_id="me/rows")
    assert (report.num_files, report.num_bytes, report.is_complete) == (0, 0, True)
    assert not [record for record in hub.requests if record.method != "GET"]


def test_a_dry_run_lists_and_changes_nothing(hub, root, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    log_run()
    [report] = trackio.sync(bucket_id="me/rows", dry_run=True)
    assert report.paths
    assert all(path.startswith("p/") for path in report.paths)
    assert hub.bucket_ids() == []
    assert not (root / SYNC_FOLDER).exists()


def test_verify_sends_again_what_somebody_deleted(hub, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    log_run()
    trackio.sync(bucket_id="me/rows")
    lost = next(path for path in hub.bucket_files("me/rows") if "/metrics/" in path)
    hub.api("me").batch_bucket_files("me/rows", delete=[lost])
    trackio.sync()
    assert lost not in hub.bucket_files("me/rows")
    trackio.sync(verify=True)
    assert steps_in(hub) == list(range(20))


def test_a_purged_run_is_gone_from_the_bucket_too_and_no_other(hub, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    gone, kept = log_run(), log_run()
    trackio.sync(bucket_id="me/rows")
    api = trackio.Api()
    api.run("p", gone.id).delete()
    trackio.sync()
    api.purge("p")
    trackio.sync()
    assert {path.split("/")[1] for path in hub.bucket_files("me/rows")} == {kept.id}


def test_no_token_stands_in_the_root_in_the_output_or_in_a_row(hub, root, capfd):
    token = hub.tokens["me"]
    log_run(bucket_id="me/rows", config={"note": f"token {token}"})
    out, err = capfd.readouterr()
    assert token not in out + err
    for path in root.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path
    for path, content in hub.bucket_files("me/rows").items():
        assert token.encode() not in content, path
    assert token not in (private_folder() / "daemon.log").read_text(errors="replace")
    for path in (private_folder() / "tokens").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_sixteen_processes_of_one_project_arrive_whole(hub, script):
    text = """
        import sys
        trackio.init(project="p", name=sys.argv[1], bucket_id="me/rows")
        for step in range(30):
            trackio.log({"a": step})
        trackio.finish(timeout=60)
    """
    processes = [script(text, number) for number in range(16)]
    for process in processes:
        assert process.wait(timeout=100) == 0
    assert sorted(steps_in(hub)) == sorted(list(range(30)) * 16)


def test_ctrl_c_ends_the_wait_of_finish_and_keeps_the_rows(hub, script, root):
    hub.down()
    process = script("""
        import sys
        run = trackio.init(project="p", bucket_id="me/rows")
        run.log({"a": 1.0})
        print("waits", flush=True)
        run.finish(timeout=60)
    """)
    assert "rows go to" in process.stdout.readline()
    assert process.stdout.readline() == "waits\n"
    until(lambda: not list(root.glob("p/*/journal/*.journal")))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert "wait to be sent. Nothing is lost" in out
    hub.up()
    until(lambda: steps_in(hub) == [0], timeout_s=60)


def test_an_offline_run_is_resumed_and_then_sent_with_both_attempts_in_order(hub, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    first = log_run(id="long")
    with trackio.init(project="p", id="long", resume="must") as second:
        second.log({"a": 20.0})
    assert (first.id, second.attempt) == (second.id, 2)
    trackio.sync("p", bucket_id="me/rows")
    assert steps_in(hub) == list(range(21))


def test_the_daemon_ends_once_everything_is_sent(hub, root, monkeypatch):
    monkeypatch.setenv("TRACKIO_IDLE_EXIT_S", "1")
    log_run(bucket_id="me/rows")
    assert until(lambda: not daemons(root), timeout_s=30)


def test_pandas_polars_and_duckdb_read_what_was_committed(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    log_run(config={"lr": 0.1})
    trackio.sync(bucket_id="me/rows")
    trackio.sync(dataset_id="me/open")
    files = HfFileSystem(endpoint=hub.endpoint, token=hub.tokens["me"], skip_instance_cache=True)
    expected = [float(step) for step in range(20)]
    for place in ("buckets/me/rows", "datasets/me/open"):
        paths = files.glob(f"{place}/p/*/metrics/*.parquet")
        assert len(paths) == 1
        with files.open(paths[0], "rb") as file:
            content = io.BytesIO(file.read())
        assert pd.read_parquet(content)["value"].tolist() == expected
        content.seek(0)
        assert pl.read_parquet(content)["value"].to_list() == expected
        with duckdb.connect() as connection:
            connection.register_filesystem(files)
            found = connection.sql(f"SELECT value FROM 'hf://{paths[0]}' ORDER BY step").fetchall()
        assert [value for (value,) in found] == expected


def test_the_first_line_names_the_page_and_no_token_of_a_server(hub, capsys, root):
    run = trackio.init(project="p", server_url="http://127.0.0.1:9/?write_token=s3cret")
    assert capsys.readouterr().out == "trackio_like: rows go to http://127.0.0.1:9\n"
    run.finish(timeout=0)
    assert not [path for path in root.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    for daemon in daemons(root):
        assert "s3cret" not in " ".join(daemon.cmdline())


def test_load_dataset_reads_each_kind_by_the_card(hub, run_script, monkeypatch):
    monkeypatch.setenv("TRACKIO_DAEMON", "off")
    log_run(config={"lr": 0.1})
    trackio.sync(dataset_id="me/loadable")
    monkeypatch.setenv("HF_DATASETS_CACHE", os.path.join(os.environ["TRACKIO_DIR"], "..", "datasets"))
    status, out, errors = run_script("""
        import datasets
        metrics = datasets.load_dataset("me/loadable", split="train")
        events = datasets.load_dataset("me/loadable", "events", split="train")
        print([row["value"] for row in metrics.sort("step")], sorted(set(events["type"])))
    """)
    assert status == 0, errors
    assert out.splitlines()[-1] == f"{[float(step) for step in range(20)]} ['finish', 'init']"
