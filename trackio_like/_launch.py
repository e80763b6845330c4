"""How a run begins: fresh, resumed, or joined by one more process."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import platform
import shlex
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from trackio_like._settings import Rank, Settings
from trackio_like._version import __version__
from trackio_like.errors import RemoteError, RemoteMissingError
from trackio_like.format.names import RunFolder, encode_name, new_run_id, new_writer_id, project_folder_for
from trackio_like.format.records import Header
from trackio_like.format.targets import Target
from trackio_like.journal.reader import list_segments, read_header
from trackio_like.journal.writer import JournalWriter
from trackio_like.run.config import masked
from trackio_like.run.guard import warn_user
from trackio_like.run.host import host_identity, is_alive, process_started
from trackio_like.run.identity import RunIdentity
from trackio_like.run.names import generated_name
from trackio_like.run.secrets import mask_argv

if TYPE_CHECKING:
    from trackio_like.query.resume import ResumePoint

Resume = Literal["never", "allow", "must"]
FETCH_TIMEOUT_S: Final = 20.0
"""How long `init(resume=...)` asks the Hub for a run that is not here."""


class Launch:
    """How a run begins: fresh, resumed, or joined by one more process."""

    def __init__(self, settings: Settings, project: str, rank: Rank, ordinal: int) -> None:
        self.settings = settings
        self.project = project
        self.rank = rank
        self.launch = self._launch_id(ordinal)
        self.folder = RunFolder(
            root=settings.root,
            project=project,
            run_id="-",
            project_folder=project_folder_for(settings.root, project),
        )
        self.attempt = 1
        self.is_joined = False
        self.writes_init = True
        self.begins_attempt = True
        self.config: dict[str, Any] = {}
        self.point: ResumePoint | None = None
        self._writers: list[tuple[int, str]] = []

    def _launch_id(self, ordinal: int) -> str | None:
        if self.rank.launch is None:
            return None
        return _digest(f"{self.rank.launch}|{self.project}|{ordinal}")

    def find(self, *, name: str | None, run_id: str | None, resume: Resume, target: Target | None = None) -> None:
        """Decides which run this is.

        Args:
            name: the run's name, or None.
            run_id: the run's id, or None.
            resume: as `init`.
            target: where the run's rows go: a run to go on with that is not here is looked for there.

        Raises:
            ValueError: there is nothing to resume.
        """
        names_none = run_id is None and (resume == "never" or (resume == "allow" and name is None))
        joined = self.settings.run_id or (self.launch if names_none else None)
        if run_id is None and joined is not None:
            self._join(joined)
        elif resume == "never":
            self._begin(run_id)
        elif name is None and run_id is None:
            if resume == "must":
                raise ValueError('resume="must" needs the name or the id of the run to go on with: pass name= or id=.')
            self._begin(None)
        else:
            self._resume(name, run_id, must=resume == "must", target=target)

    def _begin(self, run_id: str | None) -> None:
        if run_id is not None:
            encode_name(run_id)
            self.folder = replace(self.folder, run_id=run_id)
            if not self.folder.path.exists():
                return
            warn_user(
                f"A run with id {run_id!r} is in project {self.project!r} already. It is untouched: this run gets a "
                'new id. Pass resume="allow" to go on with the old one.'
            )
        self.folder = replace(self.folder, run_id=new_run_id())

    def _join(self, run_id: str) -> None:
        """Another process of the same job, or the first one."""
        encode_name(run_id)
        self.folder = replace(self.folder, run_id=run_id)
        self.writes_init = self.rank.rank == 0
        self.is_joined = True
        point = self._find(run_id=run_id) if self.folder.path.exists() else None
        if point is not None:
            self._continue(point, is_joined=point.state == "running")
            # Rank 0 describes the run of its job, also where another rank was the first to come.
            self.writes_init = self.rank.rank == 0 and (self.begins_attempt or self.rank.world_size > 1)

    def _resume(self, name: str | None, run_id: str | None, *, must: bool, target: Target | None) -> None:
        point = self._find(name=name, run_id=run_id)
        why = ""
        if point is None and target is not None and target.kind != "server":
            why = self._fetch(target, name=name, run_id=run_id)
            point = self._find(name=name, run_id=run_id)
        if point is None and must:
            what = f"id {run_id!r}" if run_id is not None else f"name {name!r}"
            raise ValueError(
                f"There is no run with {what} in project {self.project!r} below {self.settings.root} to resume. "
                f'{why}Pass resume="allow" to begin one.'
            )
        if point is None and why:
            warn_user(f"{why}A run is begun anew; nothing is lost.")
        if point is None:
            # Not _begin(): where several processes begin one id at once, its folder may be there before its event.
            # The ranks of one launch begin one run, also where none of them sees another's yet.
            shared = None if self.launch is None else _digest(f"{self.launch}|{name}")
            self.folder = replace(self.folder, run_id=run_id or shared or new_run_id())
        else:
            self.folder = replace(self.folder, run_id=point.run_id)
            self._continue(point, is_joined=point.state == "running" and self._is_alive_here())

    def _is_alive_here(self) -> bool:
        """Whether a process of this host has the run open."""
        host = host_identity()
        for segment in list_segments(self.folder.journal):
            with contextlib.suppress(FileNotFoundError, ValueError):
                header = read_header(self.folder.journal / str(segment))
                if header is not None and header.host == host and is_alive(header.pid, header.process_started):
                    return True
        return False

    def _fetch(self, target: Target, *, name: str | None, run_id: str | None) -> str:
        """Copies the run from where it was sent, for a machine that has never seen it; why that failed, or nothing.

        The one moment at which `init()` asks the network: it cannot go on with a run that it does not know.
        """
        elsewhere = importlib.import_module("trackio_like.query.elsewhere")
        try:
            elsewhere.fetch_run(
                target, self.settings.root, self.project, run_id=run_id, name=name, timeout_s=FETCH_TIMEOUT_S
            )
        except RemoteMissingError:
            return ""  # nothing was ever sent there
        except (RemoteError, OSError) as error:
            return f"{error}. "
        return ""

    def _find(self, *, name: str | None = None, run_id: str | None = None) -> ResumePoint | None:
        # Reading needs pyarrow, which a fresh run never loads.
        resume = importlib.import_module("trackio_like.query.resume")
        points: list[ResumePoint] = resume.find_runs(self.settings.root, self.project, name=name, run_id=run_id)
        return points[0] if points else None

    def _continue(self, point: ResumePoint, *, is_joined: bool) -> None:
        """Goes on with a run: one more writer of an attempt that is alive, or a new attempt."""
        self.point = point
        self.config = dict(point.config)
        self.attempt = point.num_attempts if is_joined else point.num_attempts + 1
        self.begins_attempt = not is_joined
        if is_joined:
            self.writes_init = False

    def identity(
        self, *, name: str | None, group: str | None, tags: Iterable[str] | None, all_ranks: bool
    ) -> RunIdentity:
        """Who the run is, with what an earlier attempt knew where the call says nothing."""
        point = self.point
        # A run that nobody described yet goes by its id.
        is_described = point is not None and not (self.is_joined and point.name == point.run_id)
        chosen = name or (point.name if point is not None and is_described else None)
        if chosen is None:
            # Processes that join one run must give it one name, whatever else the project holds by then.
            ordinal = self.folder.run_id[:6] if self.is_joined else self._count_runs() + 1
            chosen = generated_name(self.project, ordinal)
        if point is not None:
            group = point.group if group is None else group
            tags = point.tags if tags is None else tags
        continues = self.writes_init and self.begins_attempt
        last_step = point.last_step if point is not None and continues else None
        return RunIdentity(
            project=self.project,
            run_id=self.folder.run_id,
            name=chosen,
            group=group,
            tags=tuple(tags or ()),
            attempt=self.attempt,
            next_step=0 if last_step is None else last_step + 1,
            logs_metrics=self.rank.rank == 0 or all_ranks,
        )

    def _count_runs(self) -> int:
        with contextlib.suppress(OSError):
            return sum(entry.is_dir() for entry in os.scandir(self.folder.path.parent))
        return 0

    def open_journal(self) -> JournalWriter:
        """A journal of this process, under a writer id of its own."""
        host, pid = host_identity(), os.getpid()
        header = Header(
            project=self.project,
            run_id=self.folder.run_id,
            writer=new_writer_id(socket.gethostname(), pid),
            host=host,
            pid=pid,
            process_started=process_started(pid) or 0.0,
            attempt=self.attempt,
            rank=self.rank.rank,
            segment=1,
            first_seq=1,
        )
        self._writers.append((pid, header.writer))
        return JournalWriter(self.folder.journal, header)

    def own_writers(self) -> list[str]:
        """The writers that this very process opened for the run; a forked child's are its own."""
        pid = os.getpid()
        return [writer for owner, writer in self._writers if owner == pid]

    def init_payload(self, identity: RunIdentity, values: Mapping[str, Any]) -> dict[str, Any]:
        """The event that begins an attempt."""
        return {
            "name": identity.name,
            "group": identity.group,
            "tags": list(identity.tags),
            "config": {**masked(values), "_Command": command_line()},
            "attempt": identity.attempt,
            "resumed": self.attempt > 1,
            "created_us": time.time_ns() // 1000,
            "metadata": {
                "host": socket.gethostname(),
                "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
                "python": platform.python_version(),
                "trackio_like": __version__,
                "world_size": self.rank.world_size,
            },
        }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]


def parent_identity() -> str:
    parent = os.getppid()
    return f"{host_identity()}:{parent}:{process_started(parent) or 0.0:.0f}"


def command_line() -> str:
    return " ".join(_quoted(part) for part in mask_argv([Path(sys.executable or "python").name, *_argv()]))


def _argv() -> list[str]:
    argv = list(getattr(sys, "orig_argv", sys.argv)[1:])
    return argv or [part for part in sys.argv if part]


def _quoted(part: str) -> str:
    return shlex.quote(part.encode("utf-8", "replace").decode())


__all__ = ["Launch", "Resume", "command_line", "parent_identity"]
