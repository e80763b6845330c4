"""Whatever fails between here and there, and in whichever order: the target holds every row once."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.daemon.sending import Time, courier_of, make_target, no_waits, rows_in, truth
from tests.flow.faulty_server import FaultyServer
from tests.shards.conftest import make_header
from trackio_like.format.names import RunFolder
from trackio_like.format.targets import bind_run
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.compact import compact_folder, drop_covered
from trackio_like.shards.seal import WriterSealer
from trackio_like.store.changes import Change, FolderChanges

__all__ = ["no_waits"]

RUNS = ("r", "s", "t")
DOOMED = RUNS[2]
"""Runs are many; the purge of one is enough, and leaves the others to what else goes wrong."""
WRITERS = ("w-1-aa", "w-2-bb")
WHO = (RUNS[0], WRITERS[0])
KINDS = ("metrics", "objects", "events")
API = {"bucket": r"^/api/buckets/.*", "dataset": r"^/api/datasets/.*", "server": "^/t/.*"}
WRITE = {"bucket": "/batch$", "dataset": "/commit/", "server": "^/t/files/"}
TOKEN = {"bucket": "HF_TOKEN", "dataset": "HF_TOKEN", "server": "TRACKIO_WRITE_TOKEN"}
RECOVERY_PASSES = 40

work = st.one_of(
    st.tuples(st.just("log"), st.sampled_from(RUNS), st.sampled_from(WRITERS), st.integers(1, 4)),
    st.tuples(st.just("seal")),
    st.tuples(st.just("compact"), st.sampled_from(RUNS), st.booleans()),
    st.tuples(st.just("pass"), st.floats(0, 20)),
    st.tuples(st.just("pass of another process"), st.floats(0, 20)),
    st.tuples(st.just("jump"), st.sampled_from([-3600.0, 30.0, 400.0, 90_000.0])),
    st.tuples(st.just("purge")),
)
fault = st.one_of(
    st.tuples(st.just("daemon killed"), st.sampled_from(["", "torn ledger", "no ledger", "stale ledger", "no state"])),
    st.tuples(st.just("listing lags"), st.integers(1, 3)),
    st.tuples(st.just("answer"), st.sampled_from([429, 500, 503, 412]), st.integers(1, 2)),
    st.tuples(st.just("too many")),
    st.tuples(st.just("lost"), st.integers(0, 1)),
    st.tuples(st.just("drop")),
    st.tuples(st.just("partial"), st.sampled_from(["metrics", "r/", "media", "."])),
    st.tuples(st.just("store fails"), st.sampled_from([500, 403])),
    st.tuples(st.just("token"), st.booleans()),
    st.tuples(st.just("hub"), st.booleans()),
)
# What a fault does shows only where rows wait: each is followed by more work and a pass.
burst = st.tuples(
    st.lists(work, max_size=4),
    st.lists(fault, max_size=2),
    st.lists(work, max_size=2),
).map(lambda parts: [*parts[0], *parts[1], ("log", *WHO, 2), ("seal",), *parts[2], ("pass", 15.0)])


class World:
    """A root with runs of two writers each, and a Hub that goes wrong in every way."""

    def __init__(self, hub, kind, root):
        self.hub, self.kind, self.root = hub, kind, root
        self.time = Time()
        hub.reset()
        self.token = hub.add_user("me", is_pro=True)
        os.environ[TOKEN[kind]] = self.token  # monkeypatch put one there, and puts the old one back
        self.target = make_target(hub, kind)
        self.folders = {run: RunFolder(root=root, project="p", run_id=run) for run in RUNS}
        for folder in self.folders.values():
            folder.path.mkdir(parents=True)
            self.known = bind_run(self.target, folder)
        self.journals = {}
        self.sealers = {}
        self.logged = Counter()
        self.media = {}
        self.is_purged = False
        self.behind_s = 0.0
        self.old_ledger = b""
        self.is_down = False
        self.courier = courier_of(self.known, self.time, num_files=7)

    def writer(self, run, writer):
        if (run, writer) not in self.journals:
            header = make_header(run_id=run, writer=writer)
            folder = self.folders[run]
            self.journals[run, writer] = JournalWriter(folder.journal, header, segment_bytes=600)
            self.sealers[run, writer] = WriterSealer(folder, writer)
        return self.journals[run, writer]

    def log(self, run, writer, count):
        if run == DOOMED and self.is_purged:
            return
        journal = self.writer(run, writer)
        for _ in range(count):
            if journal.seq % 3 == 1:
                journal.event("config", {"values": {"seq": journal.seq}})
                self.logged["events", "p", run, writer, journal.seq, "config"] += 1
            elif journal.seq % 3 == 2:
                name = f"media/{journal.seq}/{writer}.bin"
                path = self.folders[run].path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(f"{run} {writer} {journal.seq}".encode())
                self.media[f"p/{run}/{name}"] = path.read_bytes()
                journal.mixed(journal.seq, ("a",), [1.0], [("t", "image", {}, name)])
                self.logged["metrics", "p", run, writer, journal.seq, "a"] += 1
                self.logged["objects", "p", run, writer, journal.seq, "t"] += 1
            else:
                journal.metrics(journal.seq, ("a", "b"), [1.0, 2.0])
                self.logged["metrics", "p", run, writer, journal.seq, "a"] += 1
                self.logged["metrics", "p", run, writer, journal.seq, "b"] += 1

    def seal(self):
        for sealer in self.sealers.values():
            sealer.seal()

    def compact(self, run, is_closed):
        if run == DOOMED and self.is_purged:
            return
        for kind in KINDS:
            folder = self.folders[run].shards(kind)
            writers = [writer for writer in WRITERS if (run, writer) in self.sealers]
            compact_folder(folder, kind, closed_writers=writers if is_closed else [], own_writers=writers)
            drop_covered(folder, grace_s=0)

    def purge(self):
        """A person deletes a run and empties the bin, before the target heard of either."""
        if self.is_purged:
            return
        self.is_purged = True
        for who in [who for who in self.journals if who[0] == DOOMED]:
            self.journals.pop(who).close()
            self.sealers.pop(who)
        folder = self.folders[DOOMED]
        FolderChanges().change(folder, Change.parse("delete", {}), time_us=1)
        FolderChanges().purge(folder)
        self.logged = Counter({row: count for row, count in self.logged.items() if row[2] != DOOMED})
        self.media = {path: data for path, data in self.media.items() if not path.startswith(f"p/{DOOMED}/")}

    def do_pass(self, seconds, courier=None):
        self.time.pass_by(seconds)
        (courier or self.courier).step()
        with contextlib.suppress(FileNotFoundError):
            self.old_ledger = self.old_ledger or self.known.ledger.read_bytes()

    def do_pass_elsewhere(self, seconds):
        self.do_pass(seconds, courier_of(self.known, self.time, num_files=5))

    def jump(self, seconds):
        self.behind_s += max(0.0, -seconds)
        self.time.jump(seconds)

    def kill_daemon(self, damage):
        ledger = self.known.ledger
        if ledger.exists() and damage == "torn ledger":
            ledger.write_bytes(ledger.read_bytes()[:-7])
        elif damage == "no ledger":
            ledger.unlink(missing_ok=True)
        elif damage == "stale ledger" and self.old_ledger:
            ledger.write_bytes(self.old_ledger)
        elif damage == "no state":
            self.known.state.unlink(missing_ok=True)
        self.courier = courier_of(self.known, self.time, num_files=7)

    def do(self, name, *arguments):
        """One step of a schedule."""
        actions = {
            "log": self.log,
            "seal": self.seal,
            "compact": self.compact,
            "pass": self.do_pass,
            "pass of another process": self.do_pass_elsewhere,
            "jump": self.jump,
            "purge": self.purge,
            "daemon killed": self.kill_daemon,
            "token": lambda works: (self.hub.revive if works else self.hub.expire)(self.token),
            "hub": self.switch_hub,
        }
        if name in actions:
            actions[name](*arguments)
        else:
            self.go_wrong(name, *arguments)

    def go_wrong(self, name, *arguments):
        api, write = API[self.kind], WRITE[self.kind]
        asked_to_wait = {"Retry-After": "20", "RateLimit": '"api";r=0;t=20'}
        # Six times is more often than the client itself tries.
        rules = {
            "listing lags": lambda operations: ("/tree", {"kind": "lag", "operations": operations, "times": 2}),
            "answer": lambda status, times: (api, {"kind": "status", "status": status, "times": times}),
            "too many": lambda: (api, {"kind": "status", "status": 429, "headers": asked_to_wait}),
            "lost": lambda skip: (write, {"kind": "lost", "times": 6, "skip": skip}),
            "drop": lambda: (write, {"kind": "drop", "times": 6}),
            "partial": lambda paths: (write, {"kind": "partial", "paths": paths}),
            "store fails": lambda status: ("/cas/v1/xorbs", {"kind": "status", "status": status}),
        }
        path, options = rules[name](*arguments)
        self.hub.fail(path, **options)

    def switch_hub(self, is_up):
        if is_up:
            self.hub.up()
        elif not self.is_down:
            self.hub.down()
        self.is_down = not is_up

    def recover(self):
        """All is well again, and some passes are made: as many as it takes, within a bound."""
        self.hub.clear_faults()
        self.hub.up()
        self.hub.revive(self.token)
        self.time.jump(self.behind_s)
        self.seal()
        for _ in range(RECOVERY_PASSES):
            self.time.pass_by(400.0)
            self.courier.step(is_full=True)
            view = self.courier.view
            if not view.has_work and not view.num_deletes_later:
                return
        raise AssertionError(f"not at rest: {self.courier.view}, {self.courier.state}, {self.courier.last_error}")

    def check(self):
        found = truth(self.hub, self.target)
        rows = Counter()
        for kind in KINDS:
            rows.update({(kind, *row): count for row, count in rows_in(found, kind).items()})
        assert rows == self.logged
        assert not (self.is_purged and [path for path in found if path.startswith(f"p/{DOOMED}/")])
        assert {path: data for path, data in found.items() if "/media/" in path} == self.media

    def close(self):
        for journal in self.journals.values():
            journal.close()


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_WRITE_TOKEN", "another")
    found = FaultyServer(tmp_path)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["bucket", "dataset", "server"])
@settings(
    # As many as the profile says, for each kind of target: `--hypothesis-profile=ci`.
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(schedule=st.lists(burst, min_size=1, max_size=5))
def test_every_row_is_in_the_target_once_after_any_faults(hub, server, no_waits, kind, schedule):
    home = Path(tempfile.mkdtemp(prefix="board-"))
    world = World(server if kind == "server" else hub, kind, home / "root")
    try:
        for name, *arguments in itertools.chain.from_iterable(schedule):
            world.do(name, *arguments)
        world.recover()
        world.check()
    finally:
        world.close()
        world.hub.clear_faults()
        world.hub.up()
        shutil.rmtree(home)
