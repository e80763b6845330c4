"""Merging what lies in a bucket or dataset, with every row counted once at each moment."""

import pytest

from tests.daemon.sending import Time, courier_of, make_run, make_target, no_waits, rows_in, truth
from tests.hub_server.fixtures import hub, hub_home, hub_server
from tests.shards.conftest import make_header
from trackio_like.daemon.compact_remote import compact_remote, plan_remote
from trackio_like.daemon.kinds import KINDS_OF_TARGETS
from trackio_like.daemon.ledger import Ledger
from trackio_like.errors import RemoteError, RemoteInvalidError
from trackio_like.format.names import ShardName
from trackio_like.journal.writer import JournalWriter
from trackio_like.shards.seal import WriterSealer

__all__ = ["hub", "hub_home", "hub_server", "no_waits"]

A = "w-1-aa"
FAR_S = 4e9
"""Long after everything here was logged."""


@pytest.fixture(params=["bucket", "dataset"])
def store(hub, root, request, tmp_path):
    """A target that holds five small shards of one writer, whose root is gone; and what to compact it with."""
    target = make_target(hub, request.param)
    folder, known = make_run(root, target)
    journal = JournalWriter(folder.journal, make_header(writer=A))
    sealer = WriterSealer(folder, A)
    for i in range(5):
        journal.metrics(i, ("a", "b"), [1.0, float(i)])
        sealer.seal()
    journal.close()
    courier = courier_of(known, Time())
    courier.step()
    assert len(truth(hub, target)) == 5
    sender = KINDS_OF_TARGETS[target.kind].make_sender(target, hub.tokens["me"])

    def fetch(path, file, num_bytes):
        content = truth(hub, target)[path]
        assert len(content) == num_bytes
        file.write_bytes(content)

    ledger = Ledger(tmp_path / "seen")

    def compact(**options):
        return compact_remote(sender, fetch, ledger, **{"now_s": FAR_S, "grace_s": 300.0, **options})

    return target, compact


def test_small_shards_become_one_and_go_after_the_grace(hub, store):
    target, compact = store
    rows = rows_in(truth(hub, target))
    first = compact()
    assert (first.num_merged, first.num_made, first.num_deleted, first.num_covered) == (5, 1, 0, 5)
    assert rows_in(truth(hub, target)) == rows
    too_early = compact(now_s=FAR_S + 299)
    assert (too_early.num_made, too_early.num_deleted, too_early.num_covered) == (0, 0, 5)
    last = compact(now_s=FAR_S + 300)
    assert (last.num_deleted, last.num_covered) == (5, 0)
    assert list(truth(hub, target)) == [f"p/r/metrics/{A}-1-5.parquet"]
    assert rows_in(truth(hub, target)) == rows
    assert set(rows.values()) == {1}


def test_a_run_that_was_logged_into_a_moment_ago_is_left_alone_unless_forced(hub, store):
    target, compact = store
    with pytest.raises(RemoteInvalidError, match="Wait until it has ended, or force it"):
        compact(quiet_s=FAR_S)
    assert len(truth(hub, target)) == 5
    assert compact(quiet_s=FAR_S, force=True).num_made == 1


def test_an_interruption_leaves_every_row_and_the_next_call_goes_on(hub, store, no_waits):
    target, compact = store
    rows = rows_in(truth(hub, target))
    hub.fail("/batch$|/commit/", kind="lost", times=None)
    with pytest.raises(RemoteError):
        compact()
    hub.clear_faults()
    assert rows_in(truth(hub, target)) == rows
    compact()
    compact(now_s=FAR_S + 600)
    assert rows_in(truth(hub, target)) == rows
    assert len(truth(hub, target)) == 1


def test_only_neighbours_of_one_writer_and_folder_are_merged():
    paths = ["p/r/metrics/a-1-1.parquet", "p/r/metrics/a-2-2.parquet", "p/r/metrics/b-1-1.parquet"]
    paths += ["p/r/events/a-1-1.parquet", "p/s/metrics/a-1-1.parquet", "p/r/media/1/x.png", "README.md"]
    assert plan_remote(dict.fromkeys(paths, 100)) == [
        ("p/r/metrics", (ShardName(writer="a", first=1, last=1), ShardName(writer="a", first=2, last=2)))
    ]
