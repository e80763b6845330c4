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


class RemoteError(TrackioLikeError):
    """The Hub or a server did not do what it was asked; the message names the remote, never a token."""


class RemoteUnavailableError(RemoteError):
    """No answer, a server's fault, or too many requests: worth asking again later."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds that the remote asked to wait; None where it named no time."""


class RemoteRefusedError(RemoteError):
    """The token is missing, wrong, expired, or may not do this: asking again needs another token."""


class RemoteMissingError(RemoteError):
    """There is no such bucket, repository, Space or file, or this token may not see it."""


class RemotePaymentError(RemoteError):
    """The account's plan does not include this (402)."""


class RemoteConflictError(RemoteError):
    """Somebody else changed it at the same time, or holds the name: build the request anew."""


class RemoteInvalidError(RemoteError):
    """The remote refuses what was sent and would refuse it again (400, 413, 422)."""


__all__ = [
    "DamagedFileError",
    "ProjectNotFoundError",
    "RemoteConflictError",
    "RemoteError",
    "RemoteInvalidError",
    "RemoteMissingError",
    "RemotePaymentError",
    "RemoteRefusedError",
    "RemoteUnavailableError",
    "RunNotFoundError",
    "TrackioLikeError",
    "TrackioLikeWarning",
]
