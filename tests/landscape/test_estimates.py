"""What a landscape says of its own error, against every point measured."""

import numpy as np
import pytest
import torch

from tests.landscape.surfaces import SURFACES, trained
from trackio_like.landscape import Evaluation


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def measured(name, **options):
    network, batches, criterion = trained(name)
    evaluation = Evaluation(network, batches, criterion=criterion, n=51, **options)
    evaluation.run()
    return evaluation.result()


@pytest.mark.parametrize("name", SURFACES)
def test_the_estimate_is_at_least_half_of_the_true_error(name):
    found, truth = measured(name), measured(name, exact=True)
    extent = np.ptp(truth.z_RC)
    error = np.abs(found.z_RC - truth.z_RC).max() / extent
    estimate = found.meta["error_estimate"]
    print(f"{name}: {int(found.is_measured_RC.sum())} points, estimate {estimate:.2%}, true {error:.2%}, {extent:.3g}")
    assert estimate >= 0.5 * error
    assert estimate <= found.meta["tolerance"]
    assert error <= 2 * found.meta["tolerance"]
    assert truth.is_measured_RC.all()
    assert truth.meta["error_estimate"] == 0
    assert found.is_known_RC.all()


def test_a_smooth_surface_takes_a_tenth_of_its_points_at_most():
    assert measured("mlp, tanh").is_measured_RC.sum() <= 260
