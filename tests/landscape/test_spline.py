import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.landscape.spline import interpolate, interpolate_grid, spline_matrix

GAPS = st.lists(st.floats(0.2, 1.0), min_size=3, max_size=14)
COEFFICIENTS = st.lists(st.floats(-3, 3), min_size=4, max_size=4)


def knots_of(gaps):
    return np.concatenate([[0.0], np.cumsum(gaps)]) / sum(gaps) * 2 - 1


@given(GAPS, COEFFICIENTS)
def test_cubics_are_reproduced_on_uneven_knots(gaps, coefficients):
    x_K, x_N = knots_of(gaps), np.linspace(-1, 1, 37)
    found = spline_matrix(x_K, x_N) @ np.polyval(coefficients, x_K)
    np.testing.assert_allclose(found, np.polyval(coefficients, x_N), atol=1e-9)


@given(GAPS)
def test_at_a_knot_its_value_is_kept_to_the_bit(gaps):
    x_K = knots_of(gaps)
    np.testing.assert_array_equal(spline_matrix(x_K, x_K), np.eye(len(x_K)))


@given(GAPS)
def test_the_slope_and_the_curvature_have_no_jump(gaps):
    x_K = knots_of(gaps)
    values_K, h = np.cos(5 * x_K), 1e-4
    for knot in x_K[1:-1]:
        left, right = (spline_matrix(x_K, knot + side * h * np.arange(4.0)) @ values_K for side in (-1, 1))
        assert abs((right[1] - right[0]) + (left[1] - left[0])) < 0.05 * h
        curvature = [(2 * v[0] - 5 * v[1] + 4 * v[2] - v[3]) / h**2 for v in (left, right)]
        assert curvature[0] == pytest.approx(curvature[1], abs=1e-3)


@pytest.mark.parametrize(("num", "degree"), [(1, 0), (2, 1), (3, 2)])
def test_few_knots_are_joined_by_one_polynomial(num, degree):
    x_K = np.array([-1.0, 0.3, 1.0])[:num]
    x_N = np.linspace(x_K[0], x_K[-1], 9)
    coefficients = [2.0, -1.0, 0.5][: degree + 1]
    found = spline_matrix(x_K, x_N) @ np.polyval(coefficients, x_K)
    np.testing.assert_allclose(found, np.polyval(coefficients, x_N), atol=1e-12)


def test_the_error_falls_with_the_fourth_power_of_the_spacing():
    x_N = np.linspace(-1, 1, 201)
    knots = [np.linspace(-1, 1, num) for num in (21, 41)]
    coarse, fine = (np.abs(spline_matrix(x_K, x_N) @ np.sin(2 * x_K) - np.sin(2 * x_N)).max() for x_K in knots)
    assert 12 < coarse / fine < 40


def test_values_beside_a_hole_are_unknown_and_others_do_not_feel_it():
    x_K, x_N = np.arange(10.0), np.linspace(0, 9, 37)
    v_KM = np.stack([x_K**3, x_K**3], axis=1)
    v_KM[4, 1] = np.nan
    v_NM = interpolate(x_K, v_KM, x_N)
    np.testing.assert_allclose(v_NM[:, 0], x_N**3, atol=1e-9)
    is_beside_N = (x_N > 3) & (x_N < 5)
    assert np.isnan(v_NM[is_beside_N, 1]).all()
    np.testing.assert_allclose(v_NM[~is_beside_N, 1], x_N[~is_beside_N] ** 3, atol=1e-9)


def test_a_value_between_two_holes_is_known_at_its_knot_alone():
    v_NM = interpolate(np.arange(3.0), np.array([[np.nan], [7.0], [np.inf]]), np.array([0.5, 1.0, 1.5]))
    np.testing.assert_array_equal(v_NM[:, 0], [np.nan, 7.0, np.nan])


@given(GAPS, GAPS, COEFFICIENTS)
def test_products_of_cubics_are_reproduced_on_a_grid(gaps_y, gaps_x, coefficients):
    y_I, x_J, y_R, x_C = knots_of(gaps_y), knots_of(gaps_x), np.linspace(-1, 1, 11), np.linspace(-1, 1, 13)

    def surface(y, x):
        return np.polyval(coefficients, y)[:, None] * np.polyval(coefficients[::-1], x)[None]

    found = interpolate_grid(y_I, x_J, surface(y_I, x_J), y_R=y_R, x_C=x_C)
    np.testing.assert_allclose(found, surface(y_R, x_C), atol=1e-7)
