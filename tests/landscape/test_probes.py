import numpy as np
import pytest

from tests.landscape.known_surfaces import SMOOTH, on_grid
from trackio_like.landscape.nested import within
from trackio_like.landscape.probes import around_worst, probes
from trackio_like.landscape.surface import look


def with_lines(surface, **shape):
    """A grid with its coarse lines measured, and the truth to measure more of it."""
    truth = on_grid(surface, **shape)
    truth.refine(tolerance=10.0)
    nodes = np.ix_(*truth.cells.complete_lines())
    is_node_RC = np.zeros(truth.cells.z_RC.shape, dtype=np.bool_)
    is_node_RC[nodes] = True
    truth.cells.is_measured_RC &= is_node_RC
    return truth


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(51, 51), (51, 21), (1, 90), (3, 60)])
def test_every_interval_of_both_axes_has_a_probe_within(shape, seed):
    truth = with_lines(SMOOTH["slow waves"], num_rows=shape[0], num_cols=shape[1])
    view = look(truth.cells)
    wanted = probes(truth.cells, view, np.random.default_rng(seed))
    assert len(wanted) == len(set(wanted))
    assert not any(truth.cells.is_measured_RC[cell] for cell in wanted)
    for lines, num, at in ((view.rows_I, shape[0], 0), (view.cols_J, shape[1], 1)):
        if len(lines) < num:
            assert within(lines, num)[:, [cell[at] for cell in wanted]].any(axis=1).all()


def test_corners_are_probed_inside_and_on_both_outer_edges():
    truth = with_lines(SMOOTH["slow waves"])
    wanted = probes(truth.cells, look(truth.cells), np.random.default_rng(0))
    near, far = (2, 3), (47, 48)
    for rows, edge_row in ((near, 0), (far, 50)):
        for cols, edge_col in ((near, 0), (far, 50)):
            assert any(row in rows and col in cols for row, col in wanted)
            assert any(row == edge_row and col in cols for row, col in wanted)
            assert any(row in rows and col == edge_col for row, col in wanted)


def test_the_middles_on_all_sides_of_the_weights_are_probed():
    truth = with_lines(SMOOTH["slow waves"])
    wanted = probes(truth.cells, look(truth.cells), np.random.default_rng(0))
    sides = {(np.sign(row - 25), np.sign(col - 25)) for row, col in wanted if max(abs(row - 25), abs(col - 25)) <= 3}
    assert len(sides - {(0, 0)}) == 8


def test_where_half_of_the_lines_would_be_most_wrong_is_probed():
    truth = with_lines(lambda x, y: x + np.exp(-((x - 0.6) ** 2 + (y + 0.6) ** 2) / 0.02))
    wanted = probes(truth.cells, look(truth.cells), np.random.default_rng(0))
    near = [cell for cell in wanted if max(abs(cell[0] - 10), abs(cell[1] - 40)) <= 4]
    assert len(near) >= 3


def test_the_blocks_around_the_worst_probe_are_probed_next():
    truth = with_lines(SMOOTH["slow waves"])
    cells = truth.cells
    assert around_worst(cells, look(cells)) == []
    cells.store((22, 37), look(cells).z_RC[22, 37] + 5.0)
    cells.store((7, 7), look(cells).z_RC[7, 7] + 1.0)
    found = around_worst(cells, look(cells))
    assert len(found) == 8
    assert all(abs(row - 22) <= 7 and abs(col - 37) <= 7 for row, col in found)
