"""What a look at the bound runs finds, and what it does not look at."""

import os

from tests.daemon.sending import Time, make_run
from trackio_like.daemon.scan import SETTLED_S, RunScanner
from trackio_like.format.targets import Target

TARGET = Target(kind="bucket", id="me/board", endpoint="http://127.0.0.1:9")


def put(folder, name, *, keeps_time=False):
    """A file, in the same tick of the clock as the folder's last one where asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    before = os.stat(folder)
    (folder / name).write_bytes(b"x")
    if keeps_time:
        os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


def look(scanner):
    return {key: [file.path for file in files] for key, files in scanner.changed_runs()}


def test_a_file_that_came_in_the_same_tick_as_the_last_listing_is_found(root):
    folder, known = make_run(root, TARGET)
    time = Time()
    scanner = RunScanner(known, clock=time)
    put(folder.path / "media", "1")
    assert look(scanner) == {"p/r": ["p/r/media/1"]}
    time.pass_by(SETTLED_S - 0.1)
    assert look(scanner) == {}
    put(folder.path / "media", "2", keeps_time=True)
    assert look(scanner) == {"p/r": ["p/r/media/1", "p/r/media/2"]}
    put(folder.path / "media", "3", keeps_time=True)
    time.pass_by(0.2)
    assert look(scanner) == {"p/r": ["p/r/media/1", "p/r/media/2", "p/r/media/3"]}


def test_a_settled_folder_is_not_listed_again_before_its_time_changes(root, monkeypatch):
    folder, known = make_run(root, TARGET)
    time = Time()
    scanner = RunScanner(known, clock=time)
    put(folder.path / "media", "1")
    look(scanner)
    time.pass_by(SETTLED_S)
    look(scanner)
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    for _ in range(50):
        time.pass_by(1)
        assert look(scanner) == {}
    assert not [path for path in listed if str(path).startswith(str(folder.path))]


def test_a_file_that_is_gone_and_a_run_that_is_gone_are_changes(root):
    folder, known = make_run(root, TARGET)
    scanner = RunScanner(known)
    put(folder.path / "media", "1")
    put(folder.path / "media", "2")
    look(scanner)
    (folder.path / "media" / "1").unlink()
    assert look(scanner) == {"p/r": ["p/r/media/2"]}
    (folder.path / "media" / "2").unlink()
    (folder.path / "media").rmdir()
    assert look(scanner) == {"p/r": []}
    assert look(scanner) == {}
