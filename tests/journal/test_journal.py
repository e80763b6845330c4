"""What a writer wrote is what a reader reads, wherever the file ends."""

import math
import shutil
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.format.names import JournalName
from trackio_like.journal import writer as writer_module
from trackio_like.journal.frames import HEAD, MAGIC, MAX_PAYLOAD_BYTES, frame, split_frames
from trackio_like.journal.reader import JournalTail, list_segments, read_header
from trackio_like.journal.writer import JournalWriter

payloads = st.binary(min_size=1, max_size=40)
numbers = st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1), st.booleans())
calls = st.lists(
    st.tuples(st.integers(-(2**62), 2**62), st.dictionaries(st.text(max_size=8), numbers, min_size=1, max_size=4)),
    max_size=12,
)


def segment(writer):
    return writer.folder / str(JournalName(writer=writer.header.writer, segment=writer.header.segment))


def rows(folder):
    """(seq, step, key, value as 8 bytes or exact int) of every row, in call order."""
    found = []
    for name in list_segments(folder):
        tail = JournalTail(folder / str(name))
        while (chunk := tail.read()) is not None:
            for block in chunk.scalars:
                for seq, step, values in zip(block.seqs, block.steps, block.values, strict=True):
                    found += [(seq, step, key, exact(value)) for key, value in zip(block.keys, values, strict=True)]
    return sorted(found, key=lambda row: row[0])


def exact(value):
    return struct.pack("<d", value) if isinstance(value, float) else value


@given(st.lists(payloads, max_size=6), st.data())
def test_a_file_cut_anywhere_gives_the_whole_frames_before_the_cut(contents, data):
    whole = b"".join(map(frame, contents))
    cut = data.draw(st.integers(0, len(whole)))
    ends = [sum(HEAD.size + len(p) for p in contents[: i + 1]) for i in range(len(contents))]
    expected = [p for p, end in zip(contents, ends, strict=True) if end <= cut]
    assert [bytes(p) for _, p in split_frames(whole[:cut])] == expected


@given(st.lists(payloads, min_size=3, max_size=6), st.data())
def test_a_frame_damaged_in_the_middle_is_told_and_the_rest_is_read(contents, data):
    whole = bytearray(b"".join(map(frame, contents)))
    position = HEAD.size + data.draw(st.integers(0, len(contents[0]) - 1))
    whole[position] ^= 0xFF
    read = [None if p is None else bytes(p) for _, p in split_frames(whole)]
    assert read == [None, *contents[1:]]


def test_zeros_that_a_power_cut_left_are_no_frames():
    assert list(split_frames(frame(b"x") + bytes(64))) == [(9, memoryview(b"x"))]


@given(calls=calls)
def test_calls_come_back_in_call_order_with_exact_values(tmp_path_factory, header, calls):
    folder = tmp_path_factory.mktemp("journal")
    journal = JournalWriter(folder, header)
    for step, values in calls:
        journal.metrics(step, tuple(values), [*values.values()])
    journal.close()
    expected = [
        (seq, step, key, exact(value))
        for seq, (step, values) in enumerate(calls, start=1)
        for key, value in values.items()
    ]
    assert rows(folder) == sorted(expected, key=lambda row: row[0])


def test_a_row_can_be_read_as_soon_as_its_call_returned(writer):
    tail = JournalTail(segment(writer))
    for step in range(3):
        writer.metrics(step, ("a",), [float(step)])
        chunk = tail.read()
        assert chunk.scalars[0].values == [[float(step)]]
    assert tail.read() is None


def test_a_call_with_objects_is_one_record(writer):
    writer.mixed(7, ("a",), [1.5], [("note", "text", "hello", None), ("pair", "json", [1, "x"], None)])
    chunk = JournalTail(segment(writer)).read()
    assert chunk.num_records == 1
    assert [(o.seq, o.step, o.key, o.type, o.payload) for o in chunk.objects] == [
        (1, 7, "note", "text", "hello"),
        (1, 7, "pair", "json", [1, "x"]),
    ]
    assert (chunk.scalars[0].seqs, chunk.scalars[0].steps) == ([1], [7])


def test_events_and_system_metrics_are_kept_apart_from_metrics(writer):
    writer.event("init", {"name": "n"})
    writer.system(("cpu",), [0.5])
    chunk = JournalTail(segment(writer)).read()
    assert [(e.seq, e.type, e.payload) for e in chunk.events] == [(1, "init", {"name": "n"})]
    assert (chunk.scalars[0].kind, chunk.scalars[0].steps, chunk.last_seq) == ("system", [None], 2)


def test_segments_stand_alone(tmp_path, header):
    journal = JournalWriter(tmp_path, header, segment_bytes=2000)
    for step in range(300):
        journal.metrics(step, ("a", "b"), [1.0, 2.0])
    journal.close()
    names = list_segments(tmp_path)
    assert len(names) > 3
    assert [row[0] for row in rows(tmp_path)] == [seq for seq in range(1, 301) for _ in "ab"]
    headers = [read_header(tmp_path / str(name)) for name in names]
    assert [h.segment for h in headers] == list(range(1, len(names) + 1))
    assert [h.first_seq for h in headers] == sorted(h.first_seq for h in headers)


def test_a_writer_whose_keys_never_repeat_begins_new_segments(tmp_path, header):
    journal = JournalWriter(tmp_path, header)
    for step in range(writer_module.MAX_KEY_SETS + 10):
        journal.metrics(step, (f"key{step}",), [1.0])
    journal.close()
    assert len(list_segments(tmp_path)) == 2
    assert len(rows(tmp_path)) == writer_module.MAX_KEY_SETS + 10


def test_a_tail_started_behind_some_records_knows_their_keys(writer):
    writer.metrics(0, ("a", "b"), [1.0, 2.0])
    first = JournalTail(segment(writer))
    first.read()
    writer.metrics(1, ("a", "b"), [3.0, 4.0])
    chunk = JournalTail(segment(writer), offset=first.offset).read()
    assert (chunk.scalars[0].keys, chunk.scalars[0].values) == (("a", "b"), [[3.0, 4.0]])


def test_a_tail_started_behind_more_records_than_one_read_takes_finds_the_next_one(writer):
    for step in range(50):
        writer.metrics(step, ("a",), [float(step)])
    first = JournalTail(segment(writer))
    first.read()
    writer.metrics(50, ("a",), [50.0])
    chunk = JournalTail(segment(writer), offset=first.offset).read(max_bytes=64)
    assert chunk.scalars[0].values == [[50.0]]


def test_reading_in_small_steps_gives_the_same_records(writer):
    for step in range(50):
        writer.metrics(step, ("a",), [float(step)])
    tail = JournalTail(segment(writer))
    values = []
    while (chunk := tail.read(max_bytes=64)) is not None or tail.has_grown():
        values += [v for block in chunk.scalars for (v,) in block.values] if chunk else []
    assert values == [float(step) for step in range(50)]


def test_a_file_that_is_no_journal_is_refused(tmp_path):
    path = tmp_path / "x.1.journal"
    path.write_bytes(b"not a journal")
    with pytest.raises(ValueError, match="not a journal"):
        JournalTail(path).read()


def test_a_journal_of_a_newer_version_says_to_update(tmp_path):
    path = tmp_path / "x.1.journal"
    path.write_bytes(MAGIC + frame(b"\x92\x00\x81\xa6format\xcd\x03\xe7"))
    with pytest.raises(ValueError, match=r"format 999.*update trackio_like"):
        JournalTail(path).read()


def test_time_follows_the_wall_clock_forward_and_never_back(writer):
    before = writer.now_us()
    writer._clock_base_ns -= 3_600_000_000_000  # as if the wall clock had moved one hour ahead since the start
    writer.follow_wall_clock()
    assert writer.now_us() >= before
    writer._clock_base_ns += 3_600_000_000_000  # as if the wall clock had been set back one hour
    ahead = writer.now_us()
    writer.follow_wall_clock()
    assert writer.now_us() >= ahead


def test_a_wrong_wall_clock_does_not_move_rows_back(writer, monkeypatch):
    import time

    writer.metrics(0, ("a",), [1.0])
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    writer.follow_wall_clock()
    writer.metrics(1, ("a",), [2.0])
    times = JournalTail(segment(writer)).read().scalars[0].times_us
    assert times[1] >= times[0]


def test_a_journal_deleted_under_its_writer_goes_on_in_a_new_segment(writer):
    writer.metrics(0, ("a",), [1.0])
    shutil.rmtree(writer.folder)
    assert writer.check_file() is False
    writer.metrics(1, ("a",), [2.0])
    assert [(row[0], row[1]) for row in rows(writer.folder)] == [(2, 1)]
    assert writer.check_file() is True


def test_nan_and_infinities_are_kept_bit_for_bit(writer):
    writer.metrics(0, ("a", "b", "c"), [math.nan, math.inf, -math.inf])
    (values,) = JournalTail(segment(writer)).read().scalars[0].values
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


def test_a_record_with_more_or_fewer_values_than_keys_costs_itself_only(writer):
    writer.metrics(0, ("a",), [1.0, 2.0])
    writer.metrics(1, ("a",), [3.0])
    writer.metrics(2, ("a",), [])
    writer.metrics(3, ("a",), [4.0])
    writer.metrics(4, ("b",), [])
    chunk = JournalTail(segment(writer)).read()
    assert chunk.num_damaged == 3
    assert [(block.steps, block.values) for block in chunk.scalars] == [([1, 3], [[3.0], [4.0]])]


def test_a_record_longer_than_a_reader_takes_is_refused_as_it_is_written():
    with pytest.raises(ValueError, match="longer than 1073741824 bytes"):
        frame(bytes(MAX_PAYLOAD_BYTES + 1))
