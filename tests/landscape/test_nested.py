import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.landscape.axes import axis
from trackio_like.landscape.nested import (
    Cells,
    Line,
    coarse_indices,
    crossings,
    halves,
    inside,
    interleave,
    nested_order,
    within,
)


def test_eleven_lines_of_51_are_evenly_spread():
    assert sorted(coarse_indices(axis(51, (-1, 1)))) == list(range(0, 51, 5))


@pytest.mark.parametrize("num", [2, 3, 11, 15])
def test_every_line_of_a_short_axis_is_coarse(num):
    assert sorted(coarse_indices(axis(num, (-1, 1)))) == list(range(num))


@given(st.integers(16, 250), st.floats(-3, -0.1), st.floats(1.1, 3))
def test_coarse_lines_have_both_ends_and_the_knots(num, low, high):
    x_C = axis(num, (low, high), knots=(0, 1))
    lines = coarse_indices(x_C)
    assert {0, num - 1, *np.flatnonzero((x_C == 0) | (x_C == 1))} <= set(lines)
    assert len(lines) == len(set(lines)) <= 12
    assert np.diff(sorted(lines)).max() <= num / 4


def test_an_order_starts_with_the_ends_and_the_knots_and_then_halves_the_gaps():
    assert nested_order([0, 5, 10, 15, 20], first=[10]) == [0, 20, 10, 5, 15]


@given(st.lists(st.integers(0, 250), min_size=1, unique=True).map(sorted))
def test_an_order_has_every_line_once(indices):
    assert sorted(nested_order(indices)) == indices


def test_marked_intervals_with_an_inside_are_halved():
    lines_K = np.array([0, 5, 7, 8, 12])
    assert halves(lines_K, np.array([True, True, True, False])) == [2, 6]


def test_every_line_is_reached_by_halving():
    lines = np.array([0, 50])
    for _ in range(6):
        lines = np.sort([*lines, *halves(lines, np.ones(len(lines) - 1, dtype=np.bool_))])
    assert list(lines) == list(range(51))


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True), st.integers(0, 60))
def test_lines_planned_in_two_parts_cross_everywhere_once(rows, cols, cut):
    lines = interleave(rows, cols)
    cells = crossings([], lines[:cut]) + crossings(lines[:cut], lines[cut:])
    assert len(cells) == len(set(cells))
    assert set(cells) == {(row, col) for row in rows for col in cols}


def test_an_interval_holds_its_lines_or_only_what_is_between_them():
    lines_K = np.array([0, 3, 4])
    np.testing.assert_array_equal(inside(lines_K, 5), [[1, 1, 1, 1, 0], [0, 0, 0, 1, 1]])
    np.testing.assert_array_equal(within(lines_K, 5), [[0, 1, 1, 0, 0], [0, 0, 0, 1, 1]])


def test_a_single_line_is_an_interval_of_its_own():
    np.testing.assert_array_equal(inside(np.array([0]), 1), [[1]])
    np.testing.assert_array_equal(within(np.array([0]), 1), [[1]])


def planned_3x3():
    cells = Cells.empty(np.arange(5.0), np.arange(5.0))
    cells.lines = interleave([0, 4, 2], [0, 4, 2])
    return cells


@given(st.integers(0, 9))
def test_lines_are_complete_as_far_as_their_crossings_are_measured(num):
    cells = planned_3x3()
    for cell in crossings([], cells.lines)[:num]:
        cells.store(cell, 1.0)
    rows, cols = cells.complete_lines()
    assert cells.is_measured_RC[np.ix_(rows, cols)].all()
    assert len(rows) * len(cols) == [0, 1, 2, 2, 4, 4, 6, 6, 6, 9][num]


def test_a_line_that_waits_for_a_value_does_not_hold_up_the_others():
    cells = planned_3x3()
    for cell in crossings([], cells.lines):
        if cell != (4, 4):
            cells.store(cell, 1.0)
    rows, cols = cells.complete_lines()
    assert (list(rows), list(cols)) == ([0, 2, 4], [0, 2])


def test_without_lines_nothing_is_complete():
    rows, cols = Cells.empty(np.arange(3.0), np.arange(3.0)).complete_lines()
    assert (len(rows), len(cols)) == (0, 0)


def test_infinite_missing_and_huge_losses_have_diverged():
    cells = Cells.empty(np.arange(3.0), np.arange(3.0))
    for cell, loss in {(0, 0): np.nan, (0, 1): -np.inf, (0, 2): 1e30, (1, 0): 1.0, (1, 1): 2.0, (1, 2): -1e9}.items():
        cells.store(cell, loss)
    expected = [[True, True, True], [False, False, False], [False, False, False]]
    np.testing.assert_array_equal(cells.diverged_RC(), expected)


def test_a_surface_of_zeros_has_not_diverged():
    cells = Cells.empty(np.arange(2.0), np.arange(2.0))
    for cell in crossings([], [Line(True, 0), Line(False, 0), Line(True, 1)]):
        cells.store(cell, 0.0)
    assert not cells.diverged_RC().any()
