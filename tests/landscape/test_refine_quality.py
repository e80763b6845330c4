"""Whether the estimate can be believed, on surfaces whose error is known."""

import numpy as np
import pytest

from tests.landscape.known_surfaces import CHAOTIC, ROUGH, SMOOTH, on_grid
from trackio_like.landscape.surface import fill

SEEDS = range(3)
TOLERANCE = 0.01


def judged(surface, *, seed, **shape):
    """The estimate, the true error of the worst cell over the range, and the share of cells measured."""
    truth = on_grid(surface, **shape)
    estimate = truth.refine(tolerance=TOLERANCE, seed=seed)
    true_error = np.abs(fill(truth.cells).z_RC - truth.z_RC).max() / np.ptp(truth.z_RC)
    return estimate.error, true_error, truth.cells.is_measured_RC.mean()


@pytest.mark.parametrize("kind", SMOOTH)
def test_on_smooth_surfaces_the_estimate_is_neither_too_small_nor_much_too_large(kind):
    for seed in SEEDS:
        error, true_error, share = judged(SMOOTH[kind], seed=seed)
        assert 0.5 * true_error <= error <= max(3 * true_error, 1e-9)
        assert true_error <= TOLERANCE
        assert share < 0.08


@pytest.mark.parametrize("kind", ROUGH)
def test_on_rough_surfaces_the_estimate_is_not_too_small_and_the_tolerance_kept(kind):
    for seed in SEEDS:
        error, true_error, _ = judged(ROUGH[kind], seed=seed)
        assert 0.5 * true_error <= error <= TOLERANCE
        assert true_error <= 1.5 * TOLERANCE


@pytest.mark.parametrize("kind", CHAOTIC)
def test_where_nothing_can_be_interpolated_everything_is_measured(kind):
    error, true_error, share = judged(CHAOTIC[kind], seed=0)
    assert (error, true_error, share) == (0, 0, 1)


@pytest.mark.parametrize("shape", [(31, 31), (101, 41), (1, 51), (1, 250), (2, 51), (21, 90)])
def test_the_estimate_holds_on_grids_of_other_shapes(shape):
    for kind in ("quartic", "slow waves", "soft step", "kinks", "waves", "minimum elsewhere"):
        error, true_error, _ = judged({**SMOOTH, **ROUGH}[kind], seed=1, num_rows=shape[0], num_cols=shape[1])
        assert 0.5 * true_error <= error <= TOLERANCE
