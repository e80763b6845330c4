"""`trackio-like sync`: sends what waits, once or for as long as it runs."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trackio_like.cli.spec import Command

if TYPE_CHECKING:
    from trackio_like.daemon.once import Progress, SyncReport

WATCH_EVERY_S: Final = 5.0
_PATHS_SHOWN: Final = 50
_REASON_AFTER_S: Final = 1.0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", help="send only this project (default: every project)")
    parser.add_argument("--run", dest="run_id", metavar="ID", help="send only the run of this id")
    parser.add_argument(
        "--root", type=Path, help="folder that holds every project (default: TRACKIO_DIR, else below HF_HOME)"
    )
    parser.add_argument("--space", metavar="ID", help="send to the bucket or dataset of this Space, and deploy it")
    store = parser.add_mutually_exclusive_group()
    store.add_argument("--bucket", metavar="ID", help="send to this bucket")
    store.add_argument("--dataset", metavar="ID", help="send to this dataset")
    store.add_argument("--server", metavar="URL", help="send to this self-hosted server")
    visibility = parser.add_mutually_exclusive_group()
    visibility.add_argument("--public", action="store_true", help="make what does not exist yet for everybody to see")
    visibility.add_argument("--private", action="store_true", help="make it for you alone (default)")
    parser.add_argument("--watch", action="store_true", help="go on sending until Ctrl-C")
    parser.add_argument("--verify", action="store_true", help="look at what is there, and send what is missing")
    parser.add_argument("--dry-run", action="store_true", help="send nothing; list what would be sent")


def _run(options: argparse.Namespace) -> int:
    from trackio_like._sync import request_for, run_sync
    from trackio_like.run.destination import Wish

    wish = Wish(
        space_id=options.space,
        bucket_id=options.bucket,
        dataset_id=options.dataset,
        server_url=options.server,
        private=False if options.public else True if options.private else None,
    )
    request = request_for(wish, root=options.root, project=options.project, run_id=options.run_id)

    def once() -> list[SyncReport]:
        with _shown() as on_progress:
            return run_sync(request, verify=options.verify, is_dry_run=options.dry_run, on_progress=on_progress)

    if options.dry_run:
        return _list(once())
    if options.watch:
        return _watch(once)
    reports = once()
    for report in reports:
        print(describe(report))
    if not reports:
        print(
            f"Everything below {request.root} is in Parquet, and no run is to be sent anywhere. "
            "Name a place: --bucket, --dataset, --space or --server."
        )
    if options.space is not None and all(report.is_complete for report in reports):
        _deploy(options)
    return 0 if all(report.is_complete for report in reports) else 1


def _deploy(options: argparse.Namespace) -> None:
    from trackio_like._deploy import deploy

    deploy(options.space, bucket_id=options.bucket, dataset_id=options.dataset, private=not options.public)


def describe(report: SyncReport) -> str:
    """One target's line, and a line for each reason why something waits."""
    from trackio_like._progress import size_text

    what = f"{report.num_files:,} files ({size_text(report.num_bytes)})" if report.num_files else "Nothing new"
    line = f"{what} sent to {report.target}; " if report.num_files else f"{what} for {report.target}; "
    if report.is_complete:
        line += "everything is there."
    else:
        line += f"{report.num_files_waiting:,} files ({size_text(report.num_bytes_waiting)}) wait."
        line += f"\n  {report.message}" if report.message else ""
    for path, why in sorted(report.rejected.items()):
        line += f"\n  set aside: {path}: {why}"
    return line


def _list(reports: list[SyncReport]) -> int:
    for report in reports:
        for path in report.paths[:_PATHS_SHOWN]:
            print(path)
        if len(report.paths) > _PATHS_SHOWN:
            print(f"... and {len(report.paths) - _PATHS_SHOWN:,} more")
        from trackio_like._progress import size_text

        print(f"{report.num_files:,} files ({size_text(report.num_bytes)}) would be sent to {report.target}.")
    return 0


def _watch(once: Callable[[], list[SyncReport]]) -> int:
    pause, told = threading.Event(), set[str]()
    print("Sending what comes; Ctrl-C stops it.", flush=True)
    while True:
        for report in once():
            line = describe(report)
            if report.num_files or line not in told:
                told.add(line)
                print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)
        pause.wait(WATCH_EVERY_S)


class _shown:  # noqa: N801 - used as a statement, as contextlib's own are
    """Shows how far a pass is, and why it waits where it does, on stderr."""

    def __enter__(self) -> Callable[[Progress], None]:
        from trackio_like._progress import Progress as Bar

        self._bar, self._began_s, self._told = Bar("Sending"), time.monotonic(), ""
        return self._show

    def _show(self, progress: Progress) -> None:
        waited_s = time.monotonic() - self._began_s
        # What ends it at once is the result's to say; here is why somebody is kept waiting.
        if progress.message != self._told and waited_s >= _REASON_AFTER_S:
            self._told = progress.message
            if progress.message:
                self._bar.clear()
                print(progress.message, file=sys.stderr, flush=True)
        total = progress.num_bytes + progress.num_bytes_waiting
        self._bar.show(progress.num_bytes, total, waited_s)

    def __exit__(self, *_: object) -> None:
        self._bar.clear()


COMMAND = Command(
    name="sync",
    help="Send what waits to the Hub or a server now.",
    add_arguments=_add_arguments,
    run=_run,
)

__all__ = ["COMMAND", "describe"]
