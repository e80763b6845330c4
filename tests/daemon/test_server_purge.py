"""A run that is purged here goes from a self-hosted server too, whatever the server had heard of it."""

import pytest

from tests.daemon.sending import Time, courier_of, log, make_run, make_target, rows_in
from tests.flow.faulty_server import FaultyServer
from trackio_like.format.names import RunFolder
from trackio_like.store.changes import Change, FolderChanges

A, B = "w-1-aa", "w-2-bb"


@pytest.fixture
def server(tmp_path, monkeypatch):
    found = FaultyServer(tmp_path)
    found.reset()
    monkeypatch.setenv("TRACKIO_WRITE_TOKEN", found.add_user("me", is_pro=True))
    yield found
    found.close()


@pytest.fixture
def sent(server, root):
    """Two runs that the server holds, and the courier that sent them."""
    target, time = make_target(server, "server"), Time()
    folders = []
    for run_id in ("gone", "kept"):
        folder, known = make_run(root, target, run_id=run_id)
        log(folder, A, range(3))
        media = folder.path / "media" / "1"
        media.mkdir(parents=True)
        (media / "x.bin").write_bytes(b"x")
        folders.append(folder)
    courier = courier_of(known, time)
    courier.step()
    assert len(server.files()) == 4
    return folders[0], courier, time


def purge(folder):
    """Deleted and purged in one go, so that nobody hears of the deletion."""
    FolderChanges().change(folder, Change.parse("delete", {}), time_us=1)
    FolderChanges().purge(folder)


def passes(courier, time):
    for _ in range(10):
        time.pass_by(400)
        courier.step(is_full=True)


def test_a_run_whose_deletion_the_server_never_heard_of_goes_and_no_other(server, sent):
    folder, courier, time = sent
    purge(folder)
    passes(courier, time)
    assert courier.state.word == "ok"
    assert {path.split("/")[1] for path in server.files()} == {"kept"}


def test_a_purge_whose_answers_are_lost_is_finished_later(server, sent):
    folder, courier, time = sent
    purge(folder)
    server.fail("^/t/purge$", kind="lost")
    server.fail("^/t/files/p/gone/", kind="lost")
    passes(courier, time)
    assert courier.state.word == "ok"
    assert {path.split("/")[1] for path in server.files()} == {"kept"}


def test_rows_that_somebody_else_sent_under_the_same_id_stay(server, sent, root, tmp_path):
    folder, courier, time = sent
    other, known = make_run(tmp_path / "other", make_target(server, "server"), run_id="gone")
    log(other, B, range(2))
    courier_of(known, Time()).step()
    purge(folder)
    passes(courier, time)
    assert {row[2:4] for row in rows_in(server.files()) if row[1] == "gone"} >= {(B, 1), (B, 2)}


def test_a_run_that_is_begun_anew_under_the_same_id_stays_whole(server, sent, root):
    folder, courier, time = sent
    purge(folder)
    again = RunFolder(root=root, project="p", run_id="gone")
    log(again, B, range(2))
    passes(courier, time)
    assert {row[2:4] for row in rows_in(server.files()) if row[1] == "gone"} >= {(B, 1), (B, 2)}
