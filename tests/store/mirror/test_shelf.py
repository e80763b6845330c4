"""A mirror's files on this disk: whole or not there."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trackio_like.errors import DamagedFileError
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.mirror.shelf import DRAFTS, Shelf, is_whole

PLACE = parse_path("p/r/metrics/w-1-1.parquet")
MEDIA = parse_path("p/r/media/images/a.png")


def parquet():
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2, 3]}), sink)
    return sink.getvalue()


@pytest.fixture
def shelf(tmp_path):
    made = Shelf(tmp_path / "copy")
    made.scan()
    return made


def draft(shelf, content):
    path = shelf.draft()
    path.write_bytes(content)
    return path


def test_a_whole_file_is_there_under_its_name(shelf):
    shelf.publish(draft(shelf, parquet()), PLACE, content_hash="h")
    assert (shelf.folder / "p/r/metrics/w-1-1.parquet").read_bytes() == parquet()
    assert shelf.names(PLACE.folder) == {PLACE.name}
    assert list((shelf.folder / DRAFTS).iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1" + bytes(20),
        parquet()[:-1],
        parquet()[:-9] + parquet()[-8:-4] + b"PAR0",
        b"\0" * len(parquet()),
        b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1",
        b"PAR1\0\0\0\0\0\0\0\0PAR1",
    ],
    ids=["empty", "magic", "two magics", "no end", "cut", "wrong end", "zeros", "footer too long", "no footer"],
)
def test_a_shard_that_is_no_whole_parquet_file_is_refused_and_its_draft_removed(shelf, content):
    with pytest.raises(DamagedFileError):
        shelf.publish(draft(shelf, content), PLACE)
    assert shelf.folders == set()
    assert list((shelf.folder / DRAFTS).iterdir()) == []


def test_media_may_be_anything(shelf):
    shelf.publish(draft(shelf, b""), MEDIA)
    assert shelf.has(MEDIA.folder, MEDIA.name, num_bytes=0, content_hash="")


def test_another_size_or_another_content_is_not_the_same_file(shelf):
    shelf.publish(draft(shelf, parquet()), PLACE, content_hash="one")
    size = len(parquet())
    assert shelf.has(PLACE.folder, PLACE.name, num_bytes=size, content_hash="one")
    assert shelf.has(PLACE.folder, PLACE.name, num_bytes=size, content_hash="")
    assert not shelf.has(PLACE.folder, PLACE.name, num_bytes=size, content_hash="two")
    assert not shelf.has(PLACE.folder, PLACE.name, num_bytes=size + 1, content_hash="one")


def test_another_process_finds_what_was_left_and_no_draft(shelf):
    shelf.publish(draft(shelf, parquet()), PLACE, content_hash="one")
    shelf.mark_whole()
    draft(shelf, b"half")
    (shelf.folder / "p/r/metrics/notes.txt").write_text("somebody's")
    later = Shelf(shelf.folder)
    assert is_whole(shelf.folder)
    later.scan()
    assert not is_whole(shelf.folder)
    assert later.names(PLACE.folder) == {PLACE.name}
    assert later.has(PLACE.folder, PLACE.name, num_bytes=len(parquet()), content_hash="of the source")
    assert list((shelf.folder / DRAFTS).iterdir()) == []


def test_folders_go_with_their_last_file_and_a_strangers_file_stays(shelf):
    shelf.publish(draft(shelf, parquet()), PLACE)
    shelf.publish(draft(shelf, b"x"), MEDIA)
    (shelf.folder / "p/r/media/notes.txt").write_text("somebody's")
    shelf.delete(PLACE.folder, PLACE.name)
    shelf.delete(PLACE.folder, PLACE.name)
    shelf.delete(MEDIA.folder, MEDIA.name)
    found = {path.relative_to(shelf.folder).as_posix() for path in shelf.folder.rglob("*")}
    assert found - {DRAFTS} == {"p", "p/r", "p/r/media", "p/r/media/notes.txt"}
