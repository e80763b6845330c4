"""`trackio-like sync` sends what waits, once, whatever interrupted it; its exit status says whether all is there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

import trackio_like as trackio
from tests.flow.conftest import until
from tests.flow.faulty_server import FaultyServer
from tests.flow.test_sending import rows_in, steps_in
from trackio_like.cli import main
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import SYNC_FOLDER, targets_of

pytestmark = pytest.mark.usefixtures("hub")
STEPS = list(range(20))


@pytest.fixture
def server(tmp_path):
    """A self-hosted server, its token in the URL that people paste."""
    server = FaultyServer(tmp_path)
    server.reset()
    token = server.add_user("me", is_pro=True)
    server.url = f"{server.endpoint}/?write_token={token}"
    yield server
    server.close()


@pytest.fixture
def command(tmp_path):
    """Starts the command as a process of its own; ended with the test."""
    started = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "trackio_like.cli", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def run():
    return log_run()


def log_run(project="p", **arguments):
    with trackio.init(project=project, **arguments) as run:
        for step in STEPS:
            run.log({"a": float(step)})
    return run


def steps_of(files):
    return [step for _, step, _ in rows_in(files)]


@pytest.mark.parametrize("kind", ["bucket", "dataset", "server"])
def test_a_new_place_gets_everything_and_the_second_call_sends_nothing(hub, server, run, capsys, kind):
    place = server.url if kind == "server" else f"me/new-{kind}"
    assert main(["sync", f"--{kind}", place]) == 0
    first = capsys.readouterr().out
    assert re.match(rf"2 files \(.* kB\) sent to the {kind} .*; everything is there\.\n$", first)
    held = {
        "bucket": lambda: hub.bucket_files(place),
        "dataset": lambda: hub.repo_files("dataset", place),
        "server": server.files,
    }[kind]
    before = held()
    assert steps_of(before) == STEPS
    hub.clear_requests()
    assert main(["sync", f"--{kind}", place]) == 0
    assert re.match(rf"Nothing new for the {kind} .*; everything is there\.\n$", capsys.readouterr().out)
    assert not [record for record in hub.requests if record.method != "GET"]
    assert held() == before


def test_a_run_that_is_bound_is_sent_without_naming_its_place_again(hub, capsys):
    log_run(bucket_id="me/rows")
    assert main(["sync"]) == 0
    assert "sent to the bucket me/rows; everything is there." in capsys.readouterr().out
    assert steps_in(hub) == STEPS


def test_a_space_is_deployed_beside_its_rows(hub, run, capsys):
    assert main(["sync", "--space", "me/board"]) == 0
    assert steps_in(hub, "me/board-bucket") == STEPS
    assert hub.repo_ids("space") == ["me/board"]
    assert hub.bucket_is_private("me/board-bucket")


def test_only_the_project_or_run_that_is_named_is_sent(hub, run):
    log_run("other")
    second = log_run()
    assert main(["sync", "p", "--run", second.id, "--bucket", "me/rows"]) == 0
    assert {path.split("/")[1] for path in hub.bucket_files("me/rows")} == {second.id}
    assert main(["sync", "p", "--bucket", "me/rows"]) == 0
    assert {path.split("/")[0] for path in hub.bucket_files("me/rows")} == {"p"}


def test_a_dry_run_names_each_file_and_asks_and_binds_nothing(hub, root, run, capsys):
    assert main(["sync", "--bucket", "me/rows", "--dry-run"]) == 0
    *paths, said = capsys.readouterr().out.splitlines()
    assert sorted(path.split("/")[:3] for path in paths) == [["p", run.id, "events"], ["p", run.id, "metrics"]]
    assert re.match(r"2 files \(.* kB\) would be sent to the bucket me/rows\.$", said)
    assert hub.requests == []
    assert not (root / SYNC_FOLDER).exists()


def test_verify_sends_again_what_somebody_deleted_there(hub, run, capsys):
    main(["sync", "--bucket", "me/rows"])
    [lost] = [path for path in hub.bucket_files("me/rows") if "/metrics/" in path]
    hub.api("me").batch_bucket_files("me/rows", delete=[lost])
    capsys.readouterr()
    assert main(["sync"]) == 0
    assert "Nothing new" in capsys.readouterr().out
    assert main(["sync", "--verify"]) == 0
    assert capsys.readouterr().out.startswith("1 files (")
    assert steps_in(hub) == STEPS


def test_a_sync_that_was_killed_while_the_hub_took_its_files_goes_on(hub, run, command):
    rule = hub.fail("/batch$", kind="hang", times=None)
    process = command("sync", "--bucket", "me/rows")
    until(lambda: rule.hits)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hub.clear_faults()
    assert hub.bucket_files("me/rows") == {}
    assert main(["sync"]) == 0
    assert steps_in(hub) == STEPS


def test_a_sync_that_was_killed_between_two_files_goes_on(server, root, command):
    for _ in range(3):
        log_run()
    server.fail("/t/", kind="hang", method="PUT", skip=3, times=None)
    process = command("sync", "--server", server.url)
    until(lambda: len(server.files()) == 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.clear_faults()
    assert main(["sync"]) == 0
    assert steps_of(server.files()) == STEPS * 3
    sent = {path.relative_to(root).as_posix() for path in root.rglob("*.parquet")}
    assert set(server.files()) == sent


@pytest.mark.slow
def test_watch_sends_what_comes_until_ctrl_c(hub, run, command):
    process = command("sync", "--bucket", "me/rows", "--watch")
    assert process.stdout.readline() == "Sending what comes; Ctrl-C stops it.\n"
    assert "everything is there" in process.stdout.readline()
    assert steps_in(hub) == STEPS
    log_run(bucket_id="me/rows")
    assert until(lambda: steps_in(hub) == STEPS * 2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (130, "")


def test_why_it_waits_is_told_while_it_waits_and_it_goes_on_when_the_hub_is_back(hub, run, command):
    hub.down()
    process = command("sync", "--bucket", "me/rows")
    told = process.stderr.readline()
    assert "The bucket me/rows cannot be reached" in told
    assert "Nothing is lost" in told
    hub.up()
    out, errors = process.communicate(timeout=50)
    assert (process.returncode, "cannot be reached" in errors) == (0, False)
    assert "everything is there" in out
    assert steps_in(hub) == STEPS


def test_a_refused_token_ends_it_at_once_with_status_1_and_says_what_to_do(hub, run, capsys):
    hub.expire(hub.tokens["me"])
    assert main(["sync", "--bucket", "me/rows"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"2 files \(.* kB\) wait\.", said)
    assert "log in with `hf auth login`" in said
    assert os.environ["HF_TOKEN"] not in said
    hub.revive(hub.tokens["me"])
    assert main(["sync"]) == 0
    assert steps_in(hub) == STEPS


def test_a_wrong_write_token_is_told_without_it(server, run, capsys):
    assert main(["sync", "--server", f"{server.endpoint}?write_token=wr0ng"]) == 1
    out, errors = capsys.readouterr()
    assert "give its write token" in out
    assert "wr0ng" not in out + errors


def test_a_file_that_is_never_taken_is_named_and_the_others_are_there(hub, run, capsys):
    folder = RunFolder(root=run.root, project="p", run_id=run.id)
    secret = folder.path / "media" / "0" / "note.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("hf_" + "x" * 34)
    assert main(["sync", "--dataset", "me/open"]) == 0
    assert f"set aside: p/{run.id}/media/0/note.txt" in capsys.readouterr().out
    assert steps_of(hub.repo_files("dataset", "me/open")) == STEPS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "There is no project 'nothing'"),
        (["--run", "nothing"], "There is no run with id 'nothing'"),
        (["--bucket", "a/b/c"], "is no name on the Hub"),
        (["--root", "nowhere"], "no folder is at"),
        (["--server", "ftp://x"], "is no URL of a server"),
    ],
)
def test_a_wrong_argument_ends_with_status_1_and_one_line(run, capsys, words, said):
    assert main(["sync", *words]) == 1
    errors = capsys.readouterr().err
    assert said in errors
    assert len(errors.splitlines()) == 1


def test_two_places_at_once_are_refused(run):
    with pytest.raises(SystemExit) as ended:
        main(["sync", "--bucket", "me/a", "--dataset", "me/b"])
    assert ended.value.code == 2


def test_a_root_that_is_sent_nowhere_is_told_how(run, capsys):
    assert main(["sync"]) == 0
    assert "--bucket, --dataset, --space or --server" in capsys.readouterr().out
    assert targets_of(RunFolder(root=run.root, project="p", run_id=run.id)) == []
