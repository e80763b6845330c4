"""The loss of a model on one batch, whatever the batch looks like, and how much that batch counts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - the name it has everywhere

from trackio_like.landscape.batches import mapped, num_samples, tensors_of
from trackio_like.landscape.errors import LandscapeError

Precision = Literal["bf16"]
BatchNormMode = Literal["eval", "recalibrate"]
BATCH_NORM_MODES: Final = ("eval", "recalibrate")
IGNORED: Final = -100
"""The target that cross entropy passes over, as torch has it."""
_STATISTICS: Final = ("running_mean", "running_var", "num_batches_tracked")
_MAX_DOUBLE: Final = 1 << 20
"""Logits up to this many are summed in float64: a small loss is a difference of large numbers."""
_MEANS: Final = (
    nn.CrossEntropyLoss, nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCELoss, nn.BCEWithLogitsLoss,
    nn.NLLLoss, nn.SoftMarginLoss, nn.GaussianNLLLoss, nn.PoissonNLLLoss,
)  # fmt: skip
"""Losses whose mean over a batch is the mean of the means over its equal parts."""

Criterion = Callable[..., torch.Tensor]
LossFunction = Callable[[nn.Module, Any], torch.Tensor]


class _Known:
    """What was found out about a model; no attribute of the scorer, for these are put back."""

    writes_to_batches: bool | None = None


class Scorer(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """A model and its loss as one module, so that the same call works in place and under `functional_call`."""

    def __init__(
        self, model: nn.Module, *, criterion: Criterion | None = None, loss_fn: LossFunction | None = None
    ) -> None:
        """Wires them; the model is not changed by being part of this.

        Args:
            model: unwrapped.
            criterion: `criterion(output, target)`; the output's own loss, else cross entropy, where it is None.
            loss_fn: `loss_fn(model, batch)`, in place of all rules about batches.

        Raises:
            LandscapeError: both are given.
        """
        super().__init__()
        if criterion is not None and loss_fn is not None:
            raise LandscapeError("criterion= and loss_fn= were both given: loss_fn(model, batch) is the whole loss.")
        self.model = model
        self.criterion = criterion
        self.loss_fn = loss_fn
        self._known = _Known()

    @property
    def criterion_name(self) -> str:
        """What the loss is called."""
        used = self.loss_fn or self.criterion
        if used is None:
            return "the output's own loss, else cross entropy"
        return getattr(used, "__name__", type(used).__name__)

    def forward(self, batch: Any) -> torch.Tensor:
        """The loss on one batch, a scalar.

        Raises:
            LandscapeError: no loss can be made of the batch and the model's output.
        """
        if self._known.writes_to_batches is not False:
            return self._of_copy(batch)
        return self._of(batch)

    def _of_copy(self, batch: Any) -> torch.Tensor:
        """Some models normalise their input in place: the data would be others at each point."""
        copy = mapped(batch, torch.clone)
        versions = [tensor._version for tensor in tensors_of(copy)]  # noqa: SLF001 - counts writes
        loss = self._of(copy)
        if self._known.writes_to_batches is None:
            self._known.writes_to_batches = versions != [tensor._version for tensor in tensors_of(copy)]  # noqa: SLF001
        return loss

    def _of(self, batch: Any) -> torch.Tensor:
        if self.loss_fn is not None:
            return _scalar(self.loss_fn(self.model, batch))
        args, kwargs, target = arguments(batch)
        output = self.model(*args, **kwargs)
        own = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if own is not None and self.criterion is None:
            return _scalar(own)
        if target is None:
            raise LandscapeError(
                "The batch names no target and the model's output has no loss: give batches (x, y), a dict with "
                "'labels', or loss_fn=lambda model, batch: ..."
            )
        logits = _logits(output)
        if self.criterion is not None:
            return _scalar(self.criterion(logits, target))
        return _cross_entropy(logits, target)

    @property
    def is_mean_of_samples(self) -> bool:
        """Whether the loss of a batch is the mean of its parts' losses, so that it may be cut anew."""
        if self.loss_fn is not None or any(_looks_across(part) for part in self.model.modules()):
            return False
        if self.criterion is None:
            return True
        return (
            type(self.criterion) in _MEANS
            and getattr(self.criterion, "reduction", "") == "mean"
            and getattr(self.criterion, "weight", None) is None
        )

    def weigh(self, batch: Any) -> float:
        """How much a batch counts in the mean: its targets where some are passed over, else its samples."""
        if self.loss_fn is not None:
            return float(num_samples(batch))
        if getattr(self.criterion, "reduction", "mean") == "sum":
            return 1.0  # it has counted the samples already
        _, _, target = arguments(batch)
        ignored = getattr(self.criterion, "ignore_index", IGNORED if self.criterion is None else None)
        if ignored is None or not isinstance(target, torch.Tensor) or target.is_floating_point():
            return float(num_samples(batch))
        counted = target != ignored
        if isinstance(batch, Mapping) and _is_causal(self.model) and target.ndim == 2:
            counted = counted[:, 1:]  # such models predict each token from those before it
        # Equal parts of one sample each count as samples; more targets a sample only scale all of them alike.
        return float(counted.sum())


def _looks_across(part: nn.Module) -> bool:
    """Whether a layer's answer for a sample depends on the others of its batch, also in eval mode."""
    is_batch_norm = isinstance(part, nn.modules.batchnorm._BatchNorm)  # noqa: SLF001
    return is_batch_norm and part.running_mean is None


def arguments(batch: Any) -> tuple[Sequence[Any], Mapping[str, Any], Any]:
    """A batch as (positional arguments, keyword arguments, target or None)."""
    if isinstance(batch, Mapping):
        return (), batch, batch.get("labels")
    if isinstance(batch, (tuple, list)):
        if len(batch) == 1:
            return batch, {}, None
        inputs = batch[:-1]
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return (), inputs[0], batch[-1]
        return inputs, {}, batch[-1]
    return (batch,), {}, None


def _is_causal(model: nn.Module) -> bool:
    return type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))


def _logits(output: Any) -> torch.Tensor:
    if isinstance(output, torch.Tensor):
        return output
    found = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    if isinstance(found, torch.Tensor):
        return found
    if isinstance(output, (tuple, list)) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    raise LandscapeError(
        f"The model gives a {type(output).__name__}, of which no loss can be made: give "
        "loss_fn=lambda model, batch: ..."
    )


def _cross_entropy(logits: torch.Tensor, target: Any) -> torch.Tensor:
    if not isinstance(target, torch.Tensor) or target.is_floating_point():
        raise LandscapeError(
            "The targets are no class numbers, so there is no default loss for them: give criterion=, such as "
            "torch.nn.MSELoss() (or torch.nn.CrossEntropyLoss() for class probabilities)."
        )
    is_native = logits.ndim == target.ndim + 1 and logits.shape[2:] == target.shape[1:]
    if not is_native and logits.shape[:-1] == target.shape:
        # [B, T, classes], as language models give it; torch wants the classes second.
        logits, target = logits.flatten(0, -2), target.flatten()
    elif not is_native:
        raise LandscapeError(
            f"The output has the shape {tuple(logits.shape)} and the targets {tuple(target.shape)}, of which cross "
            "entropy cannot be made: give criterion= or loss_fn=."
        )
    if logits.numel() <= _MAX_DOUBLE:
        logits = logits.double()
    elif logits.element_size() < 4:
        logits = logits.float()
    return F.cross_entropy(logits, target.long(), ignore_index=IGNORED)


def _scalar(loss: Any) -> torch.Tensor:
    if not isinstance(loss, torch.Tensor):
        loss = torch.as_tensor(loss, dtype=torch.float64, device="cpu")
    if loss.numel() != 1:
        raise LandscapeError(
            f"The loss of a batch has the shape {tuple(loss.shape)}; it must be one number: use reduction='mean'."
        )
    return loss.reshape(()).double()


@contextmanager
def precision_of(device: torch.device, precision: Precision | None) -> Iterator[None]:
    """The caller's autocast, or bfloat16 where that is asked for; in both, without its cache of cast weights.

    The cache would go on giving the weights of the first point.
    """
    with contextlib.ExitStack() as stack:
        kinds = {"cpu", device.type} & {"cpu", "cuda", "mps", "xpu"}
        for kind in sorted(kinds):
            if precision == "bf16" and kind == device.type:
                stack.enter_context(torch.autocast(kind, dtype=torch.bfloat16, cache_enabled=False))
            elif torch.is_autocast_enabled(kind):
                dtype = torch.get_autocast_dtype(kind)
                stack.enter_context(torch.autocast(kind, dtype=dtype, cache_enabled=False))
        yield


def recalibrate(scorer: Scorer, batches: Sequence[Any]) -> None:
    """Takes the statistics of batch norm layers anew, as the mean over the batches.

    Args:
        scorer: its model's batch norm layers get other buffers.
        batches: on the model's device.
    """
    norms = [
        part
        for part in scorer.model.modules()
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.track_running_stats  # noqa: SLF001
    ]
    momenta = [part.momentum for part in norms]
    for part in norms:
        # Others in their place: a graph that waits for its backward pass may hold the model's own.
        for name in _STATISTICS:
            if (buffer := part._buffers.get(name)) is not None:  # noqa: SLF001
                part._buffers[name] = torch.zeros_like(buffer)  # noqa: SLF001
        part.reset_running_stats()
        part.momentum = None  # a plain mean
        part.training = True
    try:
        for batch in batches:
            scorer(batch)
    finally:
        for part, momentum in zip(norms, momenta, strict=True):
            part.momentum = momentum
            part.training = False


__all__ = [
    "BATCH_NORM_MODES",
    "BatchNormMode",
    "Criterion",
    "LossFunction",
    "Precision",
    "Scorer",
    "arguments",
    "precision_of",
    "recalibrate",
]
