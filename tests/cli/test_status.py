"""`trackio-like status` says of each run what is here, what is there, what waits, and why."""

from __future__ import annotations

import re
import time

import pytest
from huggingface_hub import constants

import trackio_like as trackio
from trackio_like.cli import main
from trackio_like.daemon.state import SyncState
from trackio_like.errors import RemoteRefusedError
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import targets_of

pytestmark = pytest.mark.usefixtures("hub")


def log_run(project="p", **arguments):
    with trackio.init(project=project, **arguments) as run:
        run.log({"a": 1.0})
    return run


def folder_of(run):
    return RunFolder(root=run.root, project=run.project, run_id=run.id)


@pytest.fixture
def status(capsys):
    """The lines of `trackio-like status`, and its exit status."""

    def status(*words):
        capsys.readouterr()
        code = main(["status", *words])
        out, errors = capsys.readouterr()
        assert errors == ""
        return code, out.splitlines()

    return status


def test_a_run_that_is_sent_nowhere_says_how_to_send_it(status):
    run = log_run()
    code, (name, here, there, count) = status()
    assert code == 0
    assert name == f"p/{run.id}"
    assert re.match(r"  here: 2 files, \S+ kB in Parquet$", here)
    assert there == "  sent nowhere: `trackio-like sync --bucket ID` sends it"
    assert count == "1 runs, 0 with something to send."


def test_an_open_run_has_calls_in_journals(status):
    run = trackio.init(project="p", bucket_id="me/rows")
    run.log({"a": 1.0})
    _, (_, here, there, count) = status()
    assert here == "  here: 0 files, 0 B in Parquet; the newest calls are still in journals"
    assert there == "  the bucket me/rows: 0 files, 0 B; the newest calls wait to be put into Parquet (waiting)"
    assert count == "1 runs, 1 with something to send."
    run.finish()


def test_what_was_never_sent_waits(status):
    log_run(bucket_id="me/rows")
    _, (_, _, there, count) = status()
    assert re.match(r"  the bucket me/rows: 0 files, 0 B; 2 files, \S+ kB wait \(waiting\)$", there)
    assert count == "1 runs, 1 with something to send."


def test_what_is_there_is_complete_and_is_left_out_where_only_what_waits_is_asked_for(hub, status):
    log_run(bucket_id="me/rows")
    trackio.sync()
    hub.clear_requests()
    _, (_, _, there, count) = status()
    assert re.match(r"  the bucket me/rows: 2 files, \S+ kB; complete$", there)
    assert count == "1 runs, 0 with something to send."
    assert status("--waiting") == (0, ["1 runs, 0 with something to send."])
    assert hub.requests == []


def test_a_run_stands_differently_at_each_of_its_places(status):
    run = log_run(bucket_id="me/rows")
    trackio.sync()
    with trackio.Run("p", id=run.id, resume="must", dataset_id="me/more") as again:
        again.log({"a": 2.0})
    _, lines = status()
    places = sorted(line.strip().partition(":")[0] for line in lines if "wait (" in line)
    assert places == ["the bucket me/rows", "the dataset me/more"]


def test_a_refused_token_is_named_once_for_all_runs_with_what_to_do(hub, status):
    for _ in range(2):
        log_run(bucket_id="me/rows")
    hub.expire(hub.tokens["me"])
    with pytest.raises(RemoteRefusedError):
        trackio.sync()
    _, lines = status()
    assert len([line for line in lines if re.search(r"wait \(refused, next try in \d+ s\)$", line)]) == 2
    [reason] = [line for line in lines if "hf auth login" in line]
    assert reason.startswith("the bucket me/rows: The token for the bucket me/rows was refused")
    assert hub.tokens["me"] not in "\n".join(lines)


def test_a_hub_that_cannot_be_reached_is_said_with_the_next_try(status):
    run = log_run(bucket_id="me/rows")
    [known] = targets_of(folder_of(run))
    SyncState(word="retrying", message="The Hub is away.", next_try_s=time.time() + 100).save(known)
    _, (_, _, there, reason, _) = status()
    assert re.search(r"wait \(retrying, next try in \d+ s\)$", there)
    assert reason == "the bucket me/rows: The Hub is away."


def test_a_forbidden_network_is_said(status, monkeypatch):
    log_run(bucket_id="me/rows")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    [report] = trackio.sync()
    assert not report.is_complete
    _, lines = status()
    assert any("(offline" in line for line in lines)
    assert any("HF_HUB_OFFLINE is set" in line for line in lines)


def test_a_place_that_is_gone_is_said_with_what_makes_it_anew(hub, status):
    log_run(bucket_id="me/rows")
    trackio.sync()
    hub.api("me").delete_bucket("me/rows")
    log_run(bucket_id="me/rows")
    with pytest.raises(trackio.RemoteError):
        trackio.sync()
    _, lines = status()
    assert any("(missing" in line for line in lines)
    assert any("`trackio-like sync --bucket me/rows` makes it anew" in line for line in lines)


def test_a_file_that_is_never_taken_is_named_with_the_reason(status):
    run = log_run(dataset_id="me/open")
    secret = folder_of(run).path / "media" / "0" / "note.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("hf_" + "x" * 34)
    trackio.sync()
    _, (_, _, there, aside, count) = status()
    assert re.search(r"2 files, \S+ kB; nothing else waits \(ok\)$", there)
    assert aside.startswith(f"    set aside: p/{run.id}/media/0/note.txt: ")
    assert count == "1 runs, 1 with something to send."


def test_only_the_project_or_run_that_is_named_is_shown_and_an_unknown_one_is_an_error(root, status):
    first, second = log_run("p"), log_run("q")
    assert [line for line in status("q")[1] if "/" in line] == [f"q/{second.id}"]
    assert [line for line in status("--run", first.id)[1] if "/" in line] == [f"p/{first.id}"]
    assert status("nothing") == (1, [f"No such run is below {root}."])
