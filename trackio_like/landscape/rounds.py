"""One list of points, while the ranks of a job measure it: who takes a ticket from the store writes its losses there.

Keys of round r, all numbers little-endian: `r` its points, `r/t` how many tickets are taken, `r/z/i` the losses of
ticket i.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from trackio_like.landscape.errors import TimeIsUpError
from trackio_like.landscape.evaluator import Point
from trackio_like.landscape.job_store import JobGoneError, JobStore, Pause
from trackio_like.landscape.measuring import LocalSource, Stored
from trackio_like.landscape.nested import Cells
from trackio_like.landscape.tune import Choice

_TICKET_S: Final = 0.05
"""What a ticket's points are to take: asking the store for it must be nothing beside that."""
_TICKETS_PER_RANK: Final = 8
"""At least so many of a round, where its points are enough: else all wait for the last one."""
_PATIENCE_S: Final = 1.0
_PATIENCE_TICKETS: Final = 3
"""A ticket that others hold is measured here after this, and so many times what one takes here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tickets:
    """The points of a round, and how many of them a ticket is for."""

    points: Sequence[Point]
    size: int

    @property
    def num(self) -> int:
        """How many there are."""
        return -(-len(self.points) // self.size)

    def of(self, ticket: int) -> list[tuple[int, Point]]:
        """The points of a ticket with their numbers; none beyond the last ticket."""
        first = ticket * self.size
        return list(enumerate(self.points[first : first + self.size], start=first))

    def packed(self) -> bytes:
        """As they are in the store."""
        return struct.pack("<q", self.size) + np.asarray(self.points, dtype="<f8").tobytes()

    @staticmethod
    def unpacked(data: bytes) -> Tickets:
        """What `packed` gave."""
        (size,) = struct.unpack_from("<q", data)
        points_P2 = np.frombuffer(data, dtype="<f8", offset=8).reshape(-1, 2)
        return Tickets(points=[(x, y) for x, y in points_P2.tolist()], size=size)


class Round:
    """In the rank that leads: the points of one list, while they are measured."""

    def __init__(
        self,
        local: LocalSource,
        store: JobStore,
        number: int,
        tickets: Tickets,
        stored: Stored,
        *,
        rank: int,
        points_of: dict[int, int],
    ) -> None:
        """Measures nothing yet.

        Args:
            local: this rank.
            store: of those who work together.
            number: of the round.
            tickets: its points.
            stored: takes each loss as soon as it is known.
            rank: this one.
            points_of: counts how many points each rank has measured.
        """
        self.local = local
        self.store = store
        self.rank = rank
        self.key = str(number)
        self.tickets = tickets
        self.stored = stored
        self.points_of = points_of
        self.left = dict.fromkeys(range(len(tickets.points)))
        self.elsewhere: dict[int, None] = {}
        """Tickets that others have taken, and have not answered."""
        self.last = -1
        self.began_s: float | None = None
        self.longest_s = tickets.size * _seconds(local.choice)
        self.gone: JobGoneError | None = None

    def run(self) -> None:
        """Measures here and elsewhere; what is left then is for `rest`.

        Raises:
            JobGoneError: the store is gone.
            TimeIsUpError: the time is up.
        """
        self.store.set(self.key, self.tickets.packed())
        try:
            self.local.measure_taken(self._take, self._own)
            if self.gone is not None:
                raise self.gone
            self._await_others()
        except TimeIsUpError:
            self._collect()
            raise

    def _await_others(self) -> None:
        since_s, pause = time.monotonic(), Pause()
        while self.elsewhere:
            if self.local.deadline_s is not None and time.monotonic() >= self.local.deadline_s:
                raise TimeIsUpError
            if self._collect():
                since_s, pause = time.monotonic(), Pause()
            elif time.monotonic() - since_s > _PATIENCE_S + _PATIENCE_TICKETS * self.longest_s:
                num = sum(len(self.tickets.of(ticket)) for ticket in self.elsewhere)
                self.local.choice.notes.append(f"{num} points that other ranks did not answer were measured here")
                return
            else:
                pause()

    def rest(self) -> None:
        """Measures here what nobody has."""
        numbers = list(self.left)
        points = [self.tickets.points[number] for number in numbers]
        self.local.measure(points, lambda i, loss: self._own(numbers[i], loss))

    def _take(self, _: int) -> Sequence[tuple[int, Point]]:
        now_s = time.monotonic()
        self.longest_s = max(self.longest_s, 0.0 if self.began_s is None else now_s - self.began_s)
        self.began_s = now_s
        try:
            self._collect()
            ticket = min(self.store.add(f"{self.key}/t", 1) - 1, self.tickets.num)
        except JobGoneError as error:
            self.gone = error
            return []
        self.elsewhere |= dict.fromkeys(range(self.last + 1, ticket))
        self.last = ticket
        return self.tickets.of(ticket)

    def _collect(self) -> bool:
        """Takes the answers that are there; says whether there were any."""
        found = [ticket for ticket in self.elsewhere if self.store.has(f"{self.key}/z/{ticket}")]
        for ticket in found:
            data = self.store.get(f"{self.key}/z/{ticket}")
            rank, *losses = struct.unpack(f"<q{len(data) // 8 - 1}d", data)
            for (number, _), loss in zip(self.tickets.of(ticket), losses, strict=True):
                self._keep(number, loss, rank)
            del self.elsewhere[ticket]
        return bool(found)

    def _own(self, number: int, loss: float) -> None:
        self._keep(number, loss, self.rank)

    def _keep(self, number: int, loss: float, rank: int) -> None:
        if number in self.left:
            del self.left[number]
            self.points_of[rank] = self.points_of.get(rank, 0) + 1
            self.stored(number, loss)


def cut(points: Sequence[Point], choice: Choice, *, num_ranks: int) -> Tickets:
    """Points as tickets that take long enough to be worth asking for, and are enough for all.

    Args:
        points: of a round.
        choice: how they are measured, and what that takes.
        num_ranks: who takes them.
    """
    wanted = max(choice.way.chunk, round(_TICKET_S / _seconds(choice)))
    parts = num_ranks * (_TICKETS_PER_RANK if choice.way.chunk == 1 else 1)
    return Tickets(points=points, size=max(1, min(wanted, -(-len(points) // parts))))


def _seconds(choice: Choice) -> float:
    """What a point takes."""
    return max(choice.seconds_per_point.get(choice.way.mode, _TICKET_S), 1e-6)


def take_part(store: JobStore, number: int, local: LocalSource, cells: Cells, *, rank: int) -> None:
    """Measures tickets of a round that another rank leads.

    Args:
        store: of those who work together.
        number: of the round.
        local: this rank.
        cells: get the losses too.
        rank: this one.

    Raises:
        JobGoneError: the store is gone.
        TimeIsUpError: the time of this rank is up.
    """
    key = str(number)
    tickets = Tickets.unpacked(store.get(key))
    cell_of = _cell_finder(cells)
    gone: list[JobGoneError] = []
    held = -1
    losses: list[float] = []

    def take(_: int) -> Sequence[tuple[int, Point]]:
        nonlocal held
        try:
            held = store.add(f"{key}/t", 1) - 1
        except JobGoneError as error:
            gone.append(error)
            return []
        losses.clear()
        return tickets.of(held)

    def stored(number: int, loss: float) -> None:
        losses.append(loss)
        cell = cell_of(tickets.points[number])
        if cell is not None:
            cells.store(cell, loss)
        if len(losses) == len(tickets.of(held)):
            try:
                store.set(f"{key}/z/{held}", struct.pack(f"<q{len(losses)}d", rank, *losses))
            except JobGoneError as error:
                gone.append(error)

    local.measure_taken(take, stored)
    if gone:
        raise gone[0]


def _cell_finder(cells: Cells) -> Callable[[Point], tuple[int, int] | None]:
    cols = {float(x): col for col, x in enumerate(cells.x_C)}
    rows = {float(y): row for row, y in enumerate(cells.y_R)}

    def find(point: Point) -> tuple[int, int] | None:
        row, col = rows.get(point[1]), cols.get(point[0])
        return None if row is None or col is None else (row, col)

    return find


__all__ = ["Round", "Tickets", "cut", "take_part"]
