"""Journals of one writer."""

import os

import pytest

from trackio_like.format.records import Header
from trackio_like.journal.writer import JournalWriter


@pytest.fixture
def header():
    return Header(
        project="p",
        run_id="r",
        writer="host-1-00000000",
        host="host/x",
        pid=os.getpid(),
        process_started=1.0,
        attempt=1,
        rank=0,
        segment=1,
        first_seq=1,
    )


@pytest.fixture
def writer(tmp_path, header):
    journal = JournalWriter(tmp_path / "journal", header)
    yield journal
    journal.close()
