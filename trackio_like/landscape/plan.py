"""What fits the memory budget: pure, so that every case is a unit test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from trackio_like.landscape.budget import PARALLEL_PRESETS
from trackio_like.landscape.errors import NeedsMemoryError

Mode = Literal["serial", "vector"]
MODES: Final = ("serial", "vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of evaluating points."""

    mode: Mode = "serial"
    chunk: int = 1
    """Points of one forward pass; 1 in serial mode."""
    batch_size: int | None = None
    """Samples of one forward pass; None for the batches as they came."""
    channels_last: bool = False
    num_threads: int | None = None
    """Threads within an operation; None for as many as there are now."""
    first_layer: bool = False
    """Whether what the first layer makes of the data is computed once for all points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the parts of an evaluation take, in bytes."""

    moved_bytes: int
    """The moved weights, in their own dtype."""
    direction_bytes: int
    """One direction."""
    forward_fixed_bytes: float
    forward_bytes_per_sample: float
    largest_weight_bytes: int
    """The largest moved weight in float32: what making one direction at a time holds."""
    backup_bytes: int
    """Copies of the weights and buffers on the model's device."""
    data_bytes: int
    """The data, once: cutting it anew copies it."""
    largest_batch: int = 1
    """Samples of the largest batch as it came."""

    def of(self, way: Way, *, keeps_directions: bool = True) -> int:
        """Bytes that a way takes beyond the model and its data, but for products of the first layer."""
        samples = way.batch_size or self.largest_batch
        forward = self.forward_fixed_bytes + self.forward_bytes_per_sample * samples
        directions = 2 * self.direction_bytes if keeps_directions else 3 * self.largest_weight_bytes
        is_copied = way.batch_size is not None or way.channels_last
        total = self.backup_bytes + directions + (self.data_bytes if is_copied else 0)
        if way.mode == "vector":
            # The weights of a chunk twice: the sum in float32 is there beside what it is rounded to.
            return int(total + way.chunk * (forward + self.moved_bytes) + way.chunk * self.direction_bytes)
        return int(total + forward)


def largest_batch(needs: Needs, *, budget_bytes: int, wanted: int, keeps_directions: bool) -> int:
    """The largest batch size, halved from the wanted one, whose serial way fits; 0 where not even one sample does."""
    size = wanted
    while size > 1 and needs.of(Way(batch_size=size), keeps_directions=keeps_directions) > budget_bytes:
        size = (size + 1) // 2
    return size if needs.of(Way(batch_size=size), keeps_directions=keeps_directions) <= budget_bytes else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialPlan:
    """The plainest way that fits."""

    way: Way
    keeps_directions: bool
    max_batch: int | None
    """The largest batch that fits; None where batches stay as they came."""


def serial_plan(needs: Needs, *, budget_bytes: int, is_cuttable: bool, num_samples: int) -> SerialPlan:
    """How to evaluate one point at a time within the budget.

    Retreats in this order: batches as they came; smaller ones; directions made anew at each point; both.

    Args:
        needs: what the parts take.
        budget_bytes: what may be taken.
        is_cuttable: whether batches may be cut.
        num_samples: of all batches.

    Raises:
        NeedsMemoryError: nothing fits.
    """
    for keeps in (True, False):
        if needs.of(Way(), keeps_directions=keeps) <= budget_bytes:
            bound = 0
            if is_cuttable:
                bound = largest_batch(needs, budget_bytes=budget_bytes, wanted=num_samples, keeps_directions=keeps)
            return SerialPlan(way=Way(), keeps_directions=keeps, max_batch=bound or None)
        if is_cuttable:
            size = largest_batch(needs, budget_bytes=budget_bytes, wanted=needs.largest_batch, keeps_directions=keeps)
            if size:
                return SerialPlan(way=Way(batch_size=size), keeps_directions=keeps, max_batch=size)
    least = needs.of(Way(batch_size=1) if is_cuttable else Way(), keeps_directions=False)
    raise NeedsMemoryError(
        f"The smallest way to evaluate this landscape takes {mebibytes(least)} beside the model, and the budget is "
        f"{mebibytes(budget_bytes)}. Give memory_budget={least + (least >> 3)} (bytes), or smaller batches."
    )


def vector_ways(needs: Needs, base: Way, *, budget_bytes: int, most: int) -> list[Way]:
    """Vector ways that fit: chunks of 1, 4, 16, ... points.

    Args:
        needs: what the parts take.
        base: a serial way, whose batches and layout they take over.
        budget_bytes: what may be taken.
        most: points of the grid.
    """
    ways: list[Way] = []
    chunk = 1
    while chunk <= most:
        way = replace(base, mode="vector", chunk=chunk, first_layer=False)
        if needs.of(way) > budget_bytes:
            break
        ways.append(way)
        chunk *= 4
    return ways


def chosen_chunk(needs: Needs, *, chunk: int | None, parallel: str | None, num_points: int) -> int | None:
    """The chunk that the caller chose, as a number or a preset; None where the choice is ours."""
    if chunk is not None:
        return min(chunk, num_points)
    if parallel is None:
        return None
    return max(1, min(PARALLEL_PRESETS[parallel] // max(1, needs.moved_bytes), num_points))


def mebibytes(num_bytes: int) -> str:
    """A size for people."""
    return f"{num_bytes / 2**30:,.1f} GiB" if num_bytes >= 2**30 else f"{max(1, round(num_bytes / 2**20)):,} MiB"


__all__ = [
    "MODES", "Mode", "Needs", "SerialPlan", "Way", "chosen_chunk", "largest_batch", "mebibytes", "serial_plan",
    "vector_ways",
]  # fmt: skip
