"""`trackio-like deploy` and `trackio_like.deploy`, against a Hub."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from tests.hub_server import Hub
from trackio_like._deploy import deploy, stages
from trackio_like.cli.deploy import COMMAND
from trackio_like.errors import RemoteConflictError

SPACE = "me/board"


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    COMMAND.add_arguments(parser)
    return COMMAND.run(parser.parse_args([SPACE, *arguments]))


def events(*lines: str) -> Iterator[str]:
    """A log as the Hub streams it."""
    for line in lines:
        yield f'data: {{"data": "{line}\\n", "timestamp": "2026-01-01T00:00:00Z"}}\n\n'


def test_the_address_and_the_visibility_are_printed_and_each_step_beside_them(hub: Hub, capsys) -> None:
    assert run() == 0
    told = capsys.readouterr()
    assert told.out == f"Made the private Space {hub.endpoint}/spaces/me/board\n"
    assert "making the private Space me/board ..." in told.err
    assert hub.bucket_ids() == ["me/board-bucket"]


def test_a_public_space_is_made_only_when_it_is_asked_for(hub: Hub, capsys) -> None:
    assert run("--public", "--bucket", "me/rows") == 0
    assert "Made the public Space" in capsys.readouterr().out
    assert not hub.bucket_is_private("me/rows")


def test_the_read_token_comes_from_a_variable_and_is_never_printed(hub: Hub, monkeypatch, capsys) -> None:
    token = hub.token("me", role="fineGrained", permissions={"me": ["repo.content.read"]})
    monkeypatch.setenv("READER", token)
    assert run("--read-token-env", "READER") == 0
    assert hub.space(SPACE).secrets == {"HF_TOKEN": token}
    told = capsys.readouterr()
    assert token not in told.out + told.err


def test_a_variable_that_is_not_set_is_named(hub: Hub) -> None:
    with pytest.raises(ValueError, match="READER is not set"):
        run("--read-token-env", "READER")
    assert hub.repo_ids("space") == []


def test_a_bucket_and_a_dataset_at_once_are_refused() -> None:
    with pytest.raises(SystemExit):
        run("--bucket", "me/a", "--dataset", "me/b")


def test_waiting_ends_when_the_space_runs(hub: Hub, capsys) -> None:
    run()
    hub.set_space_stages(SPACE, "RUNNING")
    assert run("--wait") == 0
    assert "The Space is RUNNING." in capsys.readouterr().err


def test_waiting_shows_the_end_of_the_log_where_the_space_does_not_build(hub: Hub, capsys) -> None:
    run()
    hub.set_space_stages(SPACE, "BUILD_ERROR")
    lines = [f"line {number}" for number in range(30)]
    log = hub.fail(
        r"/logs/build$",
        kind="status",
        status=200,
        headers={"content-type": "text/event-stream"},
        body="".join(events(*lines)),
    )
    assert run("--wait") == 1
    told = capsys.readouterr().err
    assert log.hits == 1
    assert "  line 29\n" in told
    assert "  line 10\n" in told
    assert "line 9\n" not in told
    assert "does not run: BUILD_ERROR" in told


def test_each_stage_is_told_once_until_the_space_goes_no_further(hub: Hub) -> None:
    run()
    hub.set_space_stages(SPACE, "BUILDING", "BUILDING", "APP_STARTING", "RUNNING")
    assert list(stages(SPACE, every_s=0.001)) == ["BUILDING", "APP_STARTING", "RUNNING"]


def test_a_space_that_says_for_long_that_it_has_no_files_ends_the_waiting(hub: Hub) -> None:
    run()
    hub.set_space_stages(SPACE, "NO_APP_FILE")
    assert list(stages(SPACE, every_s=0.001)) == ["NO_APP_FILE"]


def test_python_gets_the_address_and_prints_what_was_done(hub: Hub, capsys) -> None:
    url = deploy(SPACE, dataset_id="me/set")
    assert url == f"{hub.endpoint}/spaces/me/board"
    assert capsys.readouterr().out == f"Made the private Space {url}\n"
    assert deploy(SPACE, dataset_id="me/set") == url
    assert "Up to date: the private Space" in capsys.readouterr().out
    with pytest.raises(RemoteConflictError):
        deploy(SPACE, bucket_id="me/rows")
