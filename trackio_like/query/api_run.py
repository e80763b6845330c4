"""One run, as scripts read it: descriptions, rows and curves, and the changes that people make."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trackio_like.query.drawn import DrawnSeries, joined, whole_series
from trackio_like.query.fold import UNKNOWN
from trackio_like.query.history import read_history
from trackio_like.query.logged_files import LoggedGraph, LoggedLandscape, read_graphs, read_landscapes
from trackio_like.query.objects import LoggedObject, read_objects
from trackio_like.query.panels import MAX_BUCKETS, PanelQuery, curves
from trackio_like.query.records import Alert, Attempt, Definition, Event, RunDescription
from trackio_like.store.changes import Change

if TYPE_CHECKING:
    import pyarrow as pa

    from trackio_like.query.api import Api


class ApiRun:
    """One run; every property tells how it stands now."""

    def __init__(self, api: Api, project: str, run_id: str) -> None:
        """Made by `Api`."""
        self._api = api
        self.project = project
        self.id = run_id

    def __repr__(self) -> str:
        return f"<run {self.name!r} ({self.state}) of {self.project!r}, id {self.id!r}>"

    def _description(self) -> RunDescription:
        return self._api.ask(self.project, self.id, lambda _, run: run.description)

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self._api.ask(self.project, self.id, lambda _, run: run.path)

    @property
    def name(self) -> str:
        """The run's name; its id where it has none."""
        return self._api.ask(self.project, self.id, lambda _, run: run.name)

    @property
    def group(self) -> str | None:
        """The group that the run belongs to."""
        return self._description().group

    @property
    def tags(self) -> tuple[str, ...]:
        """The run's tags."""
        return self._description().tags

    @property
    def state(self) -> str:
        """running, finished, failed, terminated, crashed, or the word that `finish` was given."""
        return self._description().state or UNKNOWN

    @property
    def config(self) -> dict[str, Any]:
        """The configuration, of all attempts together."""
        return dict(self._description().config)

    @property
    def summary(self) -> dict[str, float | int]:
        """The last value of each metric."""
        return self._api.ask(self.project, self.id, lambda _, run: run.summaries["metrics"].last_values())

    @property
    def created_at(self) -> datetime | None:
        """When it began, in UTC."""
        return _moment(self._description().created_us)

    @property
    def finished_at(self) -> datetime | None:
        """When it ended, in UTC; None while it runs."""
        return _moment(self._description().finished_us)

    @property
    def num_rows(self) -> int:
        """How many metric rows it has: as many as `history()`."""
        return self._api.ask(self.project, self.id, lambda _, run: run.summaries["metrics"].num_rows)

    @property
    def last_step(self) -> int | None:
        """The newest attempt's last step."""
        return self._api.ask(self.project, self.id, lambda _, run: run.last_step)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The run's starts and ends: one, and one more for each resume."""
        return self._description().attempts

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """What `alert` recorded, oldest first."""
        return self._description().alerts

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What `define_metric` recorded."""
        return self._description().definitions

    @property
    def metadata(self) -> dict[str, Any]:
        """Where and how it was started: host, command, versions."""
        return dict(self._description().metadata)

    def events(self) -> list[Event]:
        """Everything that happened to the run, in the order of time, writer and call."""
        return self._api.ask(
            self.project, self.id, lambda _, run: sorted(run.events, key=lambda e: (e.time_us, e.writer, e.seq))
        )

    def history(self, keys: str | Iterable[str] | None = None) -> pa.Table:
        """Every metric row, once, in the order of the calls.

        Args:
            keys: one key or several; None for all.

        Returns:
            Columns writer, seq, attempt, step, time, key, value, value_int. `value_int` is the exact integer where a
            double cannot hold it, else null. Rows of one call are in the order of their keys.
        """
        return read_history(self.path, "metrics", keys=_key_list(keys), faults=self._faults())

    def system(self, keys: str | Iterable[str] | None = None) -> pa.Table:
        """Every row of system metrics: columns and order as `history`; step is null."""
        return read_history(self.path, "system", keys=_key_list(keys), faults=self._faults())

    def objects(self, key: str | None = None) -> list[LoggedObject]:
        """Every logged value that is not a number, in the order of the calls."""
        found = read_objects(self.path, faults=self._faults())
        return [item for item in found if key is None or item.key == key]

    def texts(self, key: str | None = None) -> list[LoggedObject]:
        """Every logged text, in the order of the calls."""
        found = read_objects(self.path, types=("text",), faults=self._faults())
        return [item for item in found if key is None or item.key == key]

    def landscapes(self, name: str | None = None) -> list[LoggedLandscape]:
        """Every logged loss landscape, in the order of the calls; `load()` of one reads its cells."""
        return read_landscapes(self.path, name=name, faults=self._faults())

    def graphs(self, name: str | None = None) -> list[LoggedGraph]:
        """Every logged model graph, in the order of the calls; `load()` of one reads its modules."""
        return read_graphs(self.path, name=name, faults=self._faults())

    def series(self, key: str, max_points: int | None = None) -> DrawnSeries:
        """Steps and values of a metric as they are drawn: sorted by step, the newest attempt where several overlap.

        Args:
            key: the metric.
            max_points: down-sample to about so many points, keeping the extremes; None for all.

        Returns:
            The points; none where the run does not have the key. Several writers follow one another.

        Raises:
            ValueError: max_points is below 2.
        """
        if max_points is not None and max_points < 2:
            raise ValueError(f"max_points={max_points} is too few; ask for at least 2, or None for all.")
        if max_points is None:
            return self._api.ask(self.project, self.id, lambda index, run: whole_series(index, run, key))
        buckets = min(max_points // 2, MAX_BUCKETS)
        query = PanelQuery(key=key, run_ids=(self.id,), num_buckets=buckets)
        found = self._api.ask(self.project, self.id, lambda index, _: curves(index, query))
        return DrawnSeries(x=joined([curve.x_K for curve in found]), y=joined([curve.y_K for curve in found]))

    def rename(self, name: str) -> None:
        """Gives the run another name; works while it is running, and from any process.

        Raises:
            ValueError: the name is empty or too long.
            OSError: the disk refuses.
        """
        self._change("rename", {"name": name})

    def set_tags(self, tags: Iterable[str]) -> None:
        """Replaces the run's tags.

        Raises:
            ValueError: they are too many, or one is empty or too long.
            OSError: the disk refuses.
        """
        self._change("tags", {"tags": [tags] if isinstance(tags, str) else list(tags)})

    def set_group(self, group: str | None) -> None:
        """Puts the run into a group, or with None into no group.

        Raises:
            ValueError: the group is empty or too long.
            OSError: the disk refuses.
        """
        self._change("group", {"group": group})

    def delete(self) -> None:
        """Deletes the run: it is no longer shown, and can be restored until it is purged.

        Raises:
            OSError: the disk refuses.
        """
        self._change("delete", {})

    def restore(self) -> None:
        """Brings the run back after `delete`.

        Raises:
            OSError: the disk refuses.
        """
        self._change("restore", {})

    def _change(self, type_: str, payload: dict[str, Any]) -> None:
        self._api.change(self.project, self.id, Change.parse(type_, payload))

    def _faults(self) -> Any:
        return self._api.ask(self.project, self.id, lambda index, _: index.faults)


def _key_list(keys: str | Iterable[str] | None) -> list[str] | None:
    if keys is None:
        return None
    wanted = [keys] if isinstance(keys, str) else list(keys)
    return [key for key in wanted if _is_text(key)]


def _is_text(key: str) -> bool:
    """Whether it can be a key at all: UTF-8 has no half surrogates, and DuckDB refuses them."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _moment(time_us: int | None) -> datetime | None:
    # Not fromtimestamp: a float of seconds is not exact to the microsecond.
    return None if time_us is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)


__all__ = ["ApiRun"]
