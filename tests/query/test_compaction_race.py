"""A server that reads while shards are compacted away under it ends with every row, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trackio_like.query.index import ProjectIndex
from trackio_like.query.series import SeriesId

if TYPE_CHECKING:
    import pytest

_NUM_ROUNDS = 60
_CHILD = f"""
import sys
from pathlib import Path
from tests.store.recording import Recorded

run = Recorded(Path(sys.argv[1]), run_id="r")
writer = run.writer(segment_bytes=2000)
for number in range({_NUM_ROUNDS}):
    for step in range(10 * number, 10 * number + 10):
        run.log(writer, step, a=float(step))
    writer.event("config", {{"values": {{str(number): number}}}})
    run.seal(writer)
    if number % 3 == 0:
        run.compact(writer)
        run.drop_covered()  # without the grace that the daemon gives
run.drop_journal(writer)
writer.close()
"""


def test_no_row_is_lost_when_files_go_between_listing_and_reading(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path)], cwd=Path(__file__).parents[2])
    index = ProjectIndex(tmp_path, "p", look_interval_s=0)
    id_ = SeriesId(run_id="r", kind="metrics", key="a")
    while child.poll() is None:
        index.refresh()
        index.series([id_])
        index.cache.drop(id_)
    assert child.returncode == 0
    index.refresh()
    index.refresh()
    run = index.run("r")
    assert run is not None
    [points] = index.series([id_])[id_].points.values()
    assert points.step.tolist() == list(range(10 * _NUM_ROUNDS))
    assert run.summaries["metrics"].num_rows == 10 * _NUM_ROUNDS
    assert len(run.description.config) == _NUM_ROUNDS
    assert not caplog.records
