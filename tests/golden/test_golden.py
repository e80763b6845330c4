"""Files of every version that was ever written can be read: a golden root for each, never changed."""

import math
import shutil
from pathlib import Path

import pytest

import trackio_like as trackio
from trackio_like.format.schemas import SCHEMA_VERSION
from trackio_like.journal.frames import FORMAT

FOLDER = Path(__file__).parent
ROOTS = sorted(path.name for path in FOLDER.iterdir() if path.name.startswith(("shards-", "journal-")))


def test_the_versions_of_today_have_a_golden_root():
    assert {f"shards-v{SCHEMA_VERSION}", f"journal-v{FORMAT}"} <= set(ROOTS)


@pytest.mark.parametrize("name", ROOTS)
def test_a_golden_root_reads_as_it_was_written(name, tmp_path):
    root = shutil.copytree(FOLDER / name, tmp_path / "copy")
    (run,) = trackio.Api(root).runs("golden ☂")
    assert (run.id, run.name, run.state, run.group, run.tags) == ("run", "first", "finished", "g", ("t",))
    assert run.config == {"lr": 0.1, "seed": 2**63 - 1}
    rows = [(row["seq"], row["step"], row["key"], row["value_int"]) for row in run.history().to_pylist()]
    assert rows == [
        (2, 0, "loss", None),
        (2, 0, "tokens", 2**53 + 1),
        (3, 5, "loss", None),
        (3, 5, "tokens", None),
        (4, 3, "loss", None),
    ]
    values = run.history()["value"].to_pylist()
    assert (values[0], math.isnan(values[2]), values[3], values[4]) == (1.5, True, 7.0, -math.inf)
    assert [(row["key"], row["value"]) for row in run.system().to_pylist()] == [("gpu/0/temp", 60.5)]
    assert [(text.key, text.step, text.payload) for text in run.texts()] == [("note", 3, "hello")]
    assert [event.type for event in run.events()] == ["init", "finish"]
