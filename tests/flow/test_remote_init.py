"""A training process asks the Hub nothing: it goes on whatever the Hub does, says once what to do, and loses no row."""

from __future__ import annotations

import json
import os

import pytest

import trackio_like as trackio
from tests.flow.conftest import until
from tests.flow.test_kill import daemons
from tests.flow.test_sending import steps_in

pytestmark = [pytest.mark.usefixtures("hub", "daemon"), pytest.mark.timeout(120)]

# What `init()`, `log()` and `finish()` connect to is seen by Python's own audit events.
TRAINING = """
    import json, sys, threading, time, warnings
    space, num_told, timeout_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    asked, told = [], []
    network = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname")
    sys.addaudithook(lambda event, _: asked.append(event) if event in network else None)
    warnings.showwarning = lambda message, *_, **__: told.append(str(message))
    run = trackio.init(project="p", space_id=space)
    run.log({"a": 0})
    pause, until = threading.Event(), time.monotonic() + 30
    while len(told) < num_told and time.monotonic() < until:
        pause.wait(0.05)
    run.log({"a": 1})
    began = time.monotonic()
    run.finish(timeout=timeout_s)
    print(json.dumps({"asked": asked, "told": told, "took": time.monotonic() - began}))
"""


@pytest.fixture(autouse=True)
def patient_daemon(hub, daemon, monkeypatch):
    monkeypatch.setenv("TRACKIO_IDLE_EXIT_S", "5")


@pytest.fixture
def train(run_script):
    """Runs the training to its end: what it connected to, its warnings, what it printed, how long finish() took."""

    def train(*, space="me/board", num_told=0, timeout_s=0.3):
        status, out, errors = run_script(TRAINING, space, num_told, timeout_s)
        assert (status, errors) == (0, "")
        *printed, found = out.splitlines()
        return json.loads(found) | {"printed": "\n".join(printed)}

    return train


def break_hub(hub, how):
    if how == "is down":
        hub.down()
    elif how == "hangs":
        hub.fail("/api/", kind="hang", times=None)
    else:
        hub.fail("/api/", kind="status", status=int(how), times=None, headers={"X-Error-Message": "no"})


def heal(hub):
    hub.clear_faults()
    hub.up()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("is down", "cannot be reached"),
        ("401", "log in with `hf auth login`"),
        ("402", "asks for another plan"),
        ("403", "log in with `hf auth login`"),
        ("404", "Check its name"),
    ],
)
def test_a_hub_that_fails_is_told_once_and_costs_no_row(hub, train, how, told):
    break_hub(hub, how)
    found = train(num_told=1)
    assert found["asked"] == []
    [text] = found["told"]
    assert "me/board-bucket" in text
    assert told in text
    assert "Nothing is lost" in text
    assert "2 files wait to be sent. Nothing is lost" in found["printed"]
    heal(hub)
    assert all(report.is_complete for report in trackio.sync())
    assert steps_in(hub, "me/board-bucket") == [0, 1]


def test_a_hub_that_hangs_is_never_waited_for_and_finish_ends_within_its_timeout(hub, train):
    break_hub(hub, "hangs")
    found = train(timeout_s=0.9)
    assert found["asked"] == []
    assert 0.9 <= found["took"] < 10
    assert "wait to be sent. Nothing is lost" in found["printed"]
    heal(hub)
    assert until(lambda: steps_in(hub, "me/board-bucket") == [0, 1], timeout_s=60)


def test_a_hub_that_is_well_gets_everything_before_finish_returns_and_nothing_from_the_training(hub, train):
    found = train(timeout_s=60)
    assert (found["asked"], found["told"]) == ([], [])
    assert steps_in(hub, "me/board-bucket") == [0, 1]
    assert until(lambda: "me/board" in hub.repo_ids("space"))


def test_the_first_line_names_the_page_and_its_visibility(hub, train):
    expected = f"trackio_like: {hub.endpoint}/spaces/me/board (private where it is new); rows go to the bucket "
    printed = train(timeout_s=0)["printed"]
    assert printed == f"{expected}me/board-bucket"
    assert os.environ["HF_TOKEN"] not in printed


def test_a_plan_without_spaces_is_told_with_the_choices_and_rows_arrive_all_the_same(hub, train, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", hub.tokens["free"])
    found = train(space="free/board", num_told=1, timeout_s=60)
    assert found["asked"] == []
    [told] = found["told"]
    assert "free/board" in told
    assert "trackio-like freeze" in told
    assert "trackio-like show" in told
    assert steps_in(hub, "free/board-bucket") == [0, 1]


def test_a_login_made_later_lets_rows_go_without_any_training_process(hub, train, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    [told] = train(space="me/later", num_told=1)["told"]
    assert "nobody is logged in" in told
    assert "log in with `hf auth login`" in told
    (tmp_path / "hf").mkdir(exist_ok=True)
    (tmp_path / "hf" / "token").write_text(hub.tokens["me"])  # what `hf auth login` writes
    assert until(lambda: steps_in(hub, "me/later-bucket") == [0, 1])
    assert until(lambda: "me/later" in hub.repo_ids("space"))


def test_a_token_that_is_good_again_lets_go_what_waits_in_the_next_run_without_a_stale_warning(hub, train, root):
    """What was found before the login is no news to the run after it."""
    hub.expire(hub.tokens["me"])
    train(num_told=1)
    for daemon in daemons(root):
        daemon.kill()
    until(lambda: not daemons(root))
    hub.revive(hub.tokens["me"])
    found = train(timeout_s=60)
    assert found["told"] == []
    assert "wait to be sent" not in found["printed"]
    assert steps_in(hub, "me/board-bucket") == [0, 1, 0, 1]
