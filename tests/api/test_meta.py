"""Which project was active last."""

import os
import time

import trackio_like as trackio
from space_app.api.service import Service
from trackio_like.daemon.once import seal_root
from trackio_like.daemon.root_sealer import RootSealer


def test_an_old_project_is_not_active_because_it_was_compacted(root):
    old = trackio.Run("old")
    for value in range(3):
        old.log({"a": value})
        seal_root(root)
    then = time.time() - 1000
    for path in (root / "old").rglob("*.parquet"):
        os.utime(path, (then, then))
    with trackio.Run("new") as new:
        new.log({"a": 1})
        for path in (root / "old" / old.id / "journal").iterdir():
            path.unlink()  # as if its process had ended long ago and another daemon had sealed it
    RootSealer(root).run_pass()
    assert [project["name"] for project in Service(root).meta()["projects"]] == ["new", "old"]
    old.finish()
