import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.landscape.known_surfaces import ROUGH, SMOOTH, Stopped, Truth, bowl, noise, on_grid
from trackio_like.landscape.axes import axis
from trackio_like.landscape.nested import Cells
from trackio_like.landscape.refine import refine
from trackio_like.landscape.surface import fill

EVERYTHING = {**SMOOTH, **ROUGH}


@settings(max_examples=20)
@given(
    st.sampled_from(["kinks", "negative", "minimum of one cell"]),
    st.integers(1, 60),
    st.integers(2, 60),
    st.integers(0, 9),
)
def test_whatever_the_grid_each_cell_is_measured_at_most_once_and_all_are_known(kind, num_rows, num_cols, seed):
    truth = on_grid(EVERYTHING[kind], num_rows=num_rows, num_cols=num_cols)
    estimate = truth.refine(seed=seed)
    surface = fill(truth.cells)
    assert surface.is_known_RC.all()
    assert truth.plans == sorted(truth.plans)
    assert truth.plans[-1] == truth.num_stored == estimate.num_measured
    np.testing.assert_array_equal(surface.z_RC[truth.cells.is_measured_RC], truth.z_RC[truth.cells.is_measured_RC])


@settings(max_examples=20)
@given(st.sampled_from(["kinks", "negative"]), st.integers(0, 400), st.booleans())
def test_what_was_interrupted_anywhere_can_be_continued(kind, stop_after, exact):
    truth = on_grid(EVERYTHING[kind], num_rows=31, num_cols=41, stop_after=stop_after)
    try:
        truth.refine(exact=exact)
    except Stopped:
        assert truth.cells.is_measured_RC.sum() == stop_after
    truth.stop_after = None
    estimate = truth.refine(exact=exact)
    assert estimate.error <= 0.01
    assert estimate.num_measured == truth.num_stored


def test_the_same_seed_measures_the_same_cells():
    first, second, other = (on_grid(ROUGH["waves"]) for _ in range(3))
    for truth, seed in ((first, 1), (second, 1), (other, 2)):
        truth.refine(seed=seed)
    np.testing.assert_array_equal(first.cells.is_measured_RC, second.cells.is_measured_RC)
    assert (first.cells.is_measured_RC != other.cells.is_measured_RC).any()


def test_the_order_in_which_a_batch_is_measured_changes_nothing():
    truth, shuffled = on_grid(ROUGH["waves"]), on_grid(ROUGH["waves"])
    truth.refine()
    rng = np.random.default_rng(0)

    def measure(cells_P):
        shuffled([cells_P[i] for i in rng.permutation(len(cells_P))])

    refine(shuffled.cells, measure, tolerance=0.01, exact=False, seed=0, on_plan=shuffled.plans.append)
    np.testing.assert_array_equal(fill(truth.cells).z_RC, fill(shuffled.cells).z_RC)


@pytest.mark.parametrize("kind", SMOOTH)
def test_a_smooth_surface_takes_the_coarse_lines_and_a_few_dozen_probes(kind):
    estimate = on_grid(SMOOTH[kind]).refine()
    assert 24 <= estimate.num_probes <= 60
    assert estimate.num_measured == 121 + estimate.num_probes


def test_exactly_means_every_cell_coarse_lines_first():
    truth = on_grid(bowl)
    batches = []

    def measure(cells_P):
        batches.append(cells_P)
        truth(cells_P)

    estimate = refine(truth.cells, measure, tolerance=0.5, exact=True, seed=0, on_plan=truth.plans.append)
    assert (estimate.error, estimate.num_measured) == (0, 51 * 51)
    assert set(batches[0]) == {(row, col) for row in range(0, 51, 5) for col in range(0, 51, 5)}
    assert [len(batch) for batch in batches] == [11**2, 21**2 - 11**2, 41**2 - 21**2, 51**2 - 41**2]
    assert set(truth.plans) == {51 * 51}


def test_an_exact_run_cut_short_after_any_cell_is_a_whole_picture_from_the_fourth_cell_on():
    for stop_after in (4, 9, 50, 121, 300, 1000, 2600):
        truth = on_grid(bowl, stop_after=stop_after)
        with pytest.raises(Stopped):
            truth.refine(exact=True)
        assert fill(truth.cells).is_known_RC.all()


def test_noise_is_measured_everywhere():
    estimate = on_grid(noise).refine()
    assert (estimate.error, estimate.num_measured) == (0, 51 * 51)


def test_a_constant_surface_needs_no_refinement():
    estimate = on_grid(lambda x, _: np.full(x.shape, 2.5)).refine(tolerance=0)
    assert estimate.error == 0
    assert estimate.num_measured < 200


def test_what_single_precision_cannot_resolve_is_flat():
    truth = on_grid(lambda x, y: (2.5 + 1e-6 * (x * x + y)).astype(np.float32))
    assert 5 < len(np.unique(truth.z_RC)) < 20
    assert truth.refine().num_measured < 200


def test_a_loss_rough_along_x_alone_gets_more_columns_only():
    truth = on_grid(ROUGH["step along x"])
    truth.refine()
    rows, cols = truth.cells.complete_lines()
    assert len(rows) == 11
    assert len(cols) > 15


def test_the_weights_themselves_and_the_cells_around_are_measured():
    truth = on_grid(SMOOTH["negative"])
    truth.refine()
    assert truth.cells.is_measured_RC[25, 25]
    around = truth.cells.is_measured_RC[21:30, 21:30].sum()
    assert around >= 9


def test_between_two_checkpoints_both_are_measured():
    x_C, y_R = axis(51, (-0.5, 1.5), knots=(0, 1)), axis(31, (-1, 1))
    truth = Truth(bowl(*np.meshgrid(x_C, y_R)), y_R, x_C)
    truth.refine()
    assert truth.cells.is_measured_RC[15, np.isin(x_C, (0, 1))].tolist() == [True, True]


def test_a_line_takes_a_fraction_of_its_points():
    estimate = on_grid(SMOOTH["exponential walls"], num_rows=1, num_cols=250).refine()
    assert estimate.error <= 0.01
    assert estimate.num_measured < 60


@pytest.mark.parametrize("diverged", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize(
    "where",
    [
        lambda x, y: x + y > 1.2,
        lambda x, y: (x - 0.3) ** 2 + (y - 0.2) ** 2 < 0.15**2,
        lambda x, y: x * x + y * y > 0.25,
    ],
    ids=["corner", "island", "sea"],
)
def test_all_around_a_diverged_region_is_measured_and_nothing_in_it_invented(where, diverged):
    truth = on_grid(lambda x, y: np.where(where(x, y), diverged, 0.1 + x * x + 3 * y * y + 0.3 * np.sin(3 * x * y)))
    estimate = truth.refine()
    surface = fill(truth.cells)
    is_diverged_RC = ~(truth.z_RC < 1e29)
    np.testing.assert_array_equal(surface.z_RC[is_diverged_RC], truth.z_RC[is_diverged_RC])
    assert surface.is_known_RC.all()
    missed = np.abs(surface.z_RC[~is_diverged_RC] - truth.z_RC[~is_diverged_RC]).max()
    assert missed <= 2 * estimate.error * np.ptp(truth.z_RC[~is_diverged_RC])
    assert estimate.error <= 0.01


def test_a_surface_that_diverges_everywhere_is_measured_everywhere():
    estimate = on_grid(lambda x, _: np.full(x.shape, np.nan)).refine()
    assert (estimate.error, estimate.num_measured) == (0, 51 * 51)


@pytest.mark.parametrize("tolerance", [-0.1, np.nan, np.inf])
def test_a_tolerance_that_is_no_fraction_is_refused(tolerance):
    with pytest.raises(ValueError, match="no fraction"):
        on_grid(bowl).refine(tolerance=tolerance)


def test_a_measurer_that_leaves_cells_out_is_found_out():
    cells = Cells.empty(np.arange(5.0), np.arange(5.0))
    with pytest.raises(RuntimeError, match="25 have no value"):
        refine(cells, lambda _: None, tolerance=0.01, exact=False, seed=0, on_plan=lambda _: None)
