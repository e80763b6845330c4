"""`trackio-like compact` leaves few files and every row."""

from __future__ import annotations

import pytest

import trackio_like as trackio
from trackio_like.cli import main
from trackio_like.shards.plan import covered_by_others
from trackio_like.store.shard_files import parse_shard_names


@pytest.fixture
def shards_of_many_sessions(root):
    """One run that was sealed again and again, by writers that are gone."""
    for number in range(4):
        with trackio.init(project="p", id="r", resume="allow") as run:
            for step in range(3):
                run.log({"a": float(number * 3 + step)})
                trackio.sync()
    return root


def small_shards(root):
    """The shards as their daemon sent them at first: without those that cover others."""
    for folder in {path.parent for path in root.rglob("*.parquet")}:
        names = parse_shard_names(path.name for path in folder.iterdir())
        covering = set(covered_by_others(names).values())
        yield from (folder / str(name) for name in names if name not in covering)


def values(api):
    return api.run("p", "r").history("a")["value"].to_pylist()


def test_a_bucket_is_compacted_once_its_writers_are_gone(hub, shards_of_many_sessions, capsys):
    shards = [
        (str(path), path.relative_to(shards_of_many_sessions).as_posix())
        for path in small_shards(shards_of_many_sessions)
    ]
    hub.api("me").create_bucket("me/rows")
    hub.api("me").batch_bucket_files("me/rows", add=shards)
    assert main(["compact", "--bucket", "me/rows"]) == 1
    assert "was logged into less than 60 minutes ago" in capsys.readouterr().err
    assert main(["compact", "--bucket", "me/rows", "--force"]) == 0
    with trackio.Api(bucket_id="me/rows") as api:
        assert values(api) == [float(value) for value in range(12)]


def test_a_root_is_compacted(shards_of_many_sessions, capsys):
    assert main(["compact"]) == 0
    assert "1 runs looked at" in capsys.readouterr().out
    assert values(trackio.Api()) == [float(value) for value in range(12)]


def test_a_bucket_that_is_not_there_is_named(hub, capsys):
    assert main(["compact", "--bucket", "me/nowhere"]) == 1
    assert "me/nowhere" in capsys.readouterr().err
