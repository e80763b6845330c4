"""`evaluate_grid`: every loss of a grid, for directions that the caller has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trackio_like.landscape.result import Floats
from trackio_like.landscape.session import Evaluation

if TYPE_CHECKING:
    import torch
    from torch import nn


def evaluate_grid(
    model: nn.Module,
    batches: Any,
    delta: Sequence[torch.Tensor],
    eta: Sequence[torch.Tensor],
    *,
    n: int = 51,
    x_range: tuple[float, float] = (-1.0, 1.0),
    y_range: tuple[float, float] = (-1.0, 1.0),
    exact: bool = True,
    nbatches: int | None = None,
    **options: Any,
) -> Floats:
    """The losses on a grid of points θ + x·δ + y·η; the model comes back bit for bit as it was.

    Args:
        model: a torch module at θ.
        batches: iterable of batches; (x, y), tuples, dicts.
        delta: the direction of x, as `filter_normalized_directions` gives it: tensors in the order of
            `model.parameters()`, or a dict by name.
        eta: the direction of y, likewise.
        n: points a side, 2 to 250.
        x_range: first and last x; 0 is always a point where it lies between.
        y_range: first and last y.
        exact: measure every point; False interpolates where the error stays within `tolerance`.
        nbatches: how many batches to take; all where it is None.
        **options: `mode`, `chunk`, `parallel`, `criterion`, `loss_fn`, `tolerance`, `memory_budget`, `bn`, `precision`,
            `time_limit_s` and the others of `log_loss_landscape`.

    Returns:
        [n, n] float64: row r has y[r], column c has x[c].

    Raises:
        LandscapeError: the model, its data, the directions or an option cannot be used; nothing was changed.
    """
    evaluation = Evaluation(
        model, batches, nbatches=_ALL if nbatches is None else nbatches, n=n, directions=(delta, eta), params="all",
        x_range=x_range, y_range=y_range, exact=exact, **options,
    )  # fmt: skip
    evaluation.run()
    landscape = evaluation.result()
    assert landscape is not None, "a run that returns has measured something"
    return landscape.z_RC


_ALL = 1 << 62

__all__ = ["evaluate_grid"]
