import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.landscape.scale import Scale, choose_scale, every_other

AXIS = np.linspace(-1, 1, 11)
X, Y = np.meshgrid(AXIS, AXIS)
HALF = every_other(11, of=51)


def chosen(z_IJ):
    return choose_scale(AXIS, AXIS, z_IJ, half_I=HALF, half_J=HALF)


def test_exponential_walls_are_interpolated_as_logarithms():
    assert chosen(np.exp(6 * X) + np.exp(-5 * Y)) == Scale(0.0)


def test_a_bowl_is_interpolated_as_it_is():
    assert chosen(1e-3 + X**2 + Y**2) == Scale(None)


def test_losses_below_zero_with_walls_are_shifted_first():
    base = chosen(np.exp(4 * (X**2 + Y**2)) - 3.2).base
    assert base is not None
    assert base < -2.2


@pytest.mark.parametrize(
    "z_IJ", [np.zeros((11, 11)), np.full((11, 11), 2.3), 2.3 + 1e-9 * X, np.full((11, 11), np.nan)]
)
def test_a_flat_or_unknown_surface_is_left_as_it_is(z_IJ):
    assert chosen(z_IJ) == Scale(None)


def test_where_no_scale_is_clearly_better_the_logarithm_is_kept():
    noise = np.random.default_rng(0).uniform(1.0, 1.1, (11, 11))
    assert chosen(noise) == Scale(0.0)


@given(st.floats(1e-3, 1e6), st.sampled_from([0.0, -1.0, -1e3, None]))
def test_a_scale_leads_there_and_back(loss, base):
    scale = Scale(base)
    assert scale.back(scale.forth(np.array([loss])))[0] == pytest.approx(loss, rel=1e-9, abs=1e-9)


def test_overshoot_beyond_double_precision_is_infinite():
    assert np.isposinf(Scale(0.0).back(np.array([1e4]))[0])


@pytest.mark.parametrize(
    ("num", "of", "expected"),
    [(11, 51, [0, 2, 4, 6, 8, 10]), (6, 51, [0, 2, 4, 5]), (4, 51, [0, 1, 2, 3]), (11, 11, list(range(11)))],
)
def test_every_other_line_keeps_the_ends(num, of, expected):
    assert every_other(num, of=of) == expected
