"""The ranks of a `torch.distributed` job measure one surface together, each on its own device.

The lowest rank leads: it gives its batches and its way of evaluating to the others, plans which points are measured,
and hands out what came of it. Points are taken by tickets from the job's store, so a slow rank takes fewer; those of
a rank that has died are measured by the one that leads. Whoever is left without a leader goes on alone.
"""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from trackio_like.landscape.batches import Batches, mapped
from trackio_like.landscape.errors import TimeIsUpError
from trackio_like.landscape.evaluator import Point
from trackio_like.landscape.job_store import Beating, Heard, JobGoneError, Pause
from trackio_like.landscape.measuring import LocalSource, Source, Stored
from trackio_like.landscape.meeting import Party, bits, card_of, check_collectives, digest, job, meet
from trackio_like.landscape.nested import Cells
from trackio_like.landscape.options import Options
from trackio_like.landscape.plane import Plane
from trackio_like.landscape.rounds import Round, cut, take_part
from trackio_like.landscape.tune import Choice
from trackio_like.landscape.weights import Weight
from trackio_like.module_state.keeping import surely

if TYPE_CHECKING:
    import torch
    from torch import nn

_FAREWELL_S: Final = 2.0
"""How long the rank that leads stays for the others to fetch the result: it may hold the store."""

_TOLD: Final = ("loss_at_center", "error_estimate", "stopped", "ranks", "points_per_rank")
"""What only the rank that leads knows of a landscape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What came of a landscape."""

    cells: Cells
    meta: dict[str, Any]
    """What only the rank that leads knows."""


class Team:
    """This rank, with those that share its landscape; alone where there are none."""

    def __init__(self, batches: Batches, *, notes: Sequence[str] = ()) -> None:
        """Is alone.

        Args:
            batches: the data.
            notes: why.
        """
        self.batches = batches
        self.notes: list[str] = list(notes)
        self.meta: dict[str, Any] = {}
        self._party: Party | None = None
        self._beating: Beating | None = None
        self._heard: Heard | None = None
        self._local: LocalSource | None = None
        self._num_rounds = 0
        self._buffers: list[torch.Tensor] | None = None
        self._points_of: dict[int, int] = {}
        self._is_over = False

    @property
    def is_shared(self) -> bool:
        """Whether other ranks take part."""
        return self._party is not None

    @property
    def leads(self) -> bool:
        """Whether this rank plans: also where it is alone."""
        return self._party is None or self._party.rank == self._party.leader

    # -- before ----------------------------------------------------------------------------------------------------

    @classmethod
    def gather(cls, model: nn.Module, batches: Batches, options: Options) -> Team:
        """Waits a few seconds for the other ranks of the job, if there is one.

        Args:
            model: unwrapped.
            batches: of this rank.
            options: of this rank.

        Raises:
            LandscapeError: points cannot be measured without the other ranks.
        """
        team = cls(batches)
        found = job()
        if found is None:
            return team
        check_collectives(model, options)
        store, rank, num_ranks = found
        team.meta["ranks"] = 1
        started_s = time.monotonic()
        most_s = float("inf") if options.time_limit_s is None else options.time_limit_s / 4
        try:
            card = card_of(model, options, batches.sha256)
            party = meet(store, rank=rank, num_ranks=num_ranks, card=card, most_s=most_s)
            team.meta["waited_s"] = round(time.monotonic() - started_s, 3)
            if isinstance(party, str):
                team.notes.append(party)
            else:
                team._join(party, model)
        except JobGoneError as error:
            team._leave(error)
        except BaseException:
            team.end()
            raise
        return team

    def _join(self, party: Party, model: nn.Module) -> None:
        self._party = party
        self.notes += party.notes
        self.meta["ranks"] = len(party.cards)
        first, *others = party.cards.values()
        sends_batches = any(card.batches != first.batches for card in others)
        sends_buffers = any(card.buffers != first.buffers for card in others)
        if self.leads:
            self._beating = Beating(party.store)
            self._beating.start()
            if sends_batches or sends_buffers:
                items = mapped(list(self.batches.items), lambda tensor: tensor.cpu()) if sends_batches else None
                buffers = [buffer.detach().cpu() for buffer in model.buffers()] if sends_buffers else None
                party.store.send("data", {"items": items, "buffers": buffers})
            return
        self._heard = Heard(party.store)
        if sends_batches or sends_buffers:
            data = party.store.receive("data", self._heard)
            if data["items"] is not None:
                self.batches = Batches(items=tuple(data["items"]), sha256=first.batches)
            self._buffers = data["buffers"]

    @contextmanager
    def buffers_shared(self, model: nn.Module) -> Iterator[None]:
        """Gives the model the buffers of the rank that leads, such as running statistics, and its own ones back."""
        if self._buffers is None:
            yield
            return
        own = [buffer.detach().clone() for buffer in model.buffers()]
        try:
            _write(model, self._buffers)
            yield
        finally:
            surely(lambda: _write(model, own))

    def plane(self, make: Callable[[], Plane], weights: Sequence[Weight], *, is_computed: bool) -> Plane:
        """The plane; where it is computed of losses or checkpoints, that of the rank that leads.

        Args:
            make: makes it here.
            weights: what moves, in this rank.
            is_computed: whether another rank could get another one, in its last digits.
        """
        if self._party is None or not is_computed:
            return make()
        if not self.leads:
            try:
                plane, names = self._received("plane")
                by_name = {weight.name: weight for weight in weights}
                found: Plane = replace(plane, weights=tuple(by_name[name] for name in names))
                return found
            except JobGoneError as error:
                self._leave(error)
                return make()
        plane = make()
        with self._tolerant() as party:
            party.store.send("plane", (replace(plane, weights=()), [weight.name for weight in plane.weights]))
        return plane

    def choose(self, make: Callable[[], Choice], plane: Plane, cells: Cells) -> Choice:
        """The way of evaluating: that of the rank that leads, so that all get the same losses.

        Args:
            make: tries ways, and chooses.
            plane: of this rank; where it is another one than that of the rank that leads, this rank works alone.
            cells: its grid.
        """
        if self._party is None:
            return self._noted(make())
        own = plane_digest(plane, cells)
        if not self.leads:
            try:
                choice: Choice
                choice, others = self._received("way")
                if others != own:
                    raise JobGoneError("this rank found other directions than the one that leads, and works alone")
                return self._noted(choice)
            except JobGoneError as error:
                self._leave(error)
                return self._noted(make())
        choice = make()
        with self._tolerant() as party:
            party.store.send("way", (replace(choice, notes=list(choice.notes)), own))
        return self._noted(choice)

    def _received(self, key: str) -> Any:
        assert self._party is not None
        assert self._heard is not None
        return self._party.store.receive(key, self._heard)

    def _noted(self, choice: Choice) -> Choice:
        """Notes of the team and of the way are one list from now on."""
        choice.notes += self.notes
        self.notes = choice.notes
        return choice

    # -- the rank that leads -----------------------------------------------------------------------------------------

    def source(self, local: LocalSource) -> Source:
        """All ranks as one source, for the one that leads.

        Args:
            local: this rank.
        """
        self._local = local
        return self

    def measure(self, points: Sequence[Point], stored: Stored) -> None:
        """Hands over each loss as soon as it is known; see `Source`."""
        local, party = self._local, self._party
        assert local is not None
        if party is None or len(points) < 2:
            local.measure(points, stored)
            if party is not None:
                self._points_of[party.rank] = self._points_of.get(party.rank, 0) + len(points)
            return
        tickets = cut(points, local.choice, num_ranks=len(party.cards))
        round_ = Round(
            local, party.store, self._num_rounds, tickets, stored, rank=party.rank, points_of=self._points_of
        )
        self._num_rounds += 1
        with self._tolerant():
            round_.run()
        round_.rest()

    def finish(self, cells: Cells, meta: dict[str, Any]) -> None:
        """Tells the others what came of it.

        Args:
            cells: measured, as far as there was time.
            meta: what is told of the landscape; gets what the ranks did.
        """
        if self._points_of:
            self.meta["points_per_rank"] = {str(rank): num for rank, num in sorted(self._points_of.items())}
        told = {key: meta[key] for key in _TOLD if key in meta}
        self.end(Ending(cells=cells, meta=told | {key: self.meta[key] for key in _TOLD if key in self.meta}))

    def end(self, ending: Ending | None = None) -> None:
        """Takes leave; for all ranks, also where it failed. Idempotent.

        Args:
            ending: what came of it; None where this rank does not lead, or has nothing to tell.
        """
        party, beating = self._party, self._beating
        if self._is_over:
            return
        self._is_over = True
        try:
            if party is not None:
                with self._tolerant():
                    self._take_leave(party, ending)
        finally:
            if beating is not None:
                beating.stop()

    def _take_leave(self, party: Party, ending: Ending | None) -> None:
        store = party.store
        if not self.leads:
            store.forget()
            store.add("left", 1)
            return
        store.set("end", pickle.dumps(ending))
        until_s, pause = time.monotonic() + _FAREWELL_S, Pause()
        while store.add("left", 0) < len(party.cards) - 1:
            if time.monotonic() > until_s:
                return  # whoever is late still finds the end
            pause()
        if self._beating is not None:
            self._beating.stop()
        store.forget()

    # -- the other ranks -----------------------------------------------------------------------------------------------

    def follow(self, local: LocalSource, cells: Cells) -> Ending | None:
        """Measures what the rank that leads wants measured, until it says what came of it.

        Args:
            local: this rank.
            cells: get what this rank measures, which is not lost where the one that leads is.

        Returns:
            The result; None where this rank leads, or has to go on alone.
        """
        if self.leads:
            return None
        try:
            return self._follow(local, cells)
        except JobGoneError as error:
            self._leave(error)
            return None

    def _follow(self, local: LocalSource, cells: Cells) -> Ending:
        assert self._party is not None
        assert self._heard is not None
        store, pause, is_late = self._party.store, Pause(), False
        while not store.has("end"):
            self._heard.check()
            if not is_late and store.has(str(self._num_rounds)):
                try:
                    take_part(store, self._num_rounds, local, cells, rank=self._party.rank)
                except TimeIsUpError:
                    is_late = True  # the rank that leads has the same limit, and what all have measured
                self._num_rounds += 1
                pause = Pause()
            else:
                pause()
        # From a rank of the same job, as in `JobStore.receive`.
        ending: Ending | None = pickle.loads(store.get("end"))  # noqa: S301
        if ending is None:
            raise JobGoneError("the rank that leads failed")
        return ending

    # -- both --------------------------------------------------------------------------------------------------------

    def _leave(self, error: JobGoneError) -> None:
        """Goes on alone."""
        self.notes.append(str(error))
        self.meta["ranks"] = 1
        party, self._party = self._party, None
        if self._beating is not None:
            self._beating.stop()
        if party is not None and self._beating is None:
            with contextlib.suppress(JobGoneError):
                party.store.add("left", 1)

    @contextmanager
    def _tolerant(self) -> Iterator[Party]:
        """The work of this rank does not end with the job's store."""
        assert self._party is not None
        try:
            yield self._party
        except JobGoneError as error:
            self._leave(error)


def _write(model: nn.Module, buffers: Sequence[torch.Tensor]) -> None:
    for buffer, value in zip(model.buffers(), buffers, strict=True):
        buffer.data.copy_(value)


def plane_digest(plane: Plane, cells: Cells) -> str:
    """What ranks must agree about: the grid, and where its axes lead."""
    about = [cells.x_C.tobytes().hex(), cells.y_R.tobytes().hex()]
    for axis in (plane.x, plane.y):
        about += [type(axis).__name__, axis.label, str(getattr(axis, "seed", ""))]
        tensors = getattr(axis, "tensors", {})
        about += [f"{weight.name}: {bits(tensors[weight.name])}" for weight in plane.weights if weight.name in tensors]
    return digest(about)


__all__ = ["Ending", "Team", "plane_digest"]
