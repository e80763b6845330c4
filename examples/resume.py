"""A training that is stopped and goes on in the same run, from its last checkpoint.

The second start repeats steps that the first had already logged; both are kept, and the newer attempt is what is drawn.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import trackio_like as trackio


def train(checkpoint: Path, *, stop_at: int) -> str:
    """Trains up to a step and saves every 50 steps; returns the run's id."""
    state: dict[str, Any] = {"step": 0, "x": 5.0, "run_id": None}
    if checkpoint.exists():
        state = json.loads(checkpoint.read_text())
    run = trackio.init(project="resume", id=state["run_id"], resume="allow", config={"learning_rate": 0.01})
    x = state["x"]
    for step in range(state["step"], stop_at):
        x -= 0.01 * 2 * x
        trackio.log({"loss": x * x}, step=step)
        if step % 50 == 49:
            checkpoint.write_text(json.dumps({"step": step + 1, "x": x, "run_id": run.id}))
    trackio.finish()
    return run.id


def main() -> None:
    """Stops at step 120, and goes on from the checkpoint of step 100."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint.json"
        first = train(checkpoint, stop_at=120)
        second = train(checkpoint, stop_at=300)
    assert first == second, "resuming keeps the run's id"
    run = trackio.Api().run("resume", first)
    print(f"run {run.name}: {run.num_rows} rows, {run.state}")


if __name__ == "__main__":
    main()
