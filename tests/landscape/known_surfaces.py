"""Losses whose value is known everywhere, smooth to chaotic, and a measurer that counts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from trackio_like.landscape.axes import axis
from trackio_like.landscape.nested import Cells
from trackio_like.landscape.refine import refine

Surface = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Stopped(BaseException):
    """What ends a measurement from outside, as Ctrl-C does."""


class Truth:
    """Measures a known grid, each cell at most once, and stops after some cells if told to."""

    def __init__(self, z_RC, y_R, x_C, *, stop_after=None):
        self.z_RC = np.asarray(z_RC, dtype=np.float64)
        self.cells = Cells.empty(x_C, y_R)
        self.num_stored = 0
        self.plans = []
        self.stop_after = stop_after

    def __call__(self, cells_P):
        for cell in cells_P:
            if self.num_stored == self.stop_after:
                raise Stopped
            assert not self.cells.is_measured_RC[cell], "measured twice"
            self.cells.store(cell, self.z_RC[cell])
            self.num_stored += 1

    def refine(self, *, tolerance=0.01, exact=False, seed=0):
        return refine(self.cells, self, tolerance=tolerance, exact=exact, seed=seed, on_plan=self.plans.append)


def on_grid(surface: Surface, *, num_rows=51, num_cols=51, **options) -> Truth:
    y_R = axis(num_rows, (-1.0, 1.0)) if num_rows > 1 else np.zeros(1)
    x_C = axis(num_cols, (-1.0, 1.0))
    return Truth(surface(*np.meshgrid(x_C, y_R)), y_R, x_C, **options)


def waves(frequency, *, num=40, seed) -> Surface:
    """A Gaussian random field of about this frequency, by random Fourier features."""
    rng = np.random.default_rng(seed)
    w_F2, phase_F = rng.normal(size=(num, 2)) * frequency, rng.uniform(0, 2 * np.pi, num)
    height_F = rng.normal(size=num) / np.sqrt(num)
    return lambda x, y: np.cos(x[..., None] * w_F2[:, 0] + y[..., None] * w_F2[:, 1] + phase_F) @ height_F


def noise(x, y):
    return np.random.default_rng(5).normal(size=x.shape)


def network(*, depth, width, seed, has_skips=False, act=lambda h: np.maximum(h, 0)) -> Surface:
    """The cross-entropy of a random network, over two filter-normalised directions."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(a, b)) * np.sqrt(2 / a) for a, b in pairwise([8, *[width] * depth, 4])]

    def direction(weight):
        draw = rng.normal(size=weight.shape)
        return draw * np.linalg.norm(weight, axis=0) / np.linalg.norm(draw, axis=0)

    along_x, along_y = [direction(weight) for weight in weights], [direction(weight) for weight in weights]
    inputs, targets = rng.normal(size=(64, 8)), rng.integers(0, 4, 64)

    def loss(x, y):
        h = inputs
        for layer, (weight, dx, dy) in enumerate(zip(weights, along_x, along_y, strict=True)):
            out = h @ (weight + x * dx + y * dy)
            if layer < depth:
                out = act(out)
                out = out + h if has_skips and out.shape == h.shape else out
            h = out
        h = h - h.max(axis=1, keepdims=True)
        return float(np.mean(np.log(np.exp(h).sum(axis=1)) - h[np.arange(64), targets]))

    return np.vectorize(loss, otypes=[np.float64])


def bowl(x, y):
    return 1e-3 + 1e3 * (x * x + 0.3 * y * y)


SMOOTH: dict[str, Surface] = {
    "bowl over 6 decades": bowl,
    "narrow valley": lambda x, y: 1e-3 + 1e3 * x * x + 0.01 * y * y,
    "quartic": lambda x, y: 0.01 + 50 * (x * x + y * y + x * y) ** 2,
    "exponential walls": lambda x, y: 1e-3 + np.exp(6 * x - 3 * y) + np.exp(-5 * x + 4 * y),
    "Rosenbrock": lambda x, y: (1 - 2 * x) ** 2 + 100 * (2 * y - 4 * x * x) ** 2,
    "logistic": lambda x, y: np.log1p(np.exp(8 * (x - 0.3 * y))) + np.log1p(np.exp(-6 * (x + y))),
    "negative": lambda x, y: np.sin(2 * x) * np.cos(3 * y) - 0.5 * x,
    "negative with walls": lambda x, y: -3.2 + np.exp(4 * (x * x + y * y + 0.3 * x)),
    "slow waves": waves(2, seed=0),
}
ROUGH: dict[str, Surface] = {
    "soft step": lambda x, y: 0.1 + 1 / (1 + np.exp(-8 * (x + 0.5 * y - 0.2))),
    "step along x": lambda x, y: 1 + 0.1 * y + (x > 0.33),
    "slanted cliff": lambda x, y: 0.1 + 1 / (1 + np.exp(-60 * (x + 0.5 * y - 0.2))),
    "kinks": lambda x, y: 0.05 + np.abs(x - 0.13) + np.maximum(0, y + 0.5 * x - 0.21),
    "minimum between two lines": lambda x, y: 2 + 0.1 * x - 1.8 * np.exp(-(x * x + y * y) / (2 * 0.05**2)),
    "minimum of one cell": lambda x, y: 2 + 0.1 * x - 1.8 * np.exp(-(x * x + y * y) / (2 * 0.015**2)),
    "minimum elsewhere": lambda x, y: 2 + x * x / 2 - 1.8 * np.exp(-((x - 0.31) ** 2 + (y + 0.47) ** 2) / 0.03),
    "waves": waves(5, seed=1),
    "log-normal waves": lambda x, y: np.exp(waves(8, seed=4)(x, y)),
    "bowl with noise below the tolerance": lambda x, y: 1 + x * x + y * y + 0.002 * noise(x, y),
    "ReLU network": network(depth=3, width=24, seed=1),
    "tanh network": network(depth=3, width=24, seed=2, act=np.tanh),
    "24 ReLU layers": network(depth=24, width=16, seed=3),
    "24 ReLU layers with skips": network(depth=24, width=16, seed=4, has_skips=True),
}
CHAOTIC: dict[str, Surface] = {
    "noise": noise,
    "bowl with noise": lambda x, y: 1 + x * x + y * y + 0.05 * noise(x, y),
    "fast waves": waves(30, seed=8),
    "24 tanh layers": network(depth=24, width=16, seed=5, act=np.tanh),
}
