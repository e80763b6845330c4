"""A follower hands over every row once, whatever moves the files."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.recording import Recorded, Row, rows_of
from trackio_like.journal.writer import JournalWriter
from trackio_like.store.faults import Faults
from trackio_like.store.follow import Delta, RunFollower, Spans


def metric_rows(delta: Delta) -> list[Row]:
    rows = [row for r in delta.reads if r.shard.kind == "metrics" for row in rows_of(r.shard.path, after=r.after)]
    for batch in delta.batches:
        writer = batch.header.writer
        for block in batch.blocks:
            new = block.after(delta.seen[block.kind].get(writer, 0))
            if new is not None and new.kind == "metrics":
                rows += [(writer, int(seq), key) for seq in new.seq_C for key in new.keys]
    return rows


class Interrupted(RunFollower):
    """Lets others work between the reading of the journals and the listing of the shards."""

    between: Callable[[], None] = staticmethod(lambda: None)

    def _list_shards(self, spans: Spans) -> bool:
        self.between()
        return super()._list_shards(spans)


changes = st.sampled_from(["log", "log", "log", "system", "event", "seal", "seal", "compact", "drop"])
looks = st.tuples(st.sampled_from(["advance", "look"]), st.lists(changes, max_size=6))


@given(
    steps=st.lists(st.one_of(changes, changes, looks), max_size=60), segment_bytes=st.sampled_from([300, 600, 1 << 20])
)
def test_every_row_is_handed_over_once_in_whatever_order_files_change(tmp_path_factory, steps, segment_bytes):
    run = Recorded(tmp_path_factory.mktemp("root"))
    writers = [run.writer(segment_bytes=segment_bytes), run.writer(attempt=2, segment_bytes=segment_bytes)]
    follower = Interrupted(run.folder.path, faults=Faults())
    numbers = itertools.count()
    got: list[Row] = []

    def change(step: str) -> None:
        number = next(numbers)
        writer = writers[number % 3 % 2]
        if step == "log":
            run.log(writer, number, a=1.0, **({"b": 2.0} if number % 5 else {}))
        elif step == "system":
            writer.system(("cpu",), [1.0])
        elif step == "event":
            writer.event("alert", {"title": "x"})
        elif step == "seal":
            run.seal(writer)
        elif step == "compact":
            run.compact(*writers)
        else:
            run.drop_covered()

    def apply_all(waiting: list[str]) -> None:
        while waiting:
            change(waiting.pop(0))

    for step in steps:
        if isinstance(step, str):
            change(step)
            continue
        follower.between = functools.partial(apply_all, list(step[1]))
        got += metric_rows(follower.advance(look_at_shards=step[0] == "look"))
    follower.between = lambda: None
    got += metric_rows(follower.advance())
    assert sorted(got) == sorted(run.rows)
    for writer in writers:
        writer.close()


@given(steps=st.lists(st.sampled_from(["log", "seal", "compact", "drop"]), max_size=30))
def test_a_reader_that_comes_late_gets_every_row_once(tmp_path_factory, steps):
    run = Recorded(tmp_path_factory.mktemp("root"))
    writer = run.writer(segment_bytes=500)
    for number, step in enumerate(steps):
        if step == "log":
            run.log(writer, number, a=1.0)
        else:
            act: dict[str, Callable[[JournalWriter], None]] = {"seal": run.seal, "compact": run.compact}
            act.get(step, lambda _: run.drop_covered())(writer)
    assert sorted(metric_rows(RunFollower(run.folder.path, faults=Faults()).advance())) == sorted(run.rows)
    writer.close()


@pytest.mark.slow
def test_every_row_is_handed_over_once_while_others_seal_and_compact(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer(segment_bytes=3000)
    follower = RunFollower(run.folder.path, faults=(faults := Faults()))
    is_over = threading.Event()

    def tidy() -> None:
        while not is_over.is_set():
            run.seal(writer)
            run.compact(writer)
            run.drop_covered(grace_s=1.0)

    tidier = threading.Thread(target=tidy)
    tidier.start()
    got: list[Row] = []
    try:
        for step in range(20_000):
            run.log(writer, step, a=1.0)
            if step % 10 == 0:
                got += metric_rows(follower.advance(look_at_shards=step % 20 == 0))
    finally:
        is_over.set()
        tidier.join()
    got += metric_rows(follower.advance())
    writer.close()
    assert sorted(got) == sorted(run.rows)
    assert len(faults) == 0


def test_files_that_are_no_shards_are_skipped_and_counted_once(tmp_path: Path, caplog):
    run = Recorded(tmp_path)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    run.seal(writer)
    writer.close()
    folder = run.folder.path / "metrics"
    whole = run.shard_paths()[0].read_bytes()
    (folder / "box-1-aa-1-5.parquet").write_bytes(b"")
    (folder / "box-1-bb-1-5.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "notes.parquet").write_bytes(b"not ours")
    (folder / "box-1-cc-1-5.parquet.tmp").write_bytes(b"a draft")
    faults = Faults()
    follower = RunFollower(run.folder.path, faults=faults)
    assert sorted(metric_rows(follower.advance())) == sorted(run.rows)
    follower.advance()
    assert len(faults) == 2
    assert sum("skipped" in record.message for record in caplog.records) == 2


def test_a_damaged_large_shard_gives_way_to_the_smaller_ones_it_covered(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(3):
        run.log(writer, step, a=1.0)
        run.seal(writer)
    run.compact(writer)
    run.drop_journal(writer)
    [covering] = [path for path in run.shard_paths() if path.name.endswith("-1-3.parquet")]
    covering.write_bytes(b"PAR1 broken")
    assert sorted(metric_rows(RunFollower(run.folder.path, faults=Faults()).advance())) == sorted(run.rows)
    writer.close()


def test_a_journal_that_is_not_one_is_skipped(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    run.log(writer, 0, a=1.0)
    (run.folder.journal / "box-1-zz.1.journal").write_bytes(b"something else entirely")
    faults = Faults()
    assert metric_rows(RunFollower(run.folder.path, faults=faults).advance()) == run.rows
    assert len(faults) == 1
    writer.close()


def test_a_folder_that_does_not_exist_is_an_empty_run(tmp_path: Path):
    assert RunFollower(tmp_path / "nowhere", faults=Faults()).advance().is_empty
