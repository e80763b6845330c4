"""Everything that trackio_like raises or warns with."""

from __future__ import annotations


class TrackioLikeError(Exception):
    """Root of the errors that trackio_like raises."""


class TrackioLikeWarning(UserWarning):
    """What happened to a value or a file, what is safe, and what to do; never more than once per cause."""


class RunNotFoundError(TrackioLikeError, ValueError):
    """No run of that name or id is in the project."""


class ProjectNotFoundError(TrackioLikeError, ValueError):
    """No project of that name is in the root."""


class DamagedFileError(TrackioLikeError, ValueError):
    """A file is not what its name says."""


__all__ = [
    "DamagedFileError",
    "ProjectNotFoundError",
    "RunNotFoundError",
    "TrackioLikeError",
    "TrackioLikeWarning",
]
