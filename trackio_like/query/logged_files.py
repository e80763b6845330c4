"""Logged values that have a file, as scripts read them: what each says of itself at once, the whole when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from trackio_like.datatypes import LOSS_LANDSCAPE, MODEL_GRAPH, DataType, landscape, model_graph
from trackio_like.landscape.result import LossLandscape
from trackio_like.model.graph import ModelGraph
from trackio_like.query.objects import read_objects
from trackio_like.store.faults import Faults
from trackio_like.store.media_files import media_file


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedFile:
    """One logged value; its kinds say what its file holds."""

    name: str
    step: int | None
    attempt: int
    """The start of the run that logged it; where two have the same step, the later one is meant."""
    time_us: int
    payload: dict[str, Any]
    """What it says of itself, as the design note of its type has it."""
    media: str
    """Path of its file relative to the run's folder."""
    run_folder: Path

    @property
    def meta(self) -> dict[str, Any]:
        """How it was made, and what the user logged with it."""
        return dict(self.payload.get("meta") or {})

    def read_bytes(self) -> bytes:
        """Its file.

        Raises:
            FileNotFoundError: it is not here: a copy is under way, or it was never sent.
        """
        path = media_file(self.run_folder, self.media)
        if path is None:
            raise FileNotFoundError(
                f"The file of {self.name!r} at step {self.step} is not here. Where this is a copy, it may still come: "
                f"ask again. Its place: {self.run_folder / self.media}"
            )
        return path.read_bytes()


class LoggedLandscape(LoggedFile):
    """One logged loss landscape."""

    __slots__ = ()

    def load(self) -> LossLandscape:
        """Reads its cells.

        Raises:
            FileNotFoundError: its file is not here.
            ValueError: the file is damaged, or a newer version wrote it.
        """
        return landscape.decode(self.payload, self.read_bytes())


class LoggedGraph(LoggedFile):
    """One logged model graph."""

    __slots__ = ()

    def load(self) -> ModelGraph:
        """Reads the graph.

        Raises:
            FileNotFoundError: its file is not here.
            ValueError: the file is damaged, or a newer version wrote it.
        """
        return model_graph.decode(self.payload, self.read_bytes())


Logged = TypeVar("Logged", bound=LoggedFile)


def read_landscapes(run_folder: Path, *, name: str | None = None, faults: Faults) -> list[LoggedLandscape]:
    """A run's landscapes, as of now, in the order of the calls.

    Args:
        run_folder: the run's folder.
        name: only those of this name; None for all.
        faults: where skipped files are noted.
    """
    return list(_read(LoggedLandscape, LOSS_LANDSCAPE, run_folder, name, faults))


def read_graphs(run_folder: Path, *, name: str | None = None, faults: Faults) -> list[LoggedGraph]:
    """A run's model graphs, as of now, in the order of the calls.

    Args:
        run_folder: the run's folder.
        name: only those of this name; None for all.
        faults: where skipped files are noted.
    """
    return list(_read(LoggedGraph, MODEL_GRAPH, run_folder, name, faults))


def _read(kind: type[Logged], of: DataType, run_folder: Path, name: str | None, faults: Faults) -> Iterator[Logged]:
    for item in read_objects(run_folder, types=(of.name,), faults=faults):
        if name in (None, item.key) and item.media is not None and isinstance(item.payload, dict):
            yield kind(
                name=item.key,
                step=item.step,
                attempt=item.attempt,
                time_us=item.time_us,
                payload=item.payload,
                media=item.media,
                run_folder=run_folder,
            )


__all__ = ["LoggedFile", "LoggedGraph", "LoggedLandscape", "read_graphs", "read_landscapes"]
