"""A page that applies the answers stays right while files move under the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api.test_routes import Client
from tests.store.recording import Recorded


class Charts:
    """The curves of a page, applied as docs/http_api.md says."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.epoch, self.cursor = "", 0
        self.curves: dict[tuple[str, str, int], list[tuple[float, float]]] = {}

    def poll(self, *panels: dict[str, Any]) -> None:
        header, arrays = self.client.poll(
            epoch=self.epoch, cursor=self.cursor, panels=[{"since": self.cursor, "buckets": 1000, **p} for p in panels]
        )
        for line in header["series"]:
            points = list(zip(arrays[line["x"]].tolist(), arrays[line["y"]].tolist(), strict=True))
            curve = (line["panel"], line["run"], line["lane"])
            self.curves[curve] = points if line["mode"] == "replace" else self.curves[curve] + points
        self.epoch, self.cursor = header["epoch"], header["cursor"]


def test_no_chart_misses_rows_that_another_charts_file_brought_along(tmp_path: Path):
    run = Recorded(tmp_path)
    writer = run.writer()
    for step in range(4):
        run.log(writer, step, a=float(step), b=float(step))
        run.seal(writer)
    page = Charts(Client(tmp_path, refresh_s=1e9))
    panel_a, panel_b = ({"id": key, "key": key, "runs": [run.run_id]} for key in "ab")
    page.poll(panel_a)
    run.log(writer, 4, a=4.0, b=4.0)
    run.drop_journal(writer)
    run.compact(writer)
    run.drop_covered()
    page.poll(panel_a, {**panel_b, "since": 0})
    page.poll(panel_a, panel_b)
    assert {panel: len(points) for (panel, _, _), points in page.curves.items()} == {"a": 5, "b": 5}
    writer.close()
