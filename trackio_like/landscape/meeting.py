"""Which ranks of a `torch.distributed` job evaluate a landscape together: those that come within a few seconds.

Ranks meet in numbered rooms. Each lays down a card; once all have come, or somebody has waited long enough, a list of
those who are there is made, in one step, and the next room is opened. Ranks whose cards say the same work together.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from torch import distributed, nn

from trackio_like.landscape.errors import LandscapeError
from trackio_like.landscape.job_store import JobGoneError, JobStore, Pause
from trackio_like.landscape.options import Options
from trackio_like.module_state.keeping import bits_sum

if TYPE_CHECKING:
    import torch

WAIT_S: Final = 5.0
"""How long ranks wait for each other: those of one training step come within milliseconds, so who is not there by then
does not come, as where the caller asks `if rank == 0`."""
LONELY_WAIT_S: Final = 1.0
"""The same, where no two ranks have ever met in this job."""
_SAME: Final = (
    "n", "x_range", "y_range", "line", "mode", "chunk", "parallel", "seed", "params", "bn", "precision", "tolerance",
    "exact",
)  # fmt: skip
"""Options that must be the same for ranks to share a surface, beside the model, its loss and its plane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a rank says about itself."""

    what: str
    """Of the weights and the options: only ranks with the same one measure the same surface."""
    batches: str
    """Of the data, which may differ: all take those of the rank that leads."""
    buffers: str
    """Of buffers such as running statistics, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """The ranks that work together, this one among them."""

    rank: int
    cards: dict[int, Card]
    """By rank, in order; the first leads."""
    store: JobStore
    """Theirs alone."""
    notes: tuple[str, ...] = ()

    @property
    def leader(self) -> int:
        """The lowest rank."""
        return next(iter(self.cards))


def card_of(model: nn.Module, options: Options, batches_sha256: str) -> Card:
    """The card of this rank."""
    about = [type(model).__qualname__, *(f"{name}={getattr(options, name)!r}" for name in _SAME)]
    about += [_name(options.directions), _name(options.criterion), _name(options.loss_fn), str(options.model_b is None)]
    about += [f"{name}: {bits(tensor)}" for name, tensor in model.named_parameters()]
    about += [f"{name}: {tensor.dtype} {tuple(tensor.shape)}" for name, tensor in model.named_buffers()]
    buffers = [f"{name}: {bits(tensor)}" for name, tensor in model.named_buffers()]
    return Card(what=digest(about), batches=batches_sha256, buffers=digest(buffers))


def _name(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return str(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def bits(tensor: torch.Tensor) -> str:
    """A tensor's bits, whatever device it is on."""
    dtype, shape, _device, *total = bits_sum(tensor)
    return f"{dtype} {shape} {total}"


def digest(lines: list[str]) -> str:
    """A short text for a long one."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def job() -> tuple[JobStore, int, int] | None:
    """The store of the job, this rank, and how many there are; None where there is but one, or no store."""
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() < 2:
        return None
    try:
        # Of a process group there is no other way to its store; a group of MPI has none.
        store = distributed.distributed_c10d._get_default_store()  # noqa: SLF001
    except (AttributeError, RuntimeError, ValueError):
        return None
    if store is None:
        return None
    return JobStore(store, "trackio_like/landscape"), distributed.get_rank(), distributed.get_world_size()


def check_collectives(model: nn.Module, options: Options) -> None:
    """Whether points can be measured without the other ranks.

    Raises:
        LandscapeError: a layer would wait for them.
    """
    if options.bn == "recalibrate" and any(isinstance(part, nn.SyncBatchNorm) for part in model.modules()):
        raise LandscapeError(
            "bn='recalibrate' would make the model's SyncBatchNorm layers wait for all ranks at each point: leave it "
            "out, or evaluate a copy with plain batch norm layers."
        )


def meet(store: JobStore, *, rank: int, num_ranks: int, card: Card, most_s: float) -> Party | str:
    """Waits for the other ranks.

    Args:
        store: of the job.
        rank: this one.
        num_ranks: of the job.
        card: of this rank.
        most_s: how long to wait at most, where that is less than usual.

    Returns:
        Who works together, or why this rank works by itself.

    Raises:
        JobGoneError: the store is gone.
    """
    room = _open_room(store)
    wait_s = WAIT_S if room == 0 or store.has("have_met") else LONELY_WAIT_S
    until_s = time.monotonic() + min(wait_s, most_s)
    own = json.dumps([card.what, card.batches, card.buffers])
    store.set(f"{room}/in/{rank}", own)
    everybody = [f"{room}/in/{other}" for other in range(num_ranks)]
    pause = Pause()
    while not store.has(f"{room}/list"):
        if store.has(*everybody) or time.monotonic() >= until_s:
            there = [other for other in range(num_ranks) if store.has(everybody[other])]
            store.swap(f"{room}/list", "", json.dumps({other: store.get(everybody[other]).decode() for other in there}))
            break
        pause()
    table = {int(other): json.loads(text) for other, text in json.loads(store.get(f"{room}/list")).items()}
    _open_next(store, room)
    if table.get(rank) != json.loads(own):
        return "this rank came too late to share the points with the others"
    if len(table) == 1:
        return f"no other rank came within {min(wait_s, most_s):g} s to share the points"
    store.set("have_met", "1")
    known = {
        other: Card(what=what, batches=batches, buffers=buffers) for other, (what, batches, buffers) in table.items()
    }
    cards = {other: known[other] for other in sorted(known) if known[other].what == card.what}
    notes = []
    if others := [str(other) for other in sorted(table) if other not in cards]:
        notes.append(f"other weights or options than here: ranks {', '.join(others)}")
    if missing := [str(other) for other in range(num_ranks) if other not in table]:
        notes.append(f"did not come within {min(wait_s, most_s):g} s: ranks {', '.join(missing)}")
    if len(cards) == 1:
        return "; ".join(notes)
    return Party(rank=rank, cards=cards, store=store.below(f"{room}/{min(cards)}"), notes=tuple(notes))


def _open_room(store: JobStore) -> int:
    """The first room whose list is not made yet."""
    room = int(store.swap("room", "", "0"))
    while store.has(f"{room}/list"):
        room = _open_next(store, room)
    return room


def _open_next(store: JobStore, room: int) -> int:
    """Opens the next room, unless somebody has; gives the one that is open."""
    return int(store.swap("room", str(room), str(room + 1)))


__all__ = [
    "Card", "JobGoneError", "Party", "bits", "card_of", "check_collectives", "digest", "job", "meet",
]  # fmt: skip
