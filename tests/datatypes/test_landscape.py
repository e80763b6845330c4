"""A landscape is stored as it is, bit for bit, as plain Parquet that says what it holds."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from tests.datatypes.strategies import landscapes
from trackio_like.datatypes.landscape import decode, encode
from trackio_like.landscape.result import LossLandscape
from trackio_like.shards.tables import to_json

SOURCES = Path(__file__).resolve().parents[2] / "space_app" / "frontend" / "src"


def bits(array: np.ndarray) -> list[int]:
    return np.ascontiguousarray(array, np.float64).view(np.uint64).ravel().tolist()


def assert_same(found: LossLandscape, logged: LossLandscape) -> None:
    for name in ("x_C", "y_R"):
        assert bits(getattr(found, name)) == bits(getattr(logged, name)), name
    assert (found.is_known_RC == logged.is_known_RC).all()
    assert (found.is_measured_RC == logged.is_measured_RC).all()
    assert bits(found.z_RC[found.is_known_RC]) == bits(logged.z_RC[logged.is_known_RC])
    assert np.isnan(found.z_RC[~found.is_known_RC]).all()
    for name in ("x_label", "y_label", "marks", "path"):
        assert getattr(found, name) == getattr(logged, name)
    # As text, for NaN is not equal to itself.
    assert to_json(dict(found.meta)) == to_json(dict(logged.meta))


@given(landscapes())
def test_what_was_encoded_is_decoded_bit_for_bit_by_whatever_way_the_payload_came(landscape):
    payload, file = encode(landscape)
    assert_same(decode(payload, file), landscape)
    assert_same(decode(json.loads(to_json(payload)), file), landscape)
    assert_same(decode(msgspec.msgpack.decode(msgspec.msgpack.encode(payload)), file), landscape)


@given(landscapes())
def test_the_payload_counts_and_ranges_what_is_in_the_file(landscape):
    payload, file = encode(landscape)
    rows = pq.read_table(io.BytesIO(file)).to_pylist()
    finite = [row["loss"] for row in rows if row["loss"] is not None and math.isfinite(row["loss"])]
    assert len(rows) == payload["num_rows"] * payload["num_cols"]
    assert payload["num_missing"] == sum(row["loss"] is None for row in rows)
    assert payload["num_measured"] == sum(row["is_measured"] for row in rows)
    assert payload["min"] == min(finite, default=None)
    assert payload["max"] == max(finite, default=None)
    assert payload["min_positive"] == min((loss for loss in finite if loss > 0), default=None)


def test_the_file_is_plain_parquet_row_by_row(tmp_path):
    path = tmp_path / "a.parquet"
    landscape = LossLandscape.from_grid([[1.0, None, math.nan], [4.0, 5.0, math.inf]], x_range=(0, 2), y_range=(7, 8))
    path.write_bytes(encode(landscape)[1])
    assert duckdb.sql(f"SELECT x, y, loss::VARCHAR, is_measured FROM '{path}'").fetchall() == [
        (0.0, 7.0, "1.0", True),
        (1.0, 7.0, None, False),
        (2.0, 7.0, "nan", True),
        (0.0, 8.0, "4.0", True),
        (1.0, 8.0, "5.0", True),
        (2.0, 8.0, "inf", True),
    ]
    metadata = pq.read_metadata(path)
    assert metadata.metadata is None, "an Arrow schema in the footer is for Arrow alone"
    columns = {metadata.row_group(0).column(i).path_in_schema: metadata.row_group(0).column(i) for i in range(4)}
    assert "BYTE_STREAM_SPLIT" in columns["loss"].encodings
    assert {column.compression for column in columns.values()} == {"ZSTD"}


def test_a_line_has_no_range_of_y():
    payload, _ = encode(LossLandscape.from_grid([[1.0, 2.0]]))
    assert (payload["num_rows"], payload["x_range"], payload["y_range"]) == (1, [-1.0, 1.0], None)


def test_meta_becomes_plain_and_its_secrets_are_masked():
    meta = {
        "time": np.float32(1.5),
        "shape": (1, 2),
        "devices": {"cpu"},
        "nested": {"hf_token": "abc", "url": "https://me:secret@host/x"},
        "path": Path("a") / "b",
        3: float("nan"),
    }
    payload, _ = encode(LossLandscape.from_grid([[1, 2], [3, 4]], meta=meta))
    assert math.isnan(payload["meta"].pop("3"))
    assert payload["meta"] == {
        "time": 1.5,
        "shape": [1, 2],
        "devices": ["cpu"],
        "nested": {"hf_token": "REDACTED", "url": "https://REDACTED@host/x"},
        "path": "a/b",
    }


def test_a_file_of_51_by_51_is_about_as_large_as_its_losses():
    grid = np.random.default_rng(0).normal(size=(51, 51))
    assert len(encode(LossLandscape.from_grid(grid))[1]) < 1.05 * grid.nbytes + 1024


@given(landscapes())
def test_a_file_that_was_cut_off_is_refused(landscape):
    payload, file = encode(landscape)
    for cut in (0, 3, len(file) // 2, len(file) - 1):
        with pytest.raises(ValueError, match="no whole Parquet file"):
            decode(payload, file[:cut])


def test_what_does_not_belong_together_is_refused():
    small, large = LossLandscape.from_grid(np.zeros((2, 2))), LossLandscape.from_grid(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="6 cells, but its row says 2 by 2"):
        decode(encode(small)[0], encode(large)[1])
    other = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(encode(small)[1])).drop_columns(["y", "loss"]), other)
    with pytest.raises(ValueError, match="lacks the columns y, loss"):
        decode(encode(small)[0], other.getvalue())
    for payload in ({}, {"format_version": "1"}, {"format_version": 1}, {"format_version": 1, "num_rows": 0}):
        with pytest.raises(ValueError, match="describes no loss landscape"):
            decode(payload, encode(small)[1])


def test_what_a_newer_version_wrote_says_what_to_do():
    payload, file = encode(LossLandscape.from_grid(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="update trackio_like"):
        decode({**payload, "format_version": 2}, file)


@pytest.mark.parametrize("unknown", [None, (1, 2)], ids=["all cells known", "a cell is unknown"])
def test_the_page_reads_the_same_bits(unknown, tmp_path):
    node = shutil.which("node")
    if node is None or not (SOURCES.parent / "node_modules").is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Node, or what the page is built of, is not installed")
    grid = np.random.default_rng(1).normal(size=(7, 5))
    grid[0, :3] = math.nan, math.inf, -0.0
    landscape = LossLandscape.from_grid(grid)
    if unknown:
        is_known = np.ones(grid.shape, np.bool_)
        is_known[unknown] = False
        landscape = dataclasses.replace(landscape, is_known_RC=is_known, is_measured_RC=is_known)
    path = tmp_path / "a.parquet"
    path.write_bytes(encode(landscape)[1])
    script = Path(__file__).with_name("read.mjs")
    command = [node, str(script), str(SOURCES), str(path), "x", "y", "loss", "is_measured"]
    columns = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert {name: column["kind"] for name, column in columns.items()} == {
        "x": "Float64Array",
        "y": "Float64Array",
        "loss": "Array" if unknown else "Float64Array",
        "is_measured": "Uint8Array",
    }
    found = [None if item is None else int(item, 16) for item in columns["loss"]["items"]]
    expected = bits(grid)
    if unknown:
        expected[unknown[0] * 5 + unknown[1]] = None
    assert found == expected
    assert [int(item, 16) for item in columns["x"]["items"]] == bits(np.tile(landscape.x_C, 7))
    assert columns["is_measured"]["items"] == landscape.is_measured_RC.ravel().astype(int).tolist()
