"""Where a root lies, and what else lies there, changes no answer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.recording import Recorded
from trackio_like.query.api import Api

_FORKED = """
import os, sys
from trackio_like.query.api import Api

run = Api(sys.argv[1]).runs("p")[0]
assert run.history().num_rows == 3
child = os.fork()
if child == 0:
    os._exit(0 if (run.history().num_rows, len(run.series("a").x)) == (3, 3) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def sealed_run(root: Path, *, num_rows: int = 3) -> Recorded:
    root.mkdir(exist_ok=True)
    run = Recorded(root)
    writer = run.writer()
    for step in range(num_rows):
        run.log(writer, step, a=float(step))
    run.drop_journal(writer)
    writer.close()
    return run


@pytest.mark.parametrize(("name", "fits"), [("exp*", "exp1"), ("e[12]", "e1"), ("q?", "qz"), ("key=b", "key=c")])
def test_a_root_whose_name_reads_as_a_pattern_is_read_alone(tmp_path: Path, name: str, fits: str):
    sealed_run(tmp_path / name)
    shutil.copytree(tmp_path / name, tmp_path / fits)
    [run] = Api(tmp_path / name).runs("p")
    assert run.history()["key"].to_pylist() == ["a"] * 3
    assert run.history("a").num_rows == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork.")
def test_a_forked_child_asks_on(tmp_path: Path):
    sealed_run(tmp_path / "root")
    subprocess.run([sys.executable, "-c", _FORKED, str(tmp_path / "root")], check=True, timeout=30)
