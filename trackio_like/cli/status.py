"""`trackio-like status`: for each run what is here, what is there, what waits, and why."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from trackio_like._progress import size_text
from trackio_like._settings import Settings
from trackio_like.cli.spec import Command

if TYPE_CHECKING:
    from trackio_like.daemon.status import RunStatus, TargetStatus


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", help="only this project (default: every project)")
    parser.add_argument("--run", dest="run_id", metavar="ID", help="only the run of this id")
    parser.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )
    parser.add_argument("--waiting", action="store_true", help="only runs of which something waits")


def _run(options: argparse.Namespace) -> int:
    from trackio_like.daemon.discover import run_folders
    from trackio_like.daemon.status import run_status

    root = (options.root or Settings.from_env().root).expanduser().absolute()
    folders = [
        folder
        for folder in sorted(run_folders(root), key=lambda folder: (folder.project, folder.run_id))
        if options.project in (None, folder.project) and options.run_id in (None, folder.run_id)
    ]
    if not folders:
        print(f"No such run is below {root}.")
        return 1
    num_waiting = 0
    problems: dict[str, str] = {}
    for folder in folders:
        status = run_status(folder)
        waits = any(not target.is_complete for target in status.targets)
        num_waiting += waits
        problems.update({str(target.target): target.state.message for target in status.targets if target.state.message})
        if waits or not options.waiting:
            print(f"{folder.project}/{folder.run_id}")
            for line in describe(status):
                print(f"  {line}")
    for target, message in sorted(problems.items()):
        print(f"{target}: {message}")
    print(f"{len(folders):,} runs, {num_waiting:,} with something to send.")
    return 0


def describe(status: RunStatus) -> list[str]:
    """A run's lines: one for this machine, one for each target."""
    here = f"here: {status.num_files:,} files, {size_text(status.num_bytes)} in Parquet"
    lines = [here + ("; the newest calls are still in journals" if status.has_journals else "")]
    lines += [_describe_target(target) for target in status.targets]
    if not status.targets:
        lines.append("sent nowhere: `trackio-like sync --bucket ID` sends it")
    return lines


def _describe_target(found: TargetStatus) -> str:
    stored = f"{found.target}: {found.num_stored:,} files, {size_text(found.num_bytes_stored)}"
    if found.is_complete:
        return f"{stored}; complete"
    waiting = f"{found.num_waiting:,} files, {size_text(found.num_bytes_waiting)} wait"
    if not found.num_waiting:
        waiting = "the newest calls wait to be put into Parquet" if not found.rejected else "nothing else waits"
    text = f"{stored}; {waiting} ({found.state.word}{_until(found)})"
    return text + "".join(f"\n    set aside: {path}: {why}" for path, why in sorted(found.rejected.items()))


def _until(found: TargetStatus) -> str:
    left_s = found.state.next_try_s - time.time()
    return f", next try in {left_s:.0f} s" if left_s > 1 else ""


COMMAND = Command(
    name="status",
    help="Say what of each run is sent, and why the rest waits.",
    add_arguments=_add_arguments,
    run=_run,
)

__all__ = ["COMMAND", "describe"]
