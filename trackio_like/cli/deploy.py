"""`trackio-like deploy`: makes the Space that shows a bucket or dataset, or brings it up to date."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

from trackio_like.cli.spec import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("space_id", metavar="SPACE_ID", help="owner/name of the Space")
    store = parser.add_mutually_exclusive_group()
    store.add_argument("--bucket", metavar="ID", help="the bucket that it shows (default: SPACE_ID-bucket)")
    store.add_argument("--dataset", metavar="ID", help="the dataset that it shows")
    parser.add_argument("--public", action="store_true", help="make it, and what it shows, for everybody to see")
    parser.add_argument(
        "--read-token-env",
        metavar="NAME",
        help="the variable that holds a token that may only read, for the Space to read what is private "
        "(default: TRACKIO_SPACE_READ_TOKEN)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also fill an empty Space of yours, show another bucket, show a private one in public, repair it",
    )
    parser.add_argument("--wait", action="store_true", help="return only when it runs, or say why it does not")


def _run(options: argparse.Namespace) -> int:
    from trackio_like._deploy import deploy_space, describe

    done = deploy_space(
        options.space_id,
        bucket_id=options.bucket,
        dataset_id=options.dataset,
        is_private=not options.public,
        read_token=_read_token(options.read_token_env),
        force=options.force,
        tell=lambda step: print(f"{step} ...", file=sys.stderr),
    )
    print(describe(done))
    return _wait(options.space_id) if options.wait else 0


def _read_token(name: str | None, env: Mapping[str, str] = os.environ) -> str | None:
    """The token itself never stands on a command line, which others may list."""
    if name is None:
        return None
    token = env.get(name)
    if not token:
        raise ValueError(f"The variable {name} is not set; it should hold the read token.")
    return token


def _wait(space_id: str) -> int:
    from trackio_like._deploy import log_tail, stages

    stage = ""
    for stage in stages(space_id):
        print(f"The Space is {stage}.", file=sys.stderr)
    if stage == "RUNNING":
        return 0
    for line in log_tail(space_id, stage):
        print(f"  {line}", file=sys.stderr)
    print(f"The Space does not run: {stage}. Its whole log is on its page.", file=sys.stderr)
    return 1


COMMAND = Command(
    name="deploy",
    help="Make or update the Space that shows a bucket.",
    add_arguments=_add_arguments,
    run=_run,
)

__all__ = ["COMMAND"]
