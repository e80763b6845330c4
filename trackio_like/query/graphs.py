"""Logged model graphs, as scripts read them: what each says of itself at once, the graph when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trackio_like.datatypes import MODEL_GRAPH
from trackio_like.datatypes.model_graph import decode
from trackio_like.model.graph import ModelGraph
from trackio_like.query.objects import read_objects
from trackio_like.store.faults import Faults
from trackio_like.store.media_files import media_file


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedGraph:
    """One logged model graph."""

    name: str
    step: int | None
    attempt: int
    """The start of the run that logged it; where two have the same step, the later one is meant."""
    time_us: int
    payload: dict[str, Any]
    """Class, fingerprint and numbers of the whole model, as docs/design/model_graph.md has them."""
    media: str
    """Path of its file relative to the run's folder."""
    run_folder: Path

    @property
    def meta(self) -> dict[str, Any]:
        """What the user logged with it."""
        return dict(self.payload.get("meta") or {})

    def load(self) -> ModelGraph:
        """Reads the graph.

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


def read_graphs(run_folder: Path, *, name: str | None = None, faults: Faults) -> list[LoggedGraph]:
    """A run's model graphs, as of now, in the order of the calls.

    Args:
        run_folder: the run's folder.
        name: only those of this name; None for all.
        faults: where skipped files are noted.
    """
    return list(_graphs(run_folder, name, faults))


def _graphs(run_folder: Path, name: str | None, faults: Faults) -> Iterator[LoggedGraph]:
    for item in read_objects(run_folder, types=(MODEL_GRAPH.name,), faults=faults):
        if name in (None, item.key) and item.media is not None and isinstance(item.payload, dict):
            yield LoggedGraph(
                name=item.key,
                step=item.step,
                attempt=item.attempt,
                time_us=item.time_us,
                payload=item.payload,
                media=item.media,
                run_folder=run_folder,
            )


__all__ = ["LoggedGraph", "read_graphs"]
