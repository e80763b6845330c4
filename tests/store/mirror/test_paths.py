"""Nothing that a remote names reaches this disk but what this package writes."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.format.names import KINDS, encode_name, new_media_path
from trackio_like.store.mirror.paths import parse_path
from trackio_like.store.slots import is_slot

NAMES = st.text(min_size=1, max_size=20)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "README.md",
        "/etc/passwd",
        "../p/r/metrics/w-1-1.parquet",
        "p/../r/metrics/w-1-1.parquet",
        "p/r/metrics/../w-1-1.parquet",
        "./r/metrics/w-1-1.parquet",
        "p//metrics/w-1-1.parquet",
        "//metrics/w-1-1.parquet",
        "//media/passwd",
        "/p/r/metrics/w-1-1.parquet",
        "p/r/metrics/w-1-1.parquet/",
        "p/r/metrics/inner/w-1-1.parquet",
        "p/r/metrics/w-1-1.parquet.tmp",
        "p/r/metrics/w-01-1.parquet",
        "p/r/metrics/w-2-1.parquet",
        "p/r/metrics/W-1-1.parquet",
        "p/r/metrics/w-1-1.parquet\n",
        "p/r/metrics/w-1-1\0.parquet",
        "p/r/journal/w.1.journal",
        "p/r/strange/w-1-1.parquet",
        "p/.hidden/metrics/w-1-1.parquet",
        ".sync/r/metrics/w-1-1.parquet",
        ".readers/r/metrics/w-1-1.parquet",
        "p\\..\\r/r/metrics/w-1-1.parquet",
        "C:/r/metrics/w-1-1.parquet",
        "con/r/metrics/w-1-1.parquet",
        "p/r/metrics/" + "w" * 300 + "-1-1.parquet",
        "p/%2e%2e/metrics/w-1-1.parquet",
        "p/r./metrics/w-1-1.parquet",
        "p/r/media/.hidden",
        "p/r/media/a/../../b",
        "p/r/media/a/b/c/d/e.png",
        "p/r/media/a b.png",
        "p/r/media/trailing.",
        "p/r/media/" + "a" * 300,
    ],
)
def test_a_strange_name_is_none_of_ours(path):
    assert parse_path(path) is None


@given(project=NAMES, run=NAMES, kind=st.sampled_from(KINDS), first=st.integers(1, 99), more=st.integers(0, 99))
def test_every_shard_that_this_package_writes_is_ours(project, run, kind, first, more):
    try:
        folder = f"{encode_name(project)}/{encode_name(run)}"
    except ValueError:
        return  # no run can have this name
    name = f"box-1-{first}-{first + more}.parquet"
    place = parse_path(f"{folder}/{kind}/{name}")
    assert place is not None
    assert (place.folder, place.name, place.run) == (f"{folder}/{kind}", name, folder)


@given(
    st.text() | st.lists(st.sampled_from(["p", "r", "..", ".", "", "metrics", "media", "w-1-1.parquet"])).map("/".join)
)
def test_whatever_is_ours_stays_inside_and_is_hidden_nowhere(path):
    place = parse_path(path)
    if place is not None:
        parts = PurePosixPath(place.folder, place.name).parts
        assert "/".join(parts) == path
        assert not any(part.startswith(".") or "\\" in part or "\0" in part for part in parts)


@given(step=st.integers(-(2**62), 2**62), extension=st.sampled_from(["parquet", "png"]))
def test_every_media_file_that_this_package_writes_is_ours(step, extension):
    path = f"p/r/{new_media_path(step, extension)}"
    place = parse_path(path)
    assert place is not None
    assert (f"{place.folder}/{place.name}", place.shard, is_slot(path)) == (path, None, True)


def test_media_lies_where_shards_do_not():
    place = parse_path("p/r/media/images/0a1b.png")
    assert place is not None
    assert (place.folder, place.name, place.shard) == ("p/r/media/images", "0a1b.png", None)
