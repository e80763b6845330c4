import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.landscape.known_surfaces import SMOOTH, Stopped, on_grid
from trackio_like.landscape.nested import Cells, crossings, interleave
from trackio_like.landscape.surface import fill, look

COEFFICIENTS = st.lists(st.floats(-2, 2), min_size=4, max_size=4)
NUM_RANGES = 2.0
"""How far an interpolated value may lie outside the measured ones: once the range along both axes."""


def coarse(surface, **options):
    """A grid of which the coarse lines alone are measured."""
    truth = on_grid(surface, **options)
    cells = truth.cells
    cells.lines = interleave(list(range(0, 51, 5)), list(range(0, 51, 5)))
    truth(crossings([], cells.lines))
    return truth


@given(COEFFICIENTS, COEFFICIENTS)
def test_products_of_cubics_are_reproduced(along_x, along_y):
    truth = coarse(lambda x, y: np.polyval(along_x, x) * np.polyval(along_y, y) - 100)
    np.testing.assert_allclose(fill(truth.cells).z_RC, truth.z_RC, atol=1e-9)


@given(st.permutations(range(121)), st.integers(0, 121))
def test_measured_values_are_kept_to_the_bit_whatever_is_measured(order, num):
    whole = coarse(SMOOTH["negative"])
    cells = Cells.empty(whole.cells.x_C, whole.cells.y_R)
    cells.lines = whole.cells.lines
    nodes = crossings([], cells.lines)
    for position in order[:num]:
        cells.store(nodes[position], whole.z_RC[nodes[position]])
    surface = fill(cells)
    np.testing.assert_array_equal(surface.z_RC[cells.is_measured_RC], cells.z_RC[cells.is_measured_RC])
    assert surface.is_known_RC[cells.is_measured_RC].all()
    assert np.isfinite(surface.z_RC[surface.is_known_RC]).all()
    assert np.isnan(surface.z_RC[~surface.is_known_RC]).all()


@pytest.mark.parametrize("kind", SMOOTH)
def test_an_interruption_anywhere_leaves_what_can_be_interpolated_honestly(kind):
    for stop_after in (0, 1, 3, 8, 20, 60, 100, 130, 150):
        truth = on_grid(SMOOTH[kind], stop_after=stop_after)
        with pytest.raises(Stopped):
            truth.refine(tolerance=1e-12)
        surface = fill(truth.cells)
        assert surface.estimate.num_measured == truth.cells.is_measured_RC.sum() == stop_after
        missed = np.abs(surface.z_RC - truth.z_RC)[surface.is_known_RC]
        error = surface.estimate.error
        if error is not None:
            assert 0.5 * missed.max(initial=0.0) <= error * np.ptp(truth.z_RC) + 1e-9


def test_nothing_is_known_of_a_grid_of_which_nothing_is_measured():
    surface = fill(Cells.empty(np.arange(20.0), np.arange(20.0)))
    assert not surface.is_known_RC.any()
    assert (surface.estimate.error, surface.estimate.num_measured) == (None, 0)


def test_the_coarse_lines_alone_come_with_an_estimate_that_is_not_too_small():
    truth = coarse(SMOOTH["slow waves"])
    surface = fill(truth.cells)
    assert surface.is_known_RC.all()
    assert surface.estimate.error >= np.abs(surface.z_RC - truth.z_RC).max() / np.ptp(truth.z_RC)


def test_three_lines_a_side_span_the_grid_but_do_not_tell_how_well():
    truth = on_grid(SMOOTH["slow waves"], stop_after=9)
    with pytest.raises(Stopped):
        truth.refine()
    surface = fill(truth.cells)
    assert surface.is_known_RC.all()
    assert surface.estimate.error is None


def test_a_wholly_measured_grid_has_no_error():
    truth = on_grid(SMOOTH["negative"], num_rows=3, num_cols=4)
    truth.refine()
    assert fill(truth.cells).estimate.error == 0


def test_blocks_that_touch_a_diverged_loss_stay_unknown():
    truth = coarse(lambda x, y: np.where((x > 0.35) & (y > 0.35), np.nan, 1 + x * x + y * y))
    surface = fill(truth.cells)
    index = np.arange(51)
    is_beside_RC = (index[:, None] >= 30) & (index >= 30)
    np.testing.assert_array_equal(surface.is_known_RC, truth.cells.is_measured_RC | ~is_beside_RC)
    assert np.isfinite(surface.z_RC[~is_beside_RC]).all()


@pytest.mark.parametrize("huge", [1e30, -1e30, np.inf, np.nan, 1.7e308])
def test_one_diverged_loss_does_not_spoil_the_others(huge):
    truth = coarse(lambda x, y: np.where((x == 0.2) & (y == 0.0), huge, x * x + np.sin(y) + x * y))
    surface = fill(truth.cells)
    is_finite_RC = surface.is_known_RC & np.isfinite(truth.z_RC) & (np.abs(truth.z_RC) < 1e29)
    assert is_finite_RC.sum() > 2400
    assert np.abs(surface.z_RC[is_finite_RC] - truth.z_RC[is_finite_RC]).max() < 0.02


def test_overshoot_is_bounded_by_the_nodes_around():
    truth = coarse(lambda x, y: np.where(np.abs(x * y) > 0.3, 1e6, 1e-3))
    z_RC = fill(truth.cells).z_RC
    assert z_RC.max() <= (1 + NUM_RANGES) * 1e6
    assert z_RC.min() > 0


def test_positive_losses_are_interpolated_by_positive_ones():
    truth = coarse(lambda x, y: 1e-6 + (x - 0.14) ** 2 + (y + 0.14) ** 2 + np.maximum(0, np.sin(40 * x)))
    assert fill(truth.cells).z_RC.min() > 0


def test_probes_are_not_used_by_the_splines():
    truth = coarse(SMOOTH["quartic"])
    before = look(truth.cells)
    truth.cells.store((7, 8), 1e3)
    after = look(truth.cells)
    np.testing.assert_array_equal(before.z_RC, after.z_RC)
    assert after.is_probe_RC.sum() == 1
    assert after.miss_RC[7, 8] == abs(before.z_RC[7, 8] - 1e3)
