"""A writer that is interrupted anywhere: by Ctrl-C, or by a signal handler that logs itself."""

import os
import sys
from itertools import count

import pytest

from trackio_like.journal import writer as writer_module
from trackio_like.journal.reader import JournalTail, list_segments
from trackio_like.journal.writer import JournalWriter

MOMENTS = frozenset({"call", "c_return"})
"""Where CPython looks for signals within straight code: as a function begins, and behind a call."""


def at_each_moment(make, act, interrupt):
    """Acts on a fresh writer once for each moment within the writer's code, interrupted there; yields the writers."""
    for chosen in count():
        journal = make(chosen)
        reached = -1

        def look(frame, event, _, chosen=chosen, journal=journal):
            nonlocal reached
            if event in MOMENTS and frame.f_code.co_filename == writer_module.__file__:
                reached += 1
                if reached == chosen:
                    sys.setprofile(None)
                    interrupt(journal)

        sys.setprofile(look)
        try:
            act(journal)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        if reached < chosen:
            journal.close()
            return
        yield journal


def rows(folder):
    """(seq, step, key, value) of every row, by seq, and how many frames were no rows."""
    found, damaged = [], 0
    for name in list_segments(folder):
        tail = JournalTail(folder / str(name))
        while (chunk := tail.read()) is not None:
            damaged += chunk.num_damaged
            for block in chunk.scalars:
                for seq, step, values in zip(block.seqs, block.steps, block.values, strict=True):
                    found += [(seq, step, key, value) for key, value in zip(block.keys, values, strict=True)]
        assert not tail.has_grown()
    return sorted(found), damaged


def act(journal):
    """A known set of keys, a new one, and enough for new segments."""
    journal.metrics(1, ("a",), [1.0])
    journal.metrics(2, ("b",), [2.0])
    journal.metrics(3, ("a",), [3.0])


def raise_keyboard_interrupt(_):
    raise KeyboardInterrupt


def log_too(journal):
    journal.metrics(10, ("a",), [10.0])
    journal.metrics(11, ("c",), [11.0])


@pytest.fixture(params=[1 << 20, 200], ids=["one segment", "new segments"])
def make(request, tmp_path, header):
    def begin(number):
        journal = JournalWriter(tmp_path / str(number), header, segment_bytes=request.param)
        journal.metrics(0, ("a",), [0.0])
        return journal

    return begin


def test_a_signal_handler_that_logs_in_the_middle_of_a_call_keeps_order_names_and_rows(make):
    for journal in at_each_moment(make, act, log_too):
        journal.close()
        found, damaged = rows(journal.folder)
        assert damaged == 0
        assert sorted(row[1:] for row in found) == [
            (0, "a", 0.0), (1, "a", 1.0), (2, "b", 2.0), (3, "a", 3.0), (10, "a", 10.0), (11, "c", 11.0),
        ]  # fmt: skip
        assert len({seq for seq, *_ in found}) == 6
        by_file = [[seq for seq, *_ in in_segment(journal.folder, name)] for name in list_segments(journal.folder)]
        flat = [seq for seqs in by_file for seq in seqs]
        assert flat == sorted(flat)


def in_segment(folder, name):
    chunk = JournalTail(folder / str(name)).read()
    found = [] if chunk is None else [(seq, b.keys) for b in chunk.scalars for seq in b.seqs]
    return sorted(found)


def test_ctrl_c_in_the_middle_of_a_call_costs_no_other_call(make):
    for journal in at_each_moment(make, act, raise_keyboard_interrupt):
        act(journal)
        log_too(journal)
        journal.close()
        found, damaged = rows(journal.folder)
        assert damaged == 0
        kept = [row[1:] for row in found]
        assert kept[0] == (0, "a", 0.0)
        assert sorted(kept[-5:]) == [(1, "a", 1.0), (2, "b", 2.0), (3, "a", 3.0), (10, "a", 10.0), (11, "c", 11.0)]
        assert len({seq for seq, *_ in found}) == len(found) <= 9


def act_on_a_healed_disk(journal):
    journal.metrics(4, ("a",), [4.0])


@pytest.fixture
def make_refused(tmp_path, header):
    """A writer whose folder could not be written for a while: calls wait, and the next one finds it healed."""

    def begin(number):
        folder = tmp_path / str(number)
        journal = JournalWriter(folder, header, segment_bytes=1)
        os.rename(folder, tmp_path / f"away{number}")
        folder.write_bytes(b"")
        act(journal)
        assert journal.fault is not None
        folder.unlink()
        os.rename(tmp_path / f"away{number}", folder)
        return journal

    return begin


@pytest.mark.parametrize("interrupt", [raise_keyboard_interrupt, log_too])
def test_what_waited_is_stored_once_whatever_interrupts_its_storing(make_refused, interrupt):
    for journal in at_each_moment(make_refused, act_on_a_healed_disk, interrupt):
        assert journal.flush()
        journal.close()
        found, damaged = rows(journal.folder)
        assert damaged == 0
        waited = [row[1:] for row in found if row[1] in (1, 2, 3)]
        assert sorted(waited) == [(1, "a", 1.0), (2, "b", 2.0), (3, "a", 3.0)]
        assert len({seq for seq, *_ in found}) == len(found)


def test_a_segment_that_an_interrupted_call_left_behind_is_passed_over(tmp_path, header):
    journal = JournalWriter(tmp_path, header, segment_bytes=1)
    (tmp_path / f"{header.writer}.2.journal").write_bytes(b"TKJ")
    act(journal)
    assert journal.fault is None
    journal.close()
    assert [row[1] for row in rows_of_whole_files(tmp_path)] == [1, 2, 3]


def rows_of_whole_files(folder):
    for name in list_segments(folder):
        chunk = JournalTail(folder / str(name)).read()
        if chunk is not None:
            for block in chunk.scalars:
                yield from zip(block.seqs, block.steps, strict=True)


def test_a_descriptor_that_somebody_closed_is_replaced(tmp_path, header):
    journal = JournalWriter(tmp_path, header)
    journal.metrics(0, ("a",), [0.0])
    os.close(journal._fd)  # as libraries that make a process a daemon do to all descriptors
    act(journal)
    assert journal.flush()
    journal.close()
    assert sorted(row[1] for row in rows(tmp_path)[0]) == [0, 1, 2, 3]
