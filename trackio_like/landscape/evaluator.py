"""The losses at points of a plane, in whichever way: the one place where a model's weights are moved."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

import torch

from trackio_like.landscape.data import EvalData, Piece
from trackio_like.landscape.directions import Direction
from trackio_like.landscape.first_layer import FirstLayers
from trackio_like.landscape.plan import Way
from trackio_like.landscape.scoring import BatchNormMode, Precision, Scorer, precision_of
from trackio_like.landscape.serial import Mover, serial_loss
from trackio_like.landscape.vector import VectorPlane, vector_losses
from trackio_like.landscape.weights import Weight

Point: TypeAlias = tuple[float, float]
Losses: TypeAlias = Callable[[Sequence[Point]], list[float]]


class Evaluator:
    """A lent model, its data and a plane."""

    def __init__(
        self,
        scorer: Scorer,
        data: EvalData,
        weights: Sequence[Weight],
        axes: tuple[Direction, Direction],
        *,
        centre: Sequence[torch.Tensor],
        keeps_directions: bool,
        start_anew: Callable[[], None],
        bn: BatchNormMode = "eval",
        precision: Precision | None = None,
    ) -> None:
        """Makes the directions.

        Args:
            scorer: its model is lent and at the centre.
            data: the data.
            weights: all that may move.
            axes: the directions of x and y.
            centre: copies of the weights' tensors.
            keeps_directions: whether they stay in memory.
            start_anew: undoes what forward passes changed: a point must not depend on those before it.
            bn: what becomes of batch norm statistics.
            precision: bf16, or None for the model's own.
        """
        self.data = data
        self.scorer = scorer
        self.bn = bn
        self.precision = precision
        self.device = weights[0].tensor.device
        self._start_anew = start_anew
        self._weights = weights
        self._axes = axes
        self._mover = Mover(weights, *axes, centre=centre, keeps_directions=keeps_directions)

    @property
    def num_moved(self) -> int:
        """Numbers that move."""
        return self._mover.num_moved

    @property
    def dtype_names(self) -> list[str]:
        """The dtypes of the moved weights, such as `float32`."""
        return sorted({str(weight.tensor.dtype).removeprefix("torch.") for weight in self._weights})

    @property
    def is_half(self) -> bool:
        """Whether losses are computed in half precision, by the model's own weights or by the caller's autocast."""
        dtypes = {weight.tensor.dtype for weight in self._weights}
        return bool(dtypes & {torch.float16, torch.bfloat16}) or torch.is_autocast_enabled(self.device.type)

    def first_layers(self, way: Way) -> FirstLayers:
        """The layers whose products could be kept, for the pieces of a way; puts the model at the centre."""
        self._start_anew()
        self._mover.move_to(0.0, 0.0)
        with precision_of(self.device, self.precision):
            return FirstLayers(self.scorer, self._pieces(way, None))

    @contextmanager
    def using(self, way: Way, *, max_samples: int | None = None) -> Iterator[Losses]:
        """A function that gives the losses at points, as fast as a way is.

        Args:
            way: how.
            max_samples: only so many samples of the data, for a trial; at least one piece.
        """
        pieces = self._pieces(way, max_samples)
        with ExitStack() as stack:
            stack.enter_context(precision_of(self.device, self.precision))
            stack.enter_context(threads_set(way.num_threads))
            self._start_anew()
            self._mover.move_to(0.0, 0.0)
            if way.mode == "vector":
                plane = VectorPlane(self._mover.moved())
                yield lambda points: self._vector(plane, pieces, points)
                return
            if not way.first_layer:
                yield lambda points: [self._serial(pieces, point) for point in points]
                return
            first = FirstLayers(self.scorer, pieces)
            stack.enter_context(first.installed(self._weights, *self._axes))

            def losses(points: Sequence[Point]) -> list[float]:
                found = []
                for point in points:
                    first.point = point
                    found.append(self._serial(pieces, point))
                return found

            yield losses

    def _vector(self, plane: VectorPlane, pieces: Sequence[Piece], points: Sequence[Point]) -> list[float]:
        self._start_anew()
        return vector_losses(self.scorer, plane, pieces, points)

    def _serial(self, pieces: Sequence[Piece], point: Point) -> float:
        self._start_anew()
        return serial_loss(self.scorer, self._mover, pieces, point, bn=self.bn)

    def _pieces(self, way: Way, max_samples: int | None) -> Sequence[Piece]:
        pieces = self.data.pieces(way.batch_size, channels_last=way.channels_last)
        if max_samples is None:
            return pieces
        num = 0
        for i, piece in enumerate(pieces):
            num += piece.num_samples
            if num >= max_samples:
                return pieces[: i + 1]
        return pieces

    def num_samples(self, way: Way, max_samples: int) -> int:
        """Samples that `using` takes where `max_samples` are wanted."""
        return sum(piece.num_samples for piece in self._pieces(way, max_samples))


@contextmanager
def threads_set(num: int | None) -> Iterator[None]:
    """Runs operations on so many threads; None changes nothing."""
    before = torch.get_num_threads()
    if num is None or num == before:
        yield
        return
    torch.set_num_threads(num)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    return isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and ("can't allocate memory" in str(error) or "out of memory" in str(error))
    )


def free_memory(device: torch.device) -> None:
    """Lets go of what a failed try still holds."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


__all__ = ["Evaluator", "Losses", "Point", "free_memory", "is_out_of_memory", "threads_set"]
