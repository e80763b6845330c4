"""Logged loss landscapes, as scripts read them: what each says of itself at once, its cells when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trackio_like.datatypes import LOSS_LANDSCAPE
from trackio_like.datatypes.landscape import decode
from trackio_like.landscape.result import LossLandscape
from trackio_like.query.objects import read_objects
from trackio_like.store.faults import Faults
from trackio_like.store.media_files import media_file


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedLandscape:
    """One logged loss landscape."""

    name: str
    step: int | None
    attempt: int
    """The start of the run that logged it; where two have the same step, the later one is meant."""
    time_us: int
    payload: dict[str, Any]
    """Size, ranges, labels and `meta`, as docs/design/landscape.md has them."""
    media: str
    """Path of its file relative to the run's folder."""
    run_folder: Path

    @property
    def meta(self) -> dict[str, Any]:
        """How it was evaluated."""
        return dict(self.payload.get("meta") or {})

    def load(self) -> LossLandscape:
        """Reads its cells.

        Raises:
            FileNotFoundError: its file is not here: a copy is under way, or it was never sent.
            ValueError: the file is damaged, or a newer version wrote it.
        """
        path = media_file(self.run_folder, self.media)
        if path is None:
            raise FileNotFoundError(
                f"The file of {self.name!r} at step {self.step} is not here. Where this is a copy, it may still come: "
                f"ask again. Its place: {self.run_folder / self.media}"
            )
        return decode(self.payload, path.read_bytes())


def read_landscapes(run_folder: Path, *, name: str | None = None, faults: Faults) -> list[LoggedLandscape]:
    """A run's landscapes, as of now, in the order of the calls.

    Args:
        run_folder: the run's folder.
        name: only those of this name; None for all.
        faults: where skipped files are noted.
    """
    return list(_landscapes(run_folder, name, faults))


def _landscapes(run_folder: Path, name: str | None, faults: Faults) -> Iterator[LoggedLandscape]:
    for item in read_objects(run_folder, types=(LOSS_LANDSCAPE.name,), faults=faults):
        if name in (None, item.key) and item.media is not None and isinstance(item.payload, dict):
            yield LoggedLandscape(
                name=item.key,
                step=item.step,
                attempt=item.attempt,
                time_us=item.time_us,
                payload=item.payload,
                media=item.media,
                run_folder=run_folder,
            )


__all__ = ["LoggedLandscape", "read_landscapes"]
