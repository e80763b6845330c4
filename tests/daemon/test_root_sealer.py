"""One pass over a root: whose journals are sealed, and what is recorded of writers that vanished."""

import os
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.shards.conftest import make_header, read_kind, read_metrics, shard_names
from trackio_like.daemon.lease import HOSTS_FOLDER, KEEP_ADOPTED_S, LEASE_S, Lease
from trackio_like.daemon.retry import HOPELESS_AFTER, LONGEST_DELAY_S, Retry
from trackio_like.daemon.root_sealer import RootSealer
from trackio_like.format.names import RunFolder
from trackio_like.journal.writer import JournalWriter
from trackio_like.run.host import host_identity, process_started


def own_header(**changes):
    started = process_started(os.getpid())
    return make_header(**{"host": host_identity(), "pid": os.getpid(), "process_started": started, **changes})


def make_old(path, age_s):
    then = time.time() - age_s
    os.utime(path, (then, then))


@pytest.fixture
def run(root):
    return RunFolder(root=root, project="p", run_id="r")


def logged(run, header, *, count=3, finishes=False):
    journal = JournalWriter(run.journal, header)
    journal.event("init", {"name": "n"})
    for step in range(count):
        journal.metrics(step, ("a",), [float(step)])
    if finishes:
        journal.event("finish", {"state": "finished"})
    journal.close()


def event_types(run):
    return [row["type"] for row in read_kind(run, "events")]


def test_a_finished_writer_is_sealed_and_its_journal_deleted(root, run):
    logged(run, own_header(), finishes=True)
    report = RootSealer(root).run_pass()
    assert (report.num_calls, report.num_open) == (5, 0)
    assert [row["value"] for row in read_kind(run, "metrics")] == [0.0, 1.0, 2.0]
    assert event_types(run) == ["init", "finish"]
    assert list(run.journal.iterdir()) == []


def test_an_open_writer_is_sealed_and_its_journal_kept(root, run):
    journal = JournalWriter(run.journal, own_header())
    sealer = RootSealer(root)
    for step in range(3):
        journal.metrics(step, ("a",), [1.0])
        assert sealer.run_pass().num_open == 1
    assert len(read_kind(run, "metrics")) == 3
    assert list(run.journal.glob("*.journal"))
    journal.close()


def test_a_writer_whose_process_is_gone_is_recorded_as_crashed_once(root, run):
    logged(run, own_header())
    sealer = RootSealer(root, is_process_alive=lambda *_: False)
    sealer.run_pass()
    sealer.run_pass()
    RootSealer(root, is_process_alive=lambda *_: False).run_pass()
    assert sorted(event_types(run)) == ["crash", "init"]
    (crash,) = [row for row in read_kind(run, "events") if row["type"] == "crash"]
    assert crash["payload"] == {"writer": own_header().writer}
    assert list(run.journal.iterdir()) == []


def test_a_later_process_of_the_same_pid_is_not_the_writer(root, run):
    logged(run, own_header(process_started=process_started(os.getpid()) - 1000))
    RootSealer(root).run_pass()
    assert "crash" in event_types(run)


def test_a_daemon_killed_before_it_deleted_a_finished_journal_records_no_crash(root, run):
    logged(run, own_header(), finishes=True)
    journal = next(run.journal.glob("*.journal"))
    kept = journal.read_bytes()
    RootSealer(root).run_pass()
    journal.write_bytes(kept)
    RootSealer(root, is_process_alive=lambda *_: False).run_pass()
    assert "crash" not in event_types(run)
    assert len(read_kind(run, "metrics")) == 3


def test_the_journal_of_another_host_is_left_to_it(root, run):
    logged(run, own_header(host="other/1"))
    RootSealer(root).run_pass()
    assert not run.shards("metrics").exists()
    assert list(run.journal.glob("*.journal"))


def test_the_journal_of_a_host_that_is_gone_is_adopted_and_kept_for_a_day(root, run):
    logged(run, own_header(host="other/1"))
    (journal,) = run.journal.glob("*.journal")
    make_old(journal, LEASE_S + 60)
    sealer = RootSealer(root)
    sealer.run_pass()
    assert [row["value"] for row in read_kind(run, "metrics")] == [0.0, 1.0, 2.0]
    assert event_types(run).count("crash") == 1
    assert journal.exists()
    sealer.run_pass()
    assert event_types(run).count("crash") == 1
    make_old(journal, KEEP_ADOPTED_S + 60)
    sealer.run_pass()
    assert list(run.journal.iterdir()) == []


def test_a_sign_of_life_keeps_a_quiet_hosts_journal_from_being_adopted(root, run):
    logged(run, own_header(host="other/1"))
    (journal,) = run.journal.glob("*.journal")
    make_old(journal, LEASE_S + 60)
    Lease(root, "other/1").renew()
    RootSealer(root).run_pass()
    assert not run.shards("metrics").exists()


def test_two_hosts_do_not_adopt_one_journal_at_once(root, run):
    logged(run, own_header(host="other/1"))
    (journal,) = run.journal.glob("*.journal")
    make_old(journal, LEASE_S + 60)
    first, second = Lease(root, "a/1"), Lease(root, "b/1")
    first.renew()
    second.renew()
    assert first.claim(run.journal, "w")
    assert not second.claim(run.journal, "w")
    assert first.claim(run.journal, "w")
    make_old(run.journal / "w.claim", LEASE_S + 60)
    assert second.claim(run.journal, "w")
    assert not first.claim(run.journal, "w")


def test_a_host_that_only_slept_may_go_on_and_loses_nothing(root, run):
    journal = JournalWriter(run.journal, own_header(host="other/1"))
    journal.metrics(0, ("a",), [0.0])
    (path,) = run.journal.glob("*.journal")
    make_old(path, LEASE_S + 60)
    sealer = RootSealer(root)
    sealer.run_pass()
    journal.metrics(1, ("a",), [1.0])
    journal.close()
    assert [row[2] for row in read_metrics(run)] == [0, 1]
    make_old(path, LEASE_S + 60)
    sealer.run_pass()
    assert [row["value"] for row in read_kind(run, "metrics")] == [0.0, 1.0]


def test_a_fault_in_one_writers_files_does_not_keep_others_from_being_sealed(root, run, caplog):
    bad = RunFolder(root=root, project="p", run_id="bad")
    logged(bad, own_header(run_id="bad"))
    bad.shards("metrics").write_bytes(b"")
    logged(run, own_header(writer="host-2-00000000"), finishes=True)
    report = RootSealer(root).run_pass()
    assert report.num_waiting >= 1
    assert len(read_kind(run, "metrics")) == 3
    assert "its journal keeps every row" in caplog.text
    bad.shards("metrics").unlink()
    RootSealer(root).run_pass()
    assert len(read_kind(bad, "metrics")) == 3


def test_a_journal_that_was_deleted_is_forgotten(root, run):
    journal = JournalWriter(run.journal, own_header())
    sealer = RootSealer(root)
    assert sealer.run_pass().num_open == 1
    for path in run.journal.iterdir():
        path.unlink()
    assert sealer.run_pass().num_open == 0
    journal.close()


def test_a_journal_that_has_no_header_yet_is_waited_for(root, run):
    run.journal.mkdir(parents=True)
    path = run.journal / "host-1-00000000.1.journal"
    path.write_bytes(b"")
    sealer = RootSealer(root)
    sealer.run_pass()
    assert path.exists()
    make_old(path, KEEP_ADOPTED_S + 60)
    sealer.run_pass()
    assert not path.exists()


def test_what_an_earlier_daemon_left_uncompacted_is_compacted(root, run):
    journal = JournalWriter(run.journal, own_header())
    sealer = RootSealer(root)
    for step in range(5):
        journal.metrics(step, ("a",), [1.0])
        sealer.run_pass()
    journal.close()
    for path in run.journal.iterdir():
        path.unlink()
    before = len(shard_names(run.shards("metrics")))
    report = RootSealer(root).run_pass()
    assert before == 5
    assert report.num_waiting >= 1  # the covered ones wait for readers to be done with them
    assert len(read_kind(run, "metrics")) == 5
    assert any((name.first, name.last) == (1, 5) for name in shard_names(run.shards("metrics")))


def test_many_small_shards_become_few_while_a_writer_is_open(root, run):
    journal = JournalWriter(run.journal, own_header())
    sealer = RootSealer(root)
    for step in range(20):
        journal.metrics(step, ("a",), [float(step)])
        sealer.run_pass()
    names = shard_names(run.shards("metrics"))
    assert any(name.last - name.first >= 7 for name in names)
    assert [row["value"] for row in read_kind(run, "metrics")] == [float(step) for step in range(20)]
    journal.close()


def test_a_run_that_is_resumed_is_sealed_in_the_next_pass(root, run):
    logged(run, own_header(), finishes=True)
    sealer = RootSealer(root)
    sealer.run_pass()
    logged(run, own_header(writer="host-3-00000000", attempt=2), finishes=True)
    sealer.run_pass()
    assert len(read_kind(run, "metrics")) == 6


def test_strangers_files_in_the_root_do_no_harm(root, run):
    logged(run, own_header(), finishes=True)
    (root / "notes.txt").write_text("mine")
    (root / "p" / "readme").write_text("mine")
    (root / ".git" / "x").mkdir(parents=True)
    (run.journal / "other.txt").write_text("mine")
    RootSealer(root).run_pass()
    assert len(read_kind(run, "metrics")) == 3
    assert (root / "notes.txt").exists()
    assert (root / HOSTS_FOLDER).is_dir()


def test_the_wait_between_tries_doubles_to_a_limit():
    retry, delays = Retry(), []
    for _ in range(HOPELESS_AFTER):
        assert not retry.is_hopeless
        retry = retry.after_failure(100.0)
        delays.append(retry.due_s - 100.0)
    assert delays[:4] == [1.0, 2.0, 4.0, 8.0]
    assert delays[-1] == LONGEST_DELAY_S
    assert retry.is_hopeless


def _strange_file(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not ours")


def _strange_footer(path):
    path.parent.mkdir(parents=True)
    table = pa.table({"seq": [1]}).replace_schema_metadata({b"trackio_like": b"{}"})
    for seq in (1, 2):
        pq.write_table(table, path.parent / f"x-1-1-{seq}-{seq}.parquet")


STRANGERS = {
    "a folder name that is no encoding": lambda root: (root / "%ff" / "x").mkdir(parents=True),
    "a run folder name that is no encoding": lambda root: (root / "p" / "%ff").mkdir(parents=True),
    "a folder name longer than any of ours": lambda root: (root / "p" / ("z" * 230)).mkdir(parents=True),
    "a file where journals should be": lambda root: _strange_file(root / "p" / "0" / "journal"),
    "a journal of another program": lambda root: _strange_file(root / "p" / "0" / "journal" / "x-1-1.1.journal"),
    "a shard of another program": lambda root: _strange_file(root / "p" / "0" / "metrics" / "x-1-1-1-1.parquet"),
    "a shard whose footer lacks fields": lambda root: _strange_footer(root / "p" / "0" / "metrics" / "x"),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_what_others_put_into_a_root_keeps_no_run_from_being_sealed(root, run, stranger):
    STRANGERS[stranger](root)
    logged(run, own_header())
    sealer = RootSealer(root)
    assert [sealer.run_pass().num_open for _ in range(2)] == [1, 1]
    assert len(read_kind(run, "metrics")) == 3
    assert sealer.has_open_writers()


def test_a_run_that_may_not_be_read_keeps_no_other_from_being_sealed(root, run):
    (root / "p" / "0").mkdir(parents=True)
    (root / "p" / "0" / "journal").symlink_to("journal")  # a loop is refused also to those who may read everything
    logged(run, own_header())
    sealer = RootSealer(root)
    assert sealer.run_pass().num_open == 1
    assert sealer.has_open_writers()


def test_a_run_whose_journals_could_not_be_listed_is_sealed_once_they_can(root, run):
    sealer = RootSealer(root)
    run.path.mkdir(parents=True)
    run.journal.write_bytes(b"")
    then = os.stat(run.journal).st_mtime_ns
    sealer.run_pass()
    run.journal.unlink()
    logged(run, own_header())
    os.utime(run.journal, ns=(then, then))
    assert max(sealer.run_pass().num_open for _ in range(6)) == 1
