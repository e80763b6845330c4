"""What comes from outside is checked before it has its name, and can get no name but that of a run's file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import textwrap
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.recording import Recorded
from trackio_like.format.names import ShardName, encode_name
from trackio_like.format.schemas import FOOTER_KEY
from trackio_like.store.intake import INCOMING_FOLDER, Intake
from trackio_like.store.slots import Fault, IntakeError, Slot, is_slot


@pytest.fixture
def sent(tmp_path):
    """A run on the client's disk: path to content."""
    run = Recorded(tmp_path / "client", project="a/Ü 1")
    writer = run.writer()
    writer.event("init", {"name": "n"})
    for step in range(20):
        run.log(writer, step, loss=1.0, acc=0.5)
        run.seal(writer)
    run.compact(writer)
    writer.close()
    root = run.root
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.parquet"))}


@pytest.fixture
def intake(tmp_path):
    return Intake(tmp_path / "server")


def put(intake, path, body, *, num_bytes=None, digest=None):
    draft = intake.begin(path, len(body) if num_bytes is None else num_bytes)
    try:
        for start in range(0, len(body), 1000):
            draft.write(body[start : start + 1000])
        return draft.finish(hashlib.sha256(body).hexdigest() if digest is None else digest)
    finally:
        draft.discard()


def fault(call, *args, **options):
    with pytest.raises(IntakeError) as caught:
        call(*args, **options)
    return caught.value.fault


def covering(sent):
    """The largest metrics shard, and one that it covers."""
    shards = {ShardName.parse(path.rpartition("/")[2]): path for path in sent if "/metrics/" in path}
    largest = max(shards, key=lambda s: s.last - s.first)
    small = next(s for s in shards if s != largest)
    return shards[largest], shards[small]


def test_every_shard_is_taken_once_and_listed(intake, sent):
    assert [put(intake, path, body) for path, body in sent.items()] == [True] * len(sent)
    assert [put(intake, path, body) for path, body in sent.items()] == [False] * len(sent)
    assert dict(intake.files()) == {path: len(body) for path, body in sent.items()}
    assert [path for path, _ in intake.files()] == sorted(sent)
    assert os.listdir(intake.root / INCOMING_FOLDER) == []
    for path, body in sent.items():
        assert (intake.root / path).read_bytes() == body


def test_a_listing_goes_on_where_it_stopped(intake, sent):
    for path, body in sent.items():
        put(intake, path, body)
    names = sorted(sent)
    for after in (*names, "", names[3] + "x", names[0][:5]):
        assert [path for path, _ in intake.files(after=after)] == [path for path in names if path > after]
    folder = names[0].rpartition("/")[0] + "/"
    for prefix in (folder, folder[:-3], "nothing"):
        assert [path for path, _ in intake.files(prefix=prefix)] == [p for p in names if p.startswith(prefix)]


HOSTILE = [
    "",
    "/",
    "p",
    "p/r/metrics",
    "p/r/metrics/",
    "p/r/metrics/x.parquet",
    "p/r/metrics/.w-1-1.parquet",
    "p/r/metrics/w-1-1.parquet/",
    "p/r/metrics/w-1-1.parquet.tmp",
    "p/r/metrics/w-1-1.PARQUET",
    "p/r/metrics/w-01-1.parquet",
    "p/r/metrics/w-2-1.parquet",
    "p/r/metrics/w-0-1.parquet",
    "p/r/metrics/w-1-9223372036854775808.parquet",
    "p/r/metrics/W-1-1.parquet",
    "p/r/metrics/w-1-1.parquet\n",
    "p/r/metrics/" + "w" * 300 + "-1-1.parquet",
    "p/r/journal/w.1.journal",
    "p/r/journal/w-1-1.parquet",
    "p/r/nothing/w-1-1.parquet",
    "../r/metrics/w-1-1.parquet",
    "p/../metrics/w-1-1.parquet",
    "p/r/../w-1-1.parquet",
    "./r/metrics/w-1-1.parquet",
    "p//metrics/w-1-1.parquet",
    "/p/r/metrics/w-1-1.parquet",
    "p/r/metrics/../../../../etc/passwd",
    "..\\r/metrics/w-1-1.parquet",
    "p\\x/r/metrics/w-1-1.parquet",
    "C:/r/metrics/w-1-1.parquet",
    ".purged/r/metrics/w-1-1.parquet",
    ".incoming/r/metrics/w-1-1.parquet",
    ".sync/r/metrics/w-1-1.parquet",
    "%/r/metrics/w-1-1.parquet",
    "%2/r/metrics/w-1-1.parquet",
    "%2f/r/metrics/w-1-1.parquet",
    "%FF/r/metrics/w-1-1.parquet",
    "a b/r/metrics/w-1-1.parquet",
    "ü/r/metrics/w-1-1.parquet",
    "con/r/metrics/w-1-1.parquet",
    "p./r/metrics/w-1-1.parquet",
    "p\x00/r/metrics/w-1-1.parquet",
    "p/r/media/0/.hidden.png",
    "p/r/media/../x.png",
    "p/r/media/0/x",
    "p/r/media/0/../x.png",
    "p/r/media/0/1/x.png",
    "p/r/media/0/x.png/",
    "p/r/media//x.png",
]


@pytest.mark.parametrize("path", HOSTILE, ids=ascii)
def test_a_path_that_is_none_is_refused(intake, path):
    assert fault(intake.begin, path, 1) is Fault.PATH
    assert fault(intake.remove, path, is_deleted=lambda *_: True) is Fault.PATH
    assert not intake.root.exists()


@given(st.text(max_size=30))
def test_no_text_leaves_the_root(text):
    for path in (text, f"p/r/metrics/{text}", f"{text}/r/metrics/w-1-1.parquet", f"p/{text}/media/0/x.png"):
        if is_slot(path):
            slot = Slot.parse(path)
            assert "/".join((*slot.folders, slot.name)) == path
            assert not any(part in ("", ".", "..") or part[0] == "." or "\\" in part for part in path.split("/"))


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_every_name_of_ours_has_a_place(project, run_id):
    slot = Slot.parse(f"{encode_name(project)}/{encode_name(run_id)}/metrics/w-1-ff-1-2.parquet")
    assert (slot.project, slot.run_id, str(slot.shard)) == (project, run_id, "w-1-ff-1-2.parquet")


def test_capitals_may_be_encoded_too():
    assert Slot.parse("%50/r/metrics/w-1-1.parquet").project == "P"


def test_no_link_is_followed(intake, sent, tmp_path):
    outside = tmp_path / "outside"
    path, body = next(iter(sent.items()))
    for depth in (1, 2, 3):
        folder = intake.root.joinpath(*path.split("/")[:depth])
        folder.parent.mkdir(parents=True, exist_ok=True)
        outside.mkdir(exist_ok=True)
        folder.symlink_to(outside)
        assert fault(put, intake, path, body) is Fault.PATH
        folder.unlink()
    target = intake.root / path
    target.parent.mkdir(parents=True)
    target.symlink_to(outside / "file")
    assert fault(put, intake, path, body) is Fault.TAKEN
    assert list(outside.iterdir()) == []
    assert list(intake.files()) == []


def test_half_a_body_and_a_wrong_digest_leave_nothing(intake, sent):
    path, body = next(iter(sent.items()))
    assert fault(put, intake, path, body[:-1], num_bytes=len(body)) is Fault.TORN
    assert fault(put, intake, path, body + b"x", num_bytes=len(body)) is Fault.TORN
    assert fault(put, intake, path, body, digest="0" * 64) is Fault.TORN
    assert list(intake.files()) == []
    assert os.listdir(intake.root / INCOMING_FOLDER) == []


def test_other_content_under_a_name_is_refused_and_the_first_stays(intake, tmp_path):
    assert put(intake, "p/r/media/0/x.png", b"one")
    assert fault(put, intake, "p/r/media/0/x.png", b"two") is Fault.TAKEN
    assert (intake.root / "p/r/media/0/x.png").read_bytes() == b"one"


def lying(sent):
    """Files that are not what their paths say."""
    path = next(path for path in sent if "/metrics/" in path)
    body = sent[path]
    project, run, _, name = path.split("/")
    shard = ShardName.parse(name)
    events = next(body for path, body in sent.items() if "/events/" in path)
    yield "another project", f"other/{run}/metrics/{name}", body
    yield "another run", f"{project}/other/metrics/{name}", body
    yield "another writer", f"{project}/{run}/metrics/w-1-ff-{shard.first}-{shard.last}.parquet", body
    yield "other rows", f"{project}/{run}/metrics/{shard.writer}-1000-1001.parquet", body
    yield "another kind", f"{project}/{run}/system/{name}", body
    yield "another kind's columns", path, events
    yield "no Parquet", path, b"PAR1" + b"x" * 100
    yield "nothing", path, b""
    yield "a cut file", path, body[:-20]
    yield "a damaged page", path, body[:4] + b"\xff" * 400 + body[404:]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), sink)
    yield "a stranger's Parquet", path, sink.getvalue().to_pybytes()
    table = pq.read_table(pa.BufferReader(body), partitioning=None)
    for version in (1, 999):
        sink = pa.BufferOutputStream()
        document = {"schema_version": version, "kind": "metrics", "attempt": 1, "rank": 0, "num_rows": 10**6}
        pq.write_table(table.replace_schema_metadata({FOOTER_KEY: json.dumps(document)}), sink)
        yield f"a footer of version {version} that counts other rows", path, sink.getvalue().to_pybytes()


def test_a_shard_that_lies_is_refused(intake, sent):
    cases = list(lying(sent))
    assert len(cases) == 13
    for what, path, body in cases:
        assert fault(put, intake, path, body) is Fault.CONTENT, what
    assert list(intake.files()) == []


def test_two_clients_at_once_store_one_file(intake, sent):
    path, body = next(iter(sent.items()))
    barrier = threading.Barrier(4)
    answers = []

    def send():
        barrier.wait()
        answers.append(put(intake, path, body))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False, False, False, True]


def never(*_):
    return False


def test_only_a_covered_shard_is_removed_of_a_run_that_lives(intake, sent):
    for path, body in sent.items():
        put(intake, path, body)
    large, small = covering(sent)
    assert fault(intake.remove, large, is_deleted=never) is Fault.NEEDED
    assert intake.remove(small, is_deleted=never) is True
    assert intake.remove(small, is_deleted=never) is False
    (events,) = (path for path in sent if "/events/" in path)
    assert fault(intake.remove, events, is_deleted=never) is Fault.NEEDED


def test_a_deleted_run_goes_file_by_file_and_does_not_come_back(intake, sent):
    media = next(iter(sent)).rpartition("/")[0].rpartition("/")[0] + "/media/0/x.png"
    put(intake, media, b"image")
    for path, body in sent.items():
        put(intake, path, body)
    assert fault(intake.remove, media, is_deleted=never) is Fault.NEEDED
    first, *others = sorted(sent)
    assert intake.remove(first, is_deleted=lambda project, _: project == "a/Ü 1")
    for path in (*others, media):
        assert intake.remove(path, is_deleted=never)
    assert sorted(path.name for path in intake.root.iterdir()) == [INCOMING_FOLDER, ".purged"]
    assert fault(put, intake, first, sent[first]) is Fault.PURGED


def test_a_new_run_of_a_purged_id_is_taken(intake, sent, tmp_path):
    for path, body in sent.items():
        put(intake, path, body)
    for path in sent:
        intake.remove(path, is_deleted=lambda *_: True)
    project, run_id = (Slot.parse(path).project, Slot.parse(path).run_id)
    anew = Recorded(tmp_path / "anew", project=project, run_id=run_id)
    writer = anew.writer()
    anew.log(writer, 0, loss=1.0)
    anew.seal(writer)
    (shard,) = anew.shard_paths()
    assert put(intake, str(shard.relative_to(anew.root)), shard.read_bytes())
    writer.close()


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    code = """
        import hashlib, os, resource, sys
        from pathlib import Path
        from trackio_like.store.intake import INCOMING_FOLDER, Intake
        intake = Intake(Path(sys.argv[1]))
        draft = intake.begin("p/r/media/0/x.bin", 1 << 20)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            draft.write(b"x" * (1 << 20))
            draft.finish(hashlib.sha256(b"x" * (1 << 20)).hexdigest())
        except OSError as error:
            draft.discard()
            print(type(error).__name__, os.listdir(intake.root / INCOMING_FOLDER), list(intake.files()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path / "server"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "OSError [] []", done.stderr


def test_old_drafts_of_a_killed_server_are_removed(intake):
    young = intake.begin("p/r/media/0/x.png", 10)
    old = intake.root / INCOMING_FOLDER / "old.tmp"
    old.write_bytes(b"half")
    os.utime(old, (1, 1))
    intake.remove_old_drafts()
    assert len(os.listdir(intake.root / INCOMING_FOLDER)) == 1
    young.discard()
    with contextlib.suppress(IntakeError):
        intake.remove_old_drafts()
    assert os.listdir(intake.root / INCOMING_FOLDER) == []
