"""Names on disk."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.format.names import (
    JournalName,
    RunFolder,
    ShardName,
    decode_name,
    encode_name,
    new_run_id,
    new_writer_id,
    project_folder_for,
)

texts = st.text(min_size=1, max_size=20)
writers = st.from_regex(r"[a-z0-9]{1,8}-[0-9]{1,5}-[a-f0-9]{8}", fullmatch=True)


@given(texts)
def test_a_folder_name_stands_for_exactly_one_name(name):
    assert decode_name(encode_name(name)) == name


@given(texts)
def test_a_folder_name_stays_within_its_parent(name):
    folder = encode_name(name)
    assert not set(folder) & set('/\\:*?"<>|\0 ')
    assert folder[0] != "."
    assert folder[-1] not in ". "


@pytest.mark.parametrize("name", ["..", ".", "CON", "nul.txt", "a/b", "../../etc", "/abs", "a:b", "A B ☂", "~root"])
def test_a_hostile_name_is_an_ordinary_folder(tmp_path, name):
    (tmp_path / "inside").mkdir()
    folder = RunFolder(root=tmp_path / "inside", project=name, run_id=name).path
    folder.mkdir(parents=True)
    assert folder.resolve().is_relative_to((tmp_path / "inside").resolve())
    assert [decode_name(p.name) for p in (tmp_path / "inside").iterdir()] == [name]


def test_different_names_never_share_a_folder():
    names = ["a:b", "ab", "a/b", "A B ☂", "..", "CON", "con", "a%3Ab"]
    assert len({encode_name(name) for name in names}) == len(names)


def test_an_empty_name_is_refused():
    with pytest.raises(ValueError, match="must not be empty"):
        encode_name("")


def test_a_name_longer_than_a_file_system_takes_is_refused_with_its_size():
    with pytest.raises(ValueError, match=r"takes 450 bytes.*at most 200"):
        encode_name("損" * 50)


@given(writers, st.integers(1, 10**12), st.integers(0, 10**6))
def test_a_shard_name_is_read_back(writer, first, length):
    name = ShardName(writer=writer, first=first, last=first + length)
    assert ShardName.parse(str(name)) == name


@pytest.mark.parametrize(
    "filename", ["a-1-2.parquet.tmp", ".a-1-2.parquet", "a-0-2.parquet", "a-3-2.parquet", "A-1-2.parquet", "x.parquet"]
)
def test_a_file_that_is_no_shard_is_not_taken_for_one(filename):
    assert ShardName.parse(filename) is None


@given(writers, st.integers(1, 10**6))
def test_a_journal_name_is_read_back(writer, segment):
    name = JournalName(writer=writer, segment=segment)
    assert JournalName.parse(str(name)) == name
    assert JournalName.parse(f"{name}.damaged") is None


def test_a_range_that_falls_is_refused():
    with pytest.raises(ValueError, match="first <= last"):
        ShardName(writer="w", first=2, last=1)


def test_ids_do_not_repeat():
    assert len({new_run_id() for _ in range(1000)}) == 1000
    assert len({new_writer_id("Höst.local", 1) for _ in range(1000)}) == 1000


def test_a_writer_id_fits_a_shard_name_whatever_the_host_is_called():
    writer = new_writer_id("My_Laptop.local-3 ☂", 12)
    assert ShardName.parse(str(ShardName(writer=writer, first=1, last=1))) is not None
    assert new_writer_id("☂", 12).startswith("host-12-")


def test_a_project_takes_its_plain_folder_where_that_is_free_or_its_own(tmp_path: Path):
    assert project_folder_for(tmp_path / "missing", "My") == "My"
    (tmp_path / "My").mkdir()
    assert project_folder_for(tmp_path, "My") == "My"


def test_a_project_that_the_file_system_takes_for_another_gets_a_folder_of_its_own(tmp_path: Path):
    """A folder that "exists" though the listing has no entry of that exact name: a file system blind to case."""
    (tmp_path / "MY").mkdir()
    blind = (tmp_path / "My").exists()
    expected = "%4Dy" if blind else "My"
    assert project_folder_for(tmp_path, "My") == expected
    assert decode_name(expected) == "My"


def test_two_projects_may_spell_one_name_in_two_ways():
    assert decode_name("%4Dy") == decode_name("My") == "My"
