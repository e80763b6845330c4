"""The directions in which the loss bends most: eigenvectors of the Hessian, by Lanczos iteration.

A random plane shows the mean curvature only and hides saddles (Boettcher and Wheeler 2022, arXiv 2208.13219,
section 3): the extreme eigenvectors show them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

from trackio_like.landscape.data import Piece
from trackio_like.landscape.directions import noise_like, wide
from trackio_like.landscape.errors import LandscapeError, NeedsMemoryError
from trackio_like.landscape.memory import second_derivatives
from trackio_like.landscape.plan import mebibytes
from trackio_like.landscape.scoring import Scorer
from trackio_like.landscape.weights import Weight

MAX_ITERATIONS: Final = 40
_LEAST_ITERATIONS: Final = 4
_CONVERGED: Final = 1e-3
"""Relative change of both eigenvalues at which iterating ends."""

Vector = list[torch.Tensor]
"""A tensor for each weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eigenpair:
    """One eigenvalue of the Hessian and its direction."""

    value: float
    vector: Vector
    """Of length 1."""
    residual: float
    """|Hv - λv| / |λ|, as Lanczos knows it; 0 where it is exact."""


def top_eigenpairs(
    scorer: Scorer, pieces: Sequence[Piece], weights: Sequence[Weight], *, seed: int, budget_bytes: int
) -> tuple[Eigenpair, Eigenpair]:
    """The two eigenvalues of largest magnitude, and their vectors.

    Args:
        scorer: its model is lent and at the centre.
        pieces: the data; the Hessian is that of the weighted mean of their losses.
        weights: with respect to which; real floating-point parameters.
        seed: of the first vector.
        budget_bytes: what the vectors may take: one for each iteration.

    Raises:
        LandscapeError: the loss has no second derivatives.
        NeedsMemoryError: not even a few vectors fit.
    """
    vector_bytes = sum(weight.tensor.numel() * 4 for weight in weights)
    num_iterations = min(MAX_ITERATIONS, budget_bytes // max(1, vector_bytes) - 4)
    num_iterations = min(num_iterations, sum(weight.tensor.numel() for weight in weights))
    if num_iterations < min(_LEAST_ITERATIONS, sum(weight.tensor.numel() for weight in weights)):
        least = (_LEAST_ITERATIONS + 4) * vector_bytes
        raise NeedsMemoryError(
            f"Eigenvectors of the Hessian take {mebibytes(least)} beside the model, and what is left of the budget is "
            f"{mebibytes(max(0, budget_bytes))}. Give a larger memory_budget=, or directions='random'."
        )
    start = [noise_like(weight.tensor, key=f"{seed}/hessian/{weight.name}") for weight in weights]
    with second_derivatives(weights):
        return _lanczos(lambda vector: _product(scorer, pieces, weights, vector), start, num_iterations)


def _product(scorer: Scorer, pieces: Sequence[Piece], weights: Sequence[Weight], vector: Vector) -> Vector:
    """The Hessian times a vector: the gradient of (gradient · vector), Pearlmutter 1994."""
    tensors = [weight.tensor for weight in weights]
    total = [torch.zeros_like(part) for part in vector]
    whole = sum(piece.weight for piece in pieces)
    for piece in pieces:
        loss = scorer(piece.batch)
        if not loss.requires_grad:
            raise LandscapeError("The loss does not depend on the weights by derivatives, so it has no Hessian.")
        gradients = torch.autograd.grad(loss, tensors, create_graph=True, allow_unused=True)
        parts = [(wide(g) * v).sum() for g, v in zip(gradients, vector, strict=True) if g is not None]
        dot = torch.stack(parts).sum()
        if not dot.requires_grad:
            continue  # linear in the weights: no curvature
        products = torch.autograd.grad(dot, tensors, allow_unused=True)
        for sum_, product in zip(total, products, strict=True):
            if product is not None:
                sum_.add_(wide(product), alpha=piece.weight / whole)
    return total


def _lanczos(multiply: Any, start: Vector, num_iterations: int) -> tuple[Eigenpair, Eigenpair]:
    """Lanczos with full reorthogonalisation; the tridiagonal matrix is solved by numpy in float64."""
    basis = [_scaled(start, 1 / _norm(start))]
    diagonal: list[float] = []
    beside: list[float] = []
    previous: tuple[float, ...] = ()
    while True:
        product = multiply(basis[-1])
        diagonal.append(_dot(product, basis[-1]))
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            for vector in basis:
                _add(product, vector, -_dot(product, vector))
        length = _norm(product)
        values, vectors = np.linalg.eigh(_tridiagonal(diagonal, beside))
        order = np.argsort(-np.abs(values))[:2]
        found = tuple(values[order])
        scale = max(abs(value) for value in found)
        is_settled = len(found) == len(previous) == 2 and all(
            abs(a - b) <= _CONVERGED * max(abs(a), 1e-12) for a, b in zip(found, previous, strict=True)
        )
        if len(diagonal) >= num_iterations or length <= 1e-6 * max(scale, 1e-12) or (is_settled and len(diagonal) >= 6):
            break
        previous = found
        beside.append(length)
        basis.append(_scaled(product, 1 / length))
    pairs = []
    for index in order:
        vector = [torch.zeros_like(part) for part in start]
        for weight, part in zip(vectors[:, index], basis, strict=True):
            _add(vector, part, float(weight))
        vector = _scaled(vector, 1 / max(_norm(vector), 1e-30))
        value = float(values[index])
        pairs.append(
            Eigenpair(
                value=value, vector=vector, residual=abs(length * float(vectors[-1, index])) / max(abs(value), 1e-30)
            )
        )
    if len(pairs) == 1:  # one number moves, or the first vector is an eigenvector
        pairs.append(Eigenpair(value=0.0, vector=[torch.zeros_like(part) for part in start], residual=0.0))
    return pairs[0], pairs[1]


def _tridiagonal(diagonal: Sequence[float], beside: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


def _dot(left: Vector, right: Vector) -> float:
    return math.fsum(float((a.double() * b.double()).sum()) for a, b in zip(left, right, strict=True))


def _norm(vector: Vector) -> float:
    return math.sqrt(_dot(vector, vector))


def _scaled(vector: Vector, by: float) -> Vector:
    return [(part * by).detach() for part in vector]


def _add(vector: Vector, other: Vector, by: float) -> None:
    for part, added in zip(vector, other, strict=True):
        part.add_(added, alpha=by)


__all__ = ["MAX_ITERATIONS", "Eigenpair", "top_eigenpairs"]
