"""A surface computed as one would with pen and paper: a copy in float64, one point after the other, nothing clever."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.landscape.zoo import Case


def widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: widened(item) for key, item in value.items()}
    return type(value)(widened(item) for item in value)


def batch_loss(model, batch, case: Case) -> torch.Tensor:
    if case.loss_fn is not None:
        return case.loss_fn(model, batch)
    if isinstance(batch, dict):
        return model(**batch).loss
    *inputs, target = batch
    out = model(**inputs[0]) if isinstance(inputs[0], dict) else model(*inputs)
    if case.criterion is not None:
        return case.criterion(out, target)
    return nn.functional.cross_entropy(out.double().flatten(0, -2), target.flatten())


def batch_weight(batch, case: Case) -> int:
    """Samples; targets that count where the loss is over targets."""
    if isinstance(batch, torch.Tensor):
        return len(batch)
    if isinstance(batch, dict):
        labels = batch["labels"]
        return int((labels[:, 1:] != -100).sum()) if labels.ndim == 2 else len(labels)
    target = batch[-1]
    return len(target) if target.is_floating_point() else int((target != -100).sum())


def mean_loss(model, case: Case, batches) -> float:
    model.eval()
    with torch.no_grad():
        losses = [float(batch_loss(model, batch, case)) for batch in batches]
    weights = [batch_weight(batch, case) for batch in batches]
    return float(np.average(losses, weights=weights))


def surface(case: Case, delta, eta, x_C, y_R) -> np.ndarray:
    """[R, C] losses at θ + x·δ + y·η, in float64 throughout.

    Args:
        case: its model is copied.
        delta: tensors in the order of `model.parameters()`.
        eta: likewise.
        x_C: coordinates of the columns.
        y_R: coordinates of the rows.
    """
    model = copy.deepcopy(case.model).double()
    batches = [widened(batch) for batch in case.batches]
    centre = [p.detach().clone() for p in model.parameters()]
    found = np.empty((len(y_R), len(x_C)))
    for r, y in enumerate(y_R):
        for c, x in enumerate(x_C):
            with torch.no_grad():
                for p, at, d, e in zip(model.parameters(), centre, delta, eta, strict=True):
                    p.copy_(at + x * d.double() + y * e.double())
            found[r, c] = mean_loss(model, case, batches)
    return found


def surface_bf16(case: Case, delta, eta, x_C, y_R) -> np.ndarray:
    """The same of a bfloat16 model: weights summed in float64, rounded once, and the model's own arithmetic."""
    model = copy.deepcopy(case.model)
    centre = [p.detach().double() for p in model.parameters()]
    found = np.empty((len(y_R), len(x_C)))
    for r, y in enumerate(y_R):
        for c, x in enumerate(x_C):
            with torch.no_grad():
                for p, at, d, e in zip(model.parameters(), centre, delta, eta, strict=True):
                    # float32 first: the sum of two float32 numbers of similar size, as anybody would make it.
                    p.copy_((at + x * d.double() + y * e.double()).float())
            found[r, c] = mean_loss(model, case, case.batches)
    return found


def directions_of(case: Case, weights, axes) -> list[list[torch.Tensor]]:
    """The directions of an evaluation's plane in the order of `model.parameters()`."""
    by_name = {weight.name: weight for weight in weights}
    found: list[list[torch.Tensor]] = []
    for direction in axes:
        tensors = []
        for name, p in case.model.named_parameters():
            tensor = direction.of(by_name[name]) if name in by_name else None
            tensors.append(torch.zeros(p.shape) if tensor is None else tensor)
        found.append(tensors)
    return found
