"""`init`, `log`, `finish` and `Run`: what a training script calls."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, get_args

from trackio_like._delivery import Delivery
from trackio_like._landscape_run import LandscapeRun
from trackio_like._launch import Launch, Resume, command_line, parent_identity
from trackio_like._model_run import ModelRun
from trackio_like._process import Process
from trackio_like._settings import Settings, hub_endpoint, rank_from_env
from trackio_like.run.config import Config, plain_config
from trackio_like.run.core import FINISH_TIMEOUT_S, LoggingRun
from trackio_like.run.destination import Wish, choose_destination
from trackio_like.run.guard import Guard, warn_user
from trackio_like.run.place import writable_root

_process: Final = Process()
P = ParamSpec("P")


class Run(LandscapeRun, ModelRun):
    """One run of a training script; also a context manager, and also named `Tracker`.

    `init()` makes one and lets the module's functions log into it; make it yourself for several runs at once.
    """

    def __init__(
        self,
        project: str,
        name: str | None = None,
        *,
        group: str | None = None,
        tags: Iterable[str] | None = None,
        config: Any = None,
        resume: Resume = "never",
        id: str | None = None,  # noqa: A002 - the field's standard name for it
        root: str | os.PathLike[str] | None = None,
        all_ranks: bool = False,
        space_id: str | None = None,
        bucket_id: str | None = None,
        dataset_id: str | None = None,
        server_url: str | None = None,
        private: bool | None = None,
    ) -> None:
        """Begins or resumes a run.

        Waits for the network only where a run is to be resumed that is not on this machine, and not for long.

        Args:
            project: any non-empty text; made where it is new.
            name: readable, need not be unique; generated where None.
            group: runs of one group can be shown together.
            tags: labels.
            config: hyper-parameters: a mapping, argparse namespace, dataclass, OmegaConf or Hydra config.
            resume: `never` begins a new run; `allow` goes on with the newest run of this id or name, or begins one;
                `must` raises where there is none.
            id: the run's id: to resume that very run, or to choose a new run's.
            root: folder for all projects; `TRACKIO_DIR` or its default where None.
            all_ranks: store the metrics of every rank of a distributed job, not only of rank 0.
            space_id: a Hugging Face Space that shows the run, `owner/name`; made where it does not exist.
            bucket_id: the bucket that rows are sent to; `<space_id>-bucket` where a Space is named alone.
            dataset_id: a dataset that rows are sent to instead, at most once a minute.
            server_url: a self-hosted server that rows are sent to, as `trackio-like serve` prints it; a Space wins.
            private: how Space, bucket and dataset are made where they do not exist; private where it is None.

        Raises:
            ValueError: an argument is wrong or contradicts another one, or there is nothing to resume; the message
                lists the choices.
        """
        labels = _listed(tags)
        _check_arguments(project, name, group, labels, resume, id)
        settings = Settings.from_env()
        wanted = settings.root if root is None else Path(root).expanduser()
        settings = replace(settings, root=writable_root(wanted.absolute()))
        wish = Wish(
            space_id=space_id, bucket_id=bucket_id, dataset_id=dataset_id, server_url=server_url, private=private
        )
        destination = choose_destination(wish, settings, endpoint=hub_endpoint())
        _process.num_launched += 1
        launch = Launch(settings, project, rank_from_env(parent=parent_identity), _process.num_launched)
        launch.find(name=name, run_id=id, resume=resume, target=None if destination is None else destination.target)
        identity = launch.identity(name=name, group=group, tags=labels, all_ranks=all_ranks)
        values = plain_config(config)
        command = {"_Command": command_line()} if launch.writes_init else {}
        self.root: Path = settings.root
        """Folder that holds the run's project."""
        # Bound before its journal is made: no row is ever without a way.
        delivery = Delivery(launch.folder, own_writers=launch.own_writers)
        if destination is not None:
            delivery.bind(destination, is_told=launch.writes_init)
        super().__init__(
            identity,
            config={**launch.config, **values, **command},
            guard=Guard(is_strict=settings.is_strict),
            open_journal=launch.open_journal,
            owner=_process,
        )
        if launch.writes_init:
            self._event("init", launch.init_payload(identity, values))
        elif values:
            self._record_config(values)
        _process.adopt(self, settings, delivery)


Tracker = Run


def _listed(tags: Iterable[str] | None) -> Any:
    """Tags as a list; one string is left for the check of the arguments to refuse."""
    return tags if tags is None or isinstance(tags, str) else list(tags)


def _check_arguments(project: Any, name: Any, group: Any, tags: Any, resume: Any, run_id: Any) -> None:
    if not isinstance(project, str) or not project:
        raise ValueError(f"project={project!r} is not a name; give a non-empty string.")
    for what, value in (("name", name), ("group", group), ("id", run_id)):
        if value is not None and (not isinstance(value, str) or not value):
            raise ValueError(f"{what}={value!r} is not a name; give a non-empty string, or leave it out.")
    for what, value in (("project", project), ("id", run_id)):
        if value is not None and value.encode("utf-8", "replace").decode() != value:
            raise ValueError(f"{what}={value!r} cannot be stored as UTF-8; leave the half surrogates out.")
    if resume not in get_args(Resume):
        raise ValueError(f"resume={resume!r} is unknown; choose one of {', '.join(get_args(Resume))}.")
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags or ()):
        raise ValueError(f"tags={tags!r} is not a list of strings; give one, such as ['baseline'].")


def init(
    project: str,
    name: str | None = None,
    *,
    group: str | None = None,
    tags: Iterable[str] | None = None,
    config: Any = None,
    resume: Resume = "never",
    id: str | None = None,  # noqa: A002 - the field's standard name for it
    root: str | os.PathLike[str] | None = None,
    all_ranks: bool = False,
    space_id: str | None = None,
    bucket_id: str | None = None,
    dataset_id: str | None = None,
    server_url: str | None = None,
    private: bool | None = None,
) -> Run:
    """Begins or resumes a run and makes it the one that `log()` and the others use, in every thread.

    A run that `init()` began before and that is still open is finished first.

    Args:
        project: as `Run`, and so are the others.
        name: readable name.
        group: group.
        tags: labels.
        config: hyper-parameters.
        resume: `never`, `allow` or `must`.
        id: the run's id.
        root: folder for all projects.
        all_ranks: store the metrics of every rank.
        space_id: the Space that shows the run.
        bucket_id: the bucket that rows are sent to.
        dataset_id: the dataset that rows are sent to.
        server_url: the self-hosted server that rows are sent to.
        private: how they are made where they do not exist.

    Returns:
        The run.

    Raises:
        ValueError: as `Run`.
    """
    previous = _process.current
    if previous is not None and not previous.is_open_here:
        previous = None  # it is the parent's of this forked child
    labels = _listed(tags)
    if previous is not None and resume != "never" and _is_meant(previous, project, name, id):
        # To be resumed it must have ended; only what is wrong with the arguments may still keep it open.
        _check_arguments(project, name, group, labels, resume, id)
        previous.finish()
    run = Run(
        project,
        name,
        group=group,
        tags=labels,
        config=config,
        resume=resume,
        id=id,
        root=root,
        all_ranks=all_ranks,
        space_id=space_id,
        bucket_id=bucket_id,
        dataset_id=dataset_id,
        server_url=server_url,
        private=private,
    )
    if previous is not None:
        previous.finish()
    _process.current = run
    return run


def _is_meant(run: LoggingRun, project: str, name: str | None, run_id: str | None) -> bool:
    return run.project == project and (run.id == run_id or (run_id is None and run.name == name))


def log(metrics: Mapping[str, Any], step: int | None = None) -> None:
    """Stores one call's values in the current run; see `Run.log`. Never raises."""
    run = _process.current
    if run is None:
        _warn_no_run("log")
    else:
        run.log(metrics, step)


def log_system(metrics: Mapping[str, Any]) -> None:
    """Stores system metrics in the current run; see `Run.log_system`. Never raises."""
    run = _process.current
    if run is None:
        _warn_no_run("log_system")
    else:
        run.log_system(metrics)


def define_metric(name: str, *, step_metric: str | None = None) -> None:
    """Says which metric is the x axis of others; see `Run.define_metric`."""
    run = _process.current
    if run is None:
        _warn_no_run("define_metric")
    else:
        run.define_metric(name, step_metric=step_metric)


def alert(title: str, text: str | None = None, *, level: str = "warn") -> None:
    """Records something that a person should see; see `Run.alert`."""
    run = _process.current
    if run is None:
        _warn_no_run("alert")
    else:
        run.alert(title, text, level=level)


def _on_current_run(method: Callable[Concatenate[Run, P], None]) -> Callable[P, None]:
    """The module's function for a method: the same arguments, in the current run."""

    @functools.wraps(method)
    def function(*args: P.args, **kwargs: P.kwargs) -> None:
        run = _process.current
        if run is None:
            _warn_no_run(method.__name__)
        else:
            getattr(run, method.__name__)(*args, **kwargs)

    signature = inspect.signature(method)
    vars(function)["__signature__"] = signature.replace(parameters=[*signature.parameters.values()][1:])
    return function


log_loss_landscape = _on_current_run(Run.log_loss_landscape)
log_model = _on_current_run(Run.log_model)


def finish(state: str = "finished", *, error: str | None = None, timeout: float | None = FINISH_TIMEOUT_S) -> None:
    """Finishes the current run; see `Run.finish`. Does nothing where there is none."""
    run = _process.current
    if run is not None:
        run.finish(state, error=error, timeout=timeout)


def current_config() -> Config:
    """The current run's config; without a run, one that records nothing."""
    run = _process.current
    return Config({}, lambda _: _warn_no_run("config")) if run is None else run.config


def _warn_no_run(what: str) -> None:
    warn_user(f"{what}() was called with no run open: nothing was stored. Call init(project=...) first.")


__all__ = [
    "Run",
    "Tracker",
    "alert",
    "current_config",
    "define_metric",
    "finish",
    "init",
    "log",
    "log_loss_landscape",
    "log_model",
    "log_system",
]
