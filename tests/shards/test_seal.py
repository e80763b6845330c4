"""What is in a shard, and that any tool reads it."""

import datetime
import math
import os
import time

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shards.conftest import WRITER, make_header, read_kind, read_metrics, shard_names
from trackio_like.format.names import RunFolder
from trackio_like.format.schemas import SCHEMAS, SUMMARY_COLUMNS, parse_footer
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.compact import compact_folder, drop_covered, merge_shards, summarise_table
from trackio_like.shards.files import read_info
from trackio_like.shards.seal import WriterSealer


def seal(folder):
    return WriterSealer(folder, WRITER).seal()


def compact(folder, kind="metrics"):
    compact_folder(folder.shards(kind), kind, closed_writers=[WRITER], own_writers=[WRITER])


def newest(folder, kind="metrics"):
    path = folder.shards(kind)
    return path / str(max(shard_names(path), key=lambda name: name.last - name.first))


def test_shards_have_the_kinds_schema_whoever_reads_them(folder, journal):
    journal.event("init", {"name": "☂"})
    journal.mixed(1, ("损失", "a"), [1.5, 2], [("t", "text", "hello", None)])
    journal.system(("cpu",), [0.5])
    seal(folder)
    for kind, schema in SCHEMAS.items():
        found = pq.read_schema(newest(folder, kind))
        assert found.remove_metadata() == schema.remove_metadata(), kind


def test_pandas_polars_and_duckdb_read_the_same_rows(folder, journal):
    journal.metrics(3, ("loss", "acc"), [math.nan, 0.5])
    journal.metrics(4, ("loss", "acc"), [math.inf, 2**53 + 1])
    seal(folder)
    path = newest(folder)
    by_pandas = pd.read_parquet(path)
    by_polars = pl.read_parquet(path)
    by_duckdb = duckdb.sql(f"SELECT * FROM read_parquet('{path}') ORDER BY key, step").to_arrow_table()
    for rows in (by_pandas.to_dict("list"), by_polars.to_dict(as_series=False), by_duckdb.to_pydict()):
        assert rows["key"] == ["acc", "acc", "loss", "loss"]
        assert rows["step"] == [3, 4, 3, 4]
        assert rows["value"][:2] == [0.5, 2.0**53]
        assert math.isnan(rows["value"][2])
        assert rows["value"][3] == math.inf
    assert by_polars["value_int"].to_list() == [None, 2**53 + 1, None, None]
    assert str(by_polars.schema["time"]) == "Datetime(time_unit='us', time_zone='UTC')"


def test_time_is_when_the_call_was_made(folder, journal):
    before = datetime.datetime.now(datetime.UTC)
    journal.metrics(0, ("a",), [1.0])
    after = datetime.datetime.now(datetime.UTC)
    seal(folder)
    (row,) = read_kind(folder, "metrics")
    slack = datetime.timedelta(milliseconds=1)
    assert before - slack <= row["time"] <= after + slack


def test_rows_are_sorted_by_key_then_step_then_call(folder, journal):
    for step in (5, 2, 9, 2):
        journal.metrics(step, ("b", "a"), [1.0, 2.0])
    seal(folder)
    table = pq.read_table(newest(folder)).to_pydict()
    assert list(zip(table["key"], table["step"], table["seq"], strict=True)) == [
        (key, step, seq) for key in "ab" for step, seq in [(2, 2), (2, 4), (5, 1), (9, 3)]
    ]


def test_integers_that_a_double_cannot_hold_are_exact(folder, journal):
    values = [2**63 - 1, -(2**63), 2**53, 2**53 + 1, 7, True]
    for step, value in enumerate(values):
        journal.metrics(9 - step, ("n", "x"), [value, 0.5])
    seal(folder)
    compact(folder)
    rows = sorted(read_kind(folder, "metrics"), key=lambda row: row["seq"])
    kept = [row["value_int"] if row["value_int"] is not None else row["value"] for row in rows if row["key"] == "n"]
    assert kept == values


@pytest.mark.parametrize("values", [[1, 2**53 + 1], [2**53 + 1, 1.5], [2**63 - 1, math.nan]])
def test_a_summarys_last_value_is_exact_however_it_was_counted(folder, journal, values):
    for value in values:
        journal.metrics(0, ("n",), [value])
    seal(folder)
    by_sealing = read_info(newest(folder)).summary["last"]
    by_counting = summarise_table(pq.read_table(newest(folder), partitioning=None))["last"]
    assert [repr(last) for (last,) in (by_sealing, by_counting)] == [repr(values[-1])] * 2


def test_a_late_key_leaves_old_shards_alone(folder, journal):
    journal.metrics(0, ("loss",), [1.0])
    sealer = WriterSealer(folder, WRITER)
    sealer.seal()
    (old,) = shard_names(folder.shards("metrics"))
    before = (folder.shards("metrics") / str(old)).stat().st_mtime_ns
    journal.metrics(1, ("loss", "eval/acc"), [0.5, 0.9])
    sealer.seal()
    assert (folder.shards("metrics") / str(old)).stat().st_mtime_ns == before
    assert [row[3] for row in read_metrics(folder)] == ["loss", "eval/acc", "loss"]


def test_a_pass_with_nothing_new_writes_nothing(folder, journal):
    journal.metrics(0, ("a",), [1.0])
    sealer = WriterSealer(folder, WRITER)
    assert len(sealer.seal().shards) == 1
    assert sealer.seal().shards == ()


def test_a_pass_beside_a_busy_writer_makes_one_shard_and_leaves_the_rest_to_the_next(folder, journal):
    class BesideAWriter(WriterSealer):
        def _write(self, chunks):
            written = super()._write(chunks)
            journal.metrics(2, ("loss",), [0.2])  # logged while the shard is written
            return written

    journal.metrics(1, ("loss",), [0.1])
    sealer = BesideAWriter(folder, WRITER)
    assert [(name.first, name.last) for _, name in sealer.seal().shards] == [(1, 1)]
    assert [(name.first, name.last) for _, name in sealer.seal().shards] == [(2, 2)]


def test_a_damaged_frame_costs_itself_and_the_file_is_kept_aside(folder):
    writer = JournalWriter(folder.journal, make_header(), segment_bytes=1 << 20)
    for step in range(5):
        writer.metrics(step, ("a",), [float(step)])
    writer.close()
    (path,) = folder.journal.glob("*.journal")
    data = bytearray(path.read_bytes())
    data[-45] ^= 0xFF
    path.write_bytes(data)
    sealer = WriterSealer(folder, WRITER)
    assert sealer.seal().num_damaged == 1
    sealer.drop_journal()
    assert len(read_kind(folder, "metrics")) == 4
    assert [p.name for p in folder.journal.iterdir()] == [f"{path.name}.damaged"]


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from(["a", "b"]), st.floats(allow_nan=True, width=64)),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 7),
)
def test_the_footers_summary_is_what_counting_the_rows_gives(tmp_path_factory, calls, every):
    folder = RunFolder(root=tmp_path_factory.mktemp("root"), project="p", run_id="r")
    writer = JournalWriter(folder.journal, make_header())
    sealer = WriterSealer(folder, WRITER)
    for i, (step, key, value) in enumerate(calls):
        writer.metrics(step, (key,), [value])
        if i % every == 0:
            sealer.seal()
    writer.close()
    sealer.seal()
    compact(folder)
    info = read_info(newest(folder))
    expected = {column: [] for column in SUMMARY_COLUMNS if "time" not in column}
    for key in sorted({key for _, key, _ in calls}):
        rows = [(seq, step, value) for seq, (step, k, value) in enumerate(calls, 1) if k == key]
        finite = [value for *_, value in rows if math.isfinite(value)]
        expected["key"].append(key)
        expected["count"].append(len(rows))
        expected["num_non_finite"].append(len(rows) - len(finite))
        expected["min"].append(min(finite, default=None))
        expected["max"].append(max(finite, default=None))
        expected["last"].append(rows[-1][2])
        expected["last_step"].append(rows[-1][1])
        expected["last_seq"].append(rows[-1][0])
        expected["first_step"].append(rows[0][1])
    for column, values in expected.items():
        assert np.array_equal(info.summary[column], values, equal_nan=column == "last"), column
    assert info.num_rows == len(calls)
    assert info.summary["first_time_us"] <= info.summary["last_time_us"]


def test_merging_ranges_that_overlap_in_part_counts_each_row_once(folder, journal):
    for step in range(10):
        journal.metrics(step, ("a", "b"), [float(step), math.nan])
    early = WriterSealer(folder, WRITER)
    early.seal()
    folder.sealed_mark(WRITER).unlink()
    for step in range(10, 15):
        journal.metrics(step, ("a", "b"), [float(step), 1.0])
    early.seal()  # 11..15
    path = folder.shards("metrics")
    late = WriterSealer(folder, WRITER)
    for step in range(15, 20):
        journal.metrics(step, ("a", "b"), [float(step), 1.0])
    late.seal()  # the mark says 15, so this is 16..20
    names = sorted(shard_names(path))
    first = merge_shards(path, "metrics", names[:2])
    second = merge_shards(path, "metrics", names[1:])
    assert (first.first, first.last, second.first, second.last) == (1, 15, 11, 20)
    whole = merge_shards(path, "metrics", [first, second])
    info = read_info(path / str(whole))
    assert (info.num_rows, info.summary["count"], info.summary["num_non_finite"]) == (40, [20, 20], [0, 10])


def test_a_file_of_another_kind_is_refused(tmp_path):
    foreign = tmp_path / "x.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(foreign)
    with pytest.raises(ValueError, match="not a shard"):
        read_info(foreign)
    foreign.write_bytes(b"PAR1 cut short")
    with pytest.raises(ValueError, match="not a whole Parquet file"):
        read_info(foreign)


def test_a_shard_of_a_newer_version_says_to_update():
    with pytest.raises(ValueError, match=r"schema version 99.*update"):
        parse_footer({b"trackio_like": b'{"schema_version": 99}'})


def test_bytes_a_point_stay_within_the_bars(folder):
    """Ten for random doubles, four for a smooth float32 curve, over integer steps (measured after compaction)."""
    rng = np.random.default_rng(0)
    curve = np.exp(-np.arange(20_000) / 4000).astype(np.float32) + np.float32(0.1)
    sizes = {}
    for name, values in {"random": rng.standard_normal(20_000), "smooth": curve}.items():
        run = RunFolder(root=folder.root, project="p", run_id=name)
        writer = JournalWriter(run.journal, make_header())
        for step, value in enumerate(values.tolist()):
            writer.metrics(step, ("loss",), [value])
        writer.close()
        seal(run)
        sizes[name] = newest(run).stat().st_size / len(values)
    assert sizes["random"] <= 10
    assert sizes["smooth"] <= 4


@pytest.mark.parametrize("kind", ["metrics", "events", "objects"])
def test_a_disk_that_refuses_a_shard_costs_no_row_once_it_takes_it(folder, journal, kind):
    sealer = WriterSealer(folder, WRITER)
    journal.event("init", {})
    journal.mixed(0, ("a",), [1.0], [("t", "text", "x", None)])
    folder.path.joinpath(kind).write_bytes(b"")  # a file where the folder should be is refused like a full disk
    with pytest.raises(OSError, match=kind):
        sealer.seal()
    journal.mixed(1, ("a",), [2.0], [("t", "text", "y", None)])
    folder.path.joinpath(kind).unlink()
    sealer.seal()
    sealer.drop_journal()
    assert [row["value"] for row in read_kind(folder, "metrics")] == [1.0, 2.0]
    assert [row["payload"] for row in read_kind(folder, "objects")] == ["x", "y"]
    assert [row["type"] for row in read_kind(folder, "events")] == ["init"]


def test_a_mark_that_cannot_be_written_costs_no_row(folder, journal):
    sealer = WriterSealer(folder, WRITER)
    journal.metrics(0, ("a",), [1.0])
    obstacle = folder.journal / f".{folder.sealed_mark(WRITER).name}.tmp"
    obstacle.mkdir()
    with pytest.raises(OSError, match="sealed"):
        sealer.seal()
    obstacle.rmdir()
    journal.metrics(1, ("a",), [2.0])
    sealer.seal()
    sealer.drop_journal()
    assert sorted(row["value"] for row in read_kind(folder, "metrics")) == [1.0, 2.0]


def test_an_opening_that_was_cut_short_does_not_hide_the_segments_behind_it(folder, journal):
    path = folder.journal / f"{WRITER}.1.journal"
    path.rename(folder.journal / f"{WRITER}.2.journal")
    path.write_bytes(b"TKJ")
    journal.metrics(0, ("a",), [1.0])
    sealer = WriterSealer(folder, WRITER)
    assert sealer.load_header() is not None
    assert sealer.seal().num_calls == 1


def test_a_length_that_is_damaged_keeps_the_file_aside_for_what_stands_behind_it(folder):
    writer = JournalWriter(folder.journal, make_header())
    sizes = []
    path = folder.journal / f"{WRITER}.1.journal"
    for step in range(5):
        sizes.append(path.stat().st_size)
        writer.metrics(step, ("a",), [float(step)])
    writer._rotate()
    writer.metrics(5, ("a",), [5.0])
    writer.close()
    data = bytearray(path.read_bytes())
    data[sizes[3] + 2] ^= 0xFF
    path.write_bytes(data)
    sealer = WriterSealer(folder, WRITER)
    sealer.seal()
    sealer.drop_journal()
    assert [row["value"] for row in read_kind(folder, "metrics")] == [0.0, 1.0, 2.0, 5.0]
    assert [p.name for p in folder.journal.iterdir()] == [f"{path.name}.damaged"]


def test_a_merged_shard_keeps_the_time_of_its_rows_and_covered_ones_their_grace(folder, journal):
    sealer = WriterSealer(folder, WRITER)
    path = folder.shards("metrics")
    for step in range(2):
        journal.metrics(step, ("a",), [1.0])
        sealer.seal()
    then = time.time() - 1000
    for name in shard_names(path):
        os.utime(path / str(name), (then, then))
    compact(folder)
    assert newest(folder).stat().st_mtime == pytest.approx(then, rel=0, abs=1)
    assert drop_covered(path, grace_s=60) == (0, 2)
    assert drop_covered(path, grace_s=60, now_s=time.time() + 61) == (2, 0)
