"""What a training process says of rows on their way: where they go, what is wrong, and what waits at the end."""

from __future__ import annotations

import sys
import tempfile
import time
import types
import warnings

import pytest
from huggingface_hub import constants

from tests.flow.conftest import until
from trackio_like import TrackioLikeWarning
from trackio_like._delivery import OUTAGE_TOLD_AFTER_S, OUTDATED_FOR_S, Delivery, where
from trackio_like._progress import LINE_EVERY_S, Progress, size_text
from trackio_like.daemon.ledger import Ledger
from trackio_like.daemon.state import SyncState, hurry_asked_s
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import Target, TargetFolder, bind_run, targets_of
from trackio_like.run.credentials import load_token, read_token_key, save_token
from trackio_like.run.destination import Destination

HUB = "https://hub.example"
ROWS = Target(kind="bucket", id="me/rows", endpoint=HUB)
MORE = Target(kind="dataset", id="me/more", endpoint=HUB)
SHARD = "metrics/w-1-aa-1-1.parquet"


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    """Tokens of this test lie in a folder of its own; what names a login outside it is gone."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def folder(root):
    folder = RunFolder(root=root, project="p", run_id="r")
    shard = folder.path / SHARD
    shard.parent.mkdir(parents=True)
    shard.write_bytes(b"x" * 1000)
    return folder


@pytest.fixture
def delivery(folder):
    return Delivery(folder, own_writers=lambda: ["w-1-aa"])


def bound(delivery, *targets):
    for target in targets:
        delivery.bind(Destination(target=target), is_told=False)
    return [TargetFolder(root=delivery.targets()[0].root, key=target.key) for target in targets]


def found(known, word, message, *, age_s=0.0, **more):
    SyncState(word=word, message=message, since_s=time.time() - age_s, **more).save(known)


def told(delivery):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        delivery.tell_news()
    return [str(warning.message) for warning in caught]


# -- where -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (ROWS, f"trackio_like: rows go to {HUB}/buckets/me/rows (private where it is new)"),
        (MORE, f"trackio_like: rows go to {HUB}/datasets/me/more (private where it is new)"),
        (
            Target(kind="bucket", id="me/rows", space_id="me/board", is_private=False, endpoint=HUB),
            f"trackio_like: {HUB}/spaces/me/board (public where it is new); rows go to the bucket me/rows",
        ),
        (
            Target(kind="bucket", id="board-bucket", space_id="board", endpoint=HUB),
            (
                "trackio_like: the space board of whoever is logged in (private where it is new); "
                "rows go to the bucket board-bucket"
            ),
        ),
        (Target(kind="server", id="http://tracker:7860"), "trackio_like: rows go to http://tracker:7860"),
    ],
    ids=["bucket", "dataset", "Space", "bare name", "server"],
)
def test_the_first_line_says_where_and_who_may_look(target, line):
    assert where(target) == line


def test_only_the_first_process_of_a_run_prints_it(delivery, capsys):
    delivery.bind(Destination(target=ROWS), is_told=False)
    assert capsys.readouterr().out == ""
    delivery.bind(Destination(target=ROWS), is_told=True)
    assert capsys.readouterr().out == where(ROWS) + "\n"


def test_a_server_that_a_space_wins_over_is_said_to_be_ignored(delivery):
    with pytest.warns(TrackioLikeWarning, match="server_url='http://tracker' is ignored"):
        delivery.bind(Destination(target=ROWS, ignored_server="http://tracker"), is_told=False)


def test_a_root_that_cannot_be_bound_is_told_and_training_goes_on(delivery, folder):
    (folder.root / ".sync").write_text("in the way")
    with pytest.warns(TrackioLikeWarning, match="send it later with `trackio-like sync`"):
        delivery.bind(Destination(target=ROWS), is_told=True)
    assert targets_of(folder) == []


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_the_environments_login_and_a_servers_token_are_left_for_the_daemon(delivery, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    server = Target(kind="server", id="http://tracker")
    space = Target(kind="bucket", id="me/board-bucket", space_id="me/board", endpoint=HUB)
    delivery.bind(Destination(target=ROWS), is_told=False)
    delivery.bind(Destination(target=server, token="s3cret"), is_told=False)
    delivery.bind(Destination(target=space, space_read_token="hf_read"), is_told=False)
    assert load_token(ROWS.key) == "hf_mine"
    assert load_token(server.key) == "s3cret"
    assert load_token(read_token_key(space.key)) == "hf_read"
    assert load_token(read_token_key(ROWS.key)) is None


def test_a_servers_target_never_gets_the_hubs_login(delivery, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    server = Target(kind="server", id="http://tracker")
    delivery.bind(Destination(target=server), is_told=False)
    assert load_token(server.key) is None


def test_the_login_of_colab_is_asked_for_beside_the_training(delivery, tmp_path, monkeypatch):
    (tmp_path / "login").write_text("hf_notebook")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "login"))
    delivery.bind(Destination(target=ROWS), is_told=False)
    assert load_token(ROWS.key) is None  # the daemon finds this login by itself
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    delivery.bind(Destination(target=ROWS), is_told=False)
    assert until(lambda: load_token(ROWS.key)) == "hf_notebook"


def test_a_token_file_is_for_its_user_alone_from_its_first_byte(tmp_path):
    save_token("key", "hf_first")
    save_token("key", "hf_second")
    [file] = tmp_path.rglob("tokens/*")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert load_token("key") == "hf_second"


def test_a_token_that_cannot_be_left_is_told_without_it(delivery, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    save_token("other", "x")
    [tokens] = tmp_path.rglob("tokens")
    (tokens / "other").unlink()
    tokens.rmdir()
    tokens.write_text("in the way")
    with pytest.warns(TrackioLikeWarning, match="could not be left for the background process") as caught:
        delivery.bind(Destination(target=ROWS), is_told=False)
    assert "hf_mine" not in str(caught[0].message)


# -- news ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["refused", "missing", "offline"])
def test_what_a_person_must_do_is_told_once(delivery, word):
    [known] = bound(delivery, ROWS)
    assert told(delivery) == []
    found(known, word, "Log in.")
    assert told(delivery) == ["Log in."]
    assert told(delivery) == []
    found(known, word, "Log in again.")
    assert told(delivery) == ["Log in again."]


def test_an_outage_is_told_once_it_has_lasted_and_the_next_one_is_not(delivery):
    [known] = bound(delivery, ROWS)
    delivery._began_s -= 100
    found(known, "retrying", "The Hub is away.")
    assert told(delivery) == []
    found(known, "retrying", "The Hub is away.", age_s=OUTAGE_TOLD_AFTER_S)
    assert told(delivery) == ["The Hub is away."]
    found(known, "ok", "")
    assert told(delivery) == []
    found(known, "retrying", "The Hub is busy.", age_s=OUTAGE_TOLD_AFTER_S)
    assert told(delivery) == []


def test_each_target_has_news_of_its_own(delivery):
    delivery._began_s -= 100
    for known in bound(delivery, ROWS, MORE):
        found(known, "retrying", f"{known.load()} is away.", age_s=OUTAGE_TOLD_AFTER_S)
    assert sorted(told(delivery)) == ["the bucket me/rows is away.", "the dataset me/more is away."]


def test_what_an_earlier_run_met_is_told_only_once_the_daemon_had_time_to_look_again(delivery):
    [known] = bound(delivery, ROWS)
    found(known, "refused", "Log in.", age_s=1000)
    assert told(delivery) == []
    delivery._began_s -= OUTDATED_FOR_S
    assert told(delivery) == ["Log in."]


def test_a_space_has_news_once_rows_arrive_and_notes_are_told_at_once(delivery):
    [known] = bound(delivery, ROWS)
    found(known, "refused", "Log in.", space_note="Log in for the Space.", note="It was made private.")
    assert told(delivery) == ["It was made private.", "Log in."]
    found(known, "ok", "", space_note="The plan has no Spaces.", last_success_s=time.time())
    assert told(delivery) == ["The plan has no Spaces."]


# -- the wait at the end ---------------------------------------------------------------------------------------------


def arrives(known):
    Ledger(known.ledger).note(stored={f"p/r/{SHARD}": 1000}, now_s=time.time())


def test_finish_waits_for_nothing_where_nothing_is_sent(delivery, capsys):
    delivery.finish(60.0, has_daemon=True)
    assert capsys.readouterr().out == ""


def test_finish_returns_at_once_where_everything_has_arrived(delivery, capsys):
    [known] = bound(delivery, ROWS)
    arrives(known)
    delivery.finish(60.0, has_daemon=True)
    assert capsys.readouterr().out == ""
    assert hurry_asked_s(known) is not None


def test_finish_says_at_its_timeout_what_waits_and_why(delivery, capsys):
    [known] = bound(delivery, ROWS)
    found(known, "retrying", "The Hub is away.")
    delivery.finish(0.05, has_daemon=True)
    assert capsys.readouterr().out == (
        "trackio_like: 1 files wait to be sent. Nothing is lost: the background process goes on while this machine "
        "runs. `trackio-like status` shows how far it is, `trackio-like sync` sends what is left.\n"
        "  The Hub is away.\n"
    )


def test_finish_with_a_timeout_of_0_neither_waits_nor_speaks(delivery, capsys):
    bound(delivery, ROWS)
    delivery.finish(0.0, has_daemon=True)
    assert capsys.readouterr().out == ""


def test_finish_waits_for_nobody_where_no_daemon_sends(delivery, capsys):
    bound(delivery, ROWS)
    delivery.finish(60.0, has_daemon=False)
    assert "for TRACKIO_DAEMON=off. Nothing is lost: send them with `trackio-like sync`" in capsys.readouterr().out


def test_finish_ends_at_once_where_only_a_person_can_help(delivery, capsys):
    [known] = bound(delivery, ROWS)
    found(known, "refused", "Log in.")
    with pytest.warns(TrackioLikeWarning, match="Log in"):
        delivery.tell_news()
    delivery.finish(60.0, has_daemon=True)
    assert capsys.readouterr().out.endswith("\n  Log in.\n")


def test_finish_waits_for_one_target_while_another_refuses(delivery, capsys):
    refusing, slow = bound(delivery, ROWS, MORE)
    arrives(refusing)
    found(refusing, "refused", "Log in.")  # for what others logged; ours is there
    with pytest.warns(TrackioLikeWarning, match="Log in"):
        delivery.finish(0.05, has_daemon=True)
    out = capsys.readouterr().out
    assert "1 files wait" in out
    assert "Log in" not in out
    assert not slow.ledger.exists()


def test_rows_of_other_processes_are_not_waited_for(folder, capsys):
    delivery = Delivery(folder, own_writers=lambda: ["w-2-bb"])
    bind_run(ROWS, folder)
    delivery.finish(60.0, has_daemon=True)
    assert capsys.readouterr().out == ""


# -- the bar ---------------------------------------------------------------------------------------------------------


def test_a_bar_is_shown_after_a_second_and_in_a_log_a_line_now_and_then(capsys):
    with Progress("Sending") as bar:
        bar.show(0, 100, 0.9)
        bar.show(25, 100, 1.0)
        bar.show(50, 100, LINE_EVERY_S)
        bar.show(75, 100, 1.0 + LINE_EVERY_S)
    assert capsys.readouterr().err.splitlines() == [
        "Sending [======                  ]  25% 25 B of 100 B, 1 s",
        "Sending [==================      ]  75% 75 B of 100 B, 11 s",
    ]


def test_a_bar_for_terminals_writes_nothing_into_a_log_and_amounts_read_as_they_are_told_to(capsys, monkeypatch):
    with Progress("Counting", amount=str, is_for_terminals=True) as bar:
        bar.show(1, 4, 5.0)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        bar.show(1, 4, 5.0)
    assert "25% 1 of 4, 5 s" in capsys.readouterr().err


def test_on_a_terminal_the_bar_is_drawn_in_place_and_taken_away(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("Sending") as bar:
        bar.show(100, 200, 1.0)
        bar.show(200, 200, 2.0)
    err = capsys.readouterr().err
    assert "\n" not in err
    assert err.startswith("\rSending [============            ]  50% 100 B of 200 B, 1 s\r")
    assert err.endswith("\r" + " " * len("Sending [========================] 100% 200 B of 200 B, 2 s") + "\r")


def test_a_bar_without_stderr_is_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress("Sending") as bar:
        bar.show(1, 2, 5.0)


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12 kB"), (999_600, "1.0 MB"), (5 * 10**12, "5000 GB")],
)
def test_sizes_are_as_people_read_them(num_bytes, text):
    assert size_text(num_bytes) == text
