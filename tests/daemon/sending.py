"""What the tests of sending share: runs with shards, an uploader with clocks of its own, and looks at the truth."""

from __future__ import annotations

import io
import secrets
from collections import Counter
from dataclasses import dataclass, replace

import pyarrow.parquet as pq
import pytest
from huggingface_hub.utils import _http

from tests.shards.conftest import make_header
from trackio_like.daemon.courier import Clocks, Courier
from trackio_like.daemon.kinds import KINDS_OF_TARGETS
from trackio_like.daemon.pace import RHYTHMS
from trackio_like.daemon.plan import Limits
from trackio_like.format.names import RunFolder, ShardName
from trackio_like.format.ranges import plan_reads
from trackio_like.format.targets import Target, bind_run
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.seal import WriterSealer

GRACE_S = 300.0


@dataclass
class Time:
    """The wall's clock, which somebody may set, and a steady one; both move only when they are told to."""

    now_s: float = 1_700_000_000.0
    steady_s: float = 1000.0

    def __call__(self):
        return self.now_s

    def pass_by(self, seconds):
        self.now_s += seconds
        self.steady_s += seconds

    def jump(self, seconds):
        """Somebody sets the wall's clock."""
        self.now_s += seconds

    @property
    def clocks(self):
        return Clocks(wall=self, steady=lambda: self.steady_s)


def make_target(hub, kind, **changes):
    """A target of a name of its own: tokens and locks of this user outlive a test."""
    if kind == "server":
        return Target(**{"kind": kind, "id": hub.endpoint, **changes})
    return Target(**{"kind": kind, "id": f"me/board-{secrets.token_hex(4)}", "endpoint": hub.endpoint, **changes})


def make_run(root, target, run_id="r", project="p"):
    folder = RunFolder(root=root, project=project, run_id=run_id)
    folder.path.mkdir(parents=True, exist_ok=True)
    return folder, bind_run(target, folder)


def log(folder, writer, values):
    """Logs one number a call and seals, to the end of the journal; the (writer, seq) of each call."""
    journal = JournalWriter(folder.journal, make_header(writer=writer, run_id=folder.run_id))
    for i, value in enumerate(values):
        journal.metrics(i, ("a",), [float(value)])
    journal.close()
    sealer = WriterSealer(folder, writer)
    sealer.seal()
    sealer.drop_journal()
    return [(writer, seq) for seq in range(1, len(values) + 1)]


def courier_of(known, time, *, num_files=None, rhythm=None):
    target = known.load()
    kind = KINDS_OF_TARGETS[target.kind]
    limits = Limits(num_files=num_files or 900, num_bytes=1 << 28, grace_s=GRACE_S)
    return Courier(
        known,
        target,
        kind=replace(kind, limits=limits),
        rhythm=rhythm or RHYTHMS[target.kind].every(0.5),
        clocks=time.clocks,
    )


def truth(hub, target):
    """What the Hub holds, by path."""
    if target.kind == "server":
        return hub.files()
    if target.kind == "bucket":
        return hub.bucket_files(target.id)
    return {path: data for path, data in hub.repo_files("dataset", target.id).items() if path.count("/") >= 3}


def rows_in(files, kind="metrics"):
    """How often a reader meets each call's row in some files: `(project, run, writer, seq, key)`."""
    folders = {}
    for path in files:
        project, run, folder, name = path.split("/", 3)
        shard = ShardName.parse(name)
        if folder == kind and shard is not None:
            folders.setdefault((project, run), []).append(shard)
    found = Counter()
    for (project, run), shards in folders.items():
        for read in plan_reads(shards):
            table = pq.read_table(io.BytesIO(files[f"{project}/{run}/{kind}/{read.shard}"]))
            for row in table.to_pylist():
                if row["seq"] > read.after:
                    found[
                        row["project"], row["run_id"], row["writer"], row["seq"], row.get("key", row.get("type"))
                    ] += 1
    return found


@pytest.fixture
def no_waits(monkeypatch):
    """The Hub's client sleeps a second and more between its own tries; here nobody waits."""

    class Clock:
        sleep = staticmethod(lambda _: None)

    monkeypatch.setattr(_http, "time", Clock)
    monkeypatch.setenv("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("HF_XET_CLIENT_RETRY_BASE_DELAY", "10ms")
