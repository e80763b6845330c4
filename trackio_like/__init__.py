"""trackio_like: an experiment tracker for people who train models.

>>> import trackio_like as trackio
>>> run = trackio.init(project="my_project", config={"lr": 0.1})
>>> trackio.log({"loss": 0.5})
>>> trackio.finish()
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from trackio_like._version import __version__
from trackio_like.errors import (
    ProjectNotFoundError,
    RemoteError,
    RunNotFoundError,
    TrackioLikeError,
    TrackioLikeWarning,
)
from trackio_like.tracking import (
    Run,
    Tracker,
    alert,
    current_config,
    define_metric,
    finish,
    init,
    log,
    log_loss_landscape,
    log_model,
    log_system,
)

if TYPE_CHECKING:
    from trackio_like._deploy import deploy
    from trackio_like._freeze import freeze
    from trackio_like._show import show
    from trackio_like._sync import sync
    from trackio_like.query.api import Api
    from trackio_like.query.changes import delete_project
    from trackio_like.run.config import Config

    config: Config

__all__ = [
    "Api",
    "ProjectNotFoundError",
    "RemoteError",
    "Run",
    "RunNotFoundError",
    "Tracker",
    "TrackioLikeError",
    "TrackioLikeWarning",
    "__version__",
    "alert",
    "config",
    "define_metric",
    "delete_project",
    "deploy",
    "finish",
    "freeze",
    "init",
    "log",
    "log_loss_landscape",
    "log_model",
    "log_system",
    "show",
    "sync",
]

# Users are told by warnings; what is logged beside them is for who asks for it, also where the daemon is a thread.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOME = {
    "Api": "query.api",
    "delete_project": "query.changes",
    "deploy": "_deploy",
    "freeze": "_freeze",
    "show": "_show",
    "sync": "_sync",
}
"""Names whose modules are heavy, loaded on first use: a training script pays for neither."""


def __getattr__(name: str) -> Any:
    """Loads a heavy public name on first use, and asks for the current run's config anew each time.

    Raises:
        AttributeError: there is no such name.
    """
    if name == "config":
        return current_config()
    if name not in _HOME:
        raise AttributeError(f"module 'trackio_like' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"trackio_like.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
