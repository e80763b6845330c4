"""Which earlier runs `init(resume=...)` may continue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trackio_like.query.index import ProjectIndex
from trackio_like.query.run_index import RunIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """Where a run stands."""

    run_id: str
    name: str
    group: str | None
    tags: tuple[str, ...]
    config: dict[str, Any]
    last_step: int | None
    """The newest attempt's last step; None where nothing was logged."""
    num_attempts: int
    state: str


def find_runs(root: Path, project: str, *, name: str | None = None, run_id: str | None = None) -> list[ResumePoint]:
    """The runs that fit, newest first; deleted ones are left out.

    Args:
        root: folder of all projects; need not exist.
        project: the project's name.
        name: only runs of this name; None for any.
        run_id: only the run of this id; None for any.
    """
    index = ProjectIndex(root, project, only_run=run_id)
    index.refresh()
    found = [run for run in index.runs() if name is None or run.name == name]
    return [_point(run) for run in reversed(found)]


def _point(run: RunIndex) -> ResumePoint:
    description = run.description
    return ResumePoint(
        run_id=run.run_id,
        name=run.name,
        group=description.group,
        tags=description.tags,
        config=dict(description.config),
        last_step=run.last_step,
        num_attempts=len(description.attempts),
        state=description.state,
    )


__all__ = ["ResumePoint", "find_runs"]
