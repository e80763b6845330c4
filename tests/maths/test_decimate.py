"""Fewer points, the same picture."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.maths.decimate import bucket_edges, decimate, order_by_x, window

finite_x = st.floats(allow_nan=False, allow_infinity=False, width=64)
any_y = st.floats(width=64)
buckets = st.integers(1, 40)


@st.composite
def curves(draw, *, y=any_y, max_size=300):
    n = draw(st.integers(0, max_size))
    offset = draw(st.sampled_from([0.0, 1e7, -1e12, 1.7e18, 5e-324]))
    xs = draw(
        st.one_of(st.lists(finite_x, min_size=n, max_size=n), st.lists(st.integers(0, 400), min_size=n, max_size=n))
    )
    ys = draw(st.lists(y, min_size=n, max_size=n))
    return np.sort(np.array(xs, np.float64) + offset), np.array(ys, np.float64)


@given(curve=curves(), num_buckets=buckets)
def test_every_bucket_keeps_its_extremes_and_a_non_finite_point(curve, num_buckets):
    x, y = curve
    kept = decimate(x, y, num_buckets=num_buckets)
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= max(2 * num_buckets, 3 * num_buckets + 2)
    if len(x) == 0:
        return
    assert kept[0] == 0
    assert kept[-1] == len(x) - 1
    edges = bucket_edges(float(x[0]), float(x[-1]), num_buckets=num_buckets)
    assert len(edges) < num_buckets
    of_point = np.searchsorted(edges, x, side="right")
    for bucket in np.unique(of_point):
        rows = np.flatnonzero(of_point == bucket)
        mine = np.intersect1d(rows, kept)
        finite = rows[np.isfinite(y[rows])]
        if len(finite):
            shown = mine[np.isfinite(y[mine])]
            assert y[shown].min() == y[finite].min()
            assert y[shown].max() == y[finite].max()
        if len(finite) < len(rows):
            assert not np.isfinite(y[mine]).all()


@given(curve=curves(), num_buckets=buckets)
def test_decimating_again_changes_nothing(curve, num_buckets):
    x, y = curve
    kept = decimate(x, y, num_buckets=num_buckets)
    again = decimate(x[kept], y[kept], num_buckets=num_buckets)
    assert again.tolist() == list(range(len(kept)))


@given(curve=curves(max_size=80), num_buckets=st.integers(40, 60))
def test_a_short_series_is_kept_whole(curve, num_buckets):
    x, y = curve
    assert decimate(x, y, num_buckets=num_buckets).tolist() == list(range(len(x)))


@pytest.mark.parametrize("size", [2_000, 400_000])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_spike_and_one_bad_point_among_many_are_kept(size, bad):
    x = 10_000_000.0 + 7 * np.arange(size)
    y = np.sin(np.arange(size) / 1000)
    y[size // 3], y[size // 2] = 100.0, bad
    kept = decimate(x, y, num_buckets=375)
    assert {0, size // 3, size // 2, size - 1} <= set(kept.tolist())


def test_buckets_of_bad_points_alone_are_marked_once():
    y = np.full(1000, np.nan)
    kept = decimate(np.arange(1000.0), y, num_buckets=10)
    assert len(kept) <= 12


def test_equal_x_make_one_bucket_with_its_extremes():
    y = np.array([1.0, 5.0, -3.0, 2.0, 2.0, 0.0])
    assert decimate(np.zeros(6), y, num_buckets=2).tolist() == [0, 1, 2, 5]


@given(first=finite_x, last=finite_x, num_buckets=buckets)
def test_edges_rise_within_the_range_and_are_never_too_many(first, last, num_buckets):
    first, last = min(first, last), max(first, last)
    edges = bucket_edges(first, last, num_buckets=num_buckets)
    assert len(edges) < max(num_buckets, 1) or len(edges) == 0
    assert (np.diff(edges) > 0).all()
    assert np.isfinite(edges).all()


def test_edges_stay_while_the_series_grows_within_a_width():
    before, after = bucket_edges(0, 1000, num_buckets=100), bucket_edges(0, 1010, num_buckets=100)
    assert np.isin(before, after).all()


def test_no_bucket_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        decimate(np.arange(3.0), np.arange(3.0), num_buckets=0)


@given(st.lists(st.one_of(any_y, st.integers(0, 5).map(float)), max_size=50))
def test_ordering_is_stable_and_leaves_out_points_without_x(xs):
    x = np.array(xs, np.float64)
    order = order_by_x(x)
    kept = np.arange(len(x)) if order is None else order
    expected = sorted((i for i in range(len(x)) if math.isfinite(x[i])), key=lambda i: (x[i], i))
    assert kept.tolist() == expected


@given(
    xs=st.lists(st.integers(0, 30), max_size=40),
    first=st.none() | st.integers(-2, 32),
    last=st.none() | st.integers(-2, 32),
)
def test_a_window_holds_both_its_ends(xs, first, last):
    x = np.sort(np.array(xs, np.float64))
    start, stop = window(x, first, last)
    inside = [v for v in x if (first is None or v >= first) and (last is None or v <= last)]
    assert x[start:stop].tolist() == inside


@pytest.mark.parametrize(
    ("first", "last", "num_buckets"),
    [(-7.2e-85, 1.0, 2), (0.0, 1.6e308, 2), (-1.7e308, 1.7e308, 40), (0.0, 5e-324, 40), (1e7, 1e7 + 2093, 375)],
)
def test_edges_of_odd_ranges_are_never_too_many(first, last, num_buckets):
    edges = bucket_edges(first, last, num_buckets=num_buckets)
    assert len(edges) < num_buckets
    assert (np.diff(edges) > 0).all()
