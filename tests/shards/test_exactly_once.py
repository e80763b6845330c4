"""Whatever is killed, repeated, lost or done at once: every row that was logged is read once."""

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.shards.conftest import WRITER, bits, make_header, read_kind, read_metrics, shard_names
from trackio_like.format.names import RunFolder
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.compact import compact_folder, drop_covered, merge_shards
from trackio_like.shards.seal import WriterSealer

keys = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True)


class Sealing(RuleBasedStateMachine):
    """One writer, two daemons that know nothing of each other, and every kind of interruption."""

    def __init__(self):
        super().__init__()
        import tempfile

        self.temporary = tempfile.TemporaryDirectory()

    @initialize()
    def begin(self):
        from pathlib import Path

        self.folder = RunFolder(root=Path(self.temporary.name), project="p", run_id="r")
        self.journal = JournalWriter(self.folder.journal, make_header(), segment_bytes=700)
        self.sealers = [WriterSealer(self.folder, WRITER) for _ in range(2)]
        self.logged = []
        self.texts = []
        self.is_open = True

    def teardown(self):
        self.journal.close()
        self.temporary.cleanup()

    @precondition(lambda self: self.is_open)
    @rule(names=keys, step=st.integers(-5, 50), count=st.integers(1, 10), with_text=st.booleans())
    def log(self, names, step, count, with_text):
        for i in range(count):
            values = [float(len(self.logged) + j) for j in range(len(names))]
            if with_text:
                self.journal.mixed(step + i, tuple(names), values, [("t", "text", "x", None)])
                self.texts.append(self.journal.seq)
            else:
                self.journal.metrics(step + i, tuple(names), values)
            self.logged += [
                (WRITER, self.journal.seq, step + i, key, bits(value)) for key, value in zip(names, values, strict=True)
            ]

    @rule(which=st.integers(0, 1))
    def seal(self, which):
        self.sealers[which].seal()

    @rule(which=st.integers(0, 1), kind=st.sampled_from(["metrics", "objects", "journal/mark"]))
    def seal_while_the_disk_refuses(self, which, kind):
        """A file where a folder should be, or a folder where a file should be, is refused like a full disk."""
        if kind == "journal/mark":
            obstacle = self.folder.journal / f".{self.folder.sealed_mark(WRITER).name}.tmp"
            obstacle.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                self.sealers[which].seal()
            obstacle.rmdir()
            return
        path = self.folder.shards(kind)
        aside = path.with_name("aside")
        if path.exists():
            path.rename(aside)
        path.write_bytes(b"")
        with contextlib.suppress(OSError):
            self.sealers[which].seal()
        path.unlink()
        if aside.exists():
            aside.rename(path)

    @rule(which=st.integers(0, 1))
    def restart_daemon(self, which):
        self.sealers[which] = WriterSealer(self.folder, WRITER)

    @rule()
    def lose_the_mark(self):
        """As if the daemon was killed between the shards and the mark, or the mark was damaged."""
        self.folder.sealed_mark(WRITER).unlink(missing_ok=True)
        self.restart_daemon(0)

    @rule()
    def damage_the_mark(self):
        if self.folder.journal.exists():
            self.folder.sealed_mark(WRITER).write_text('{"segment": 1, "off')
        self.restart_daemon(1)

    @rule(is_closed=st.booleans())
    def compact(self, is_closed):
        closed = [WRITER] if is_closed else []
        compact_folder(self.folder.shards("metrics"), "metrics", closed_writers=closed, own_writers=[WRITER])

    @rule(data=st.data())
    def merge_any_neighbours(self, data):
        names = sorted(shard_names(self.folder.shards("metrics")))
        if len(names) >= 2:
            start = data.draw(st.integers(0, len(names) - 2))
            stop = data.draw(st.integers(start + 2, len(names)))
            merge_shards(self.folder.shards("metrics"), "metrics", names[start:stop])

    @rule()
    def drop_what_is_covered(self):
        drop_covered(self.folder.shards("metrics"), grace_s=0)

    @precondition(lambda self: self.is_open)
    @rule()
    def finish(self):
        self.journal.close()
        self.is_open = False
        self.sealers[0].seal()
        self.sealers[0].drop_journal()
        assert not list(self.folder.journal.iterdir())

    @invariant()
    def every_row_is_read_once(self):
        if hasattr(self, "folder"):
            assert read_metrics(self.folder) == sorted(self.logged)

    @invariant()
    def no_object_is_lost_once_all_is_sealed(self):
        if hasattr(self, "folder") and not self.is_open:
            assert [row["seq"] for row in read_kind(self.folder, "objects")] == self.texts


TestSealing = Sealing.TestCase
TestSealing.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
