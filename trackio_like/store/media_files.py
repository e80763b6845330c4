"""Where the file of an object row lies: within its run's folder, or nowhere."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from trackio_like.format.names import MEDIA_FOLDER


def media_file(run_folder: Path, media: str) -> Path | None:
    """The file that a row names.

    Args:
        run_folder: the run's folder.
        media: the path that the row has; whoever wrote the row chose it.

    Returns:
        None where there is no such file, or it is not the run's own.
    """
    path = PurePosixPath(media)
    if path.is_absolute() or ".." in path.parts or path.parts[:1] != (MEDIA_FOLDER,) or "\0" in media or "\\" in media:
        return None
    file = run_folder / path
    try:
        # A link may lead anywhere on this machine, and what is shown may be public.
        if not file.is_file() or not file.resolve().is_relative_to(run_folder.resolve()):
            return None
    except (OSError, ValueError):
        return None  # such as a name that is too long
    return file


__all__ = ["media_file"]
