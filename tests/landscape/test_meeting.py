"""How ranks find each other, and what they send: over a store in memory, ranks being threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed, nn

from trackio_like.landscape import job_store
from trackio_like.landscape.job_store import Heard, JobGoneError, JobStore
from trackio_like.landscape.meeting import Card, Party, card_of, meet
from trackio_like.landscape.options import Options
from trackio_like.landscape.plan import Way
from trackio_like.landscape.rounds import Tickets, cut
from trackio_like.landscape.tune import Choice


@pytest.fixture
def store():
    return JobStore(distributed.HashStore(), "test")


def card(what="w") -> Card:
    return Card(what=what, batches="b", buffers="c")


def met(store, kinds, *, num_ranks=None, most_s=20.0):
    with ThreadPoolExecutor(len(kinds)) as pool:
        asked = [
            pool.submit(meet, store, rank=rank, num_ranks=num_ranks or len(kinds), card=card(kind), most_s=most_s)
            for rank, kind in enumerate(kinds)
        ]
        return [answer.result() for answer in asked]


def test_all_ranks_work_together_and_the_lowest_leads(store):
    for _ in range(3):
        found = met(store, "www")
        assert [list(party.cards) for party in found] == [[0, 1, 2]] * 3
        assert [party.leader for party in found] == [0, 0, 0]


def test_ranks_that_say_the_same_work_together(store):
    found = met(store, "abab")
    assert [list(party.cards) for party in found] == [[0, 2], [1, 3]] * 2
    assert found[1].leader == 1


def test_nobody_waits_for_a_rank_that_does_not_come(store):
    first, second = met(store, "ww", num_ranks=3, most_s=0.2)
    assert list(first.cards) == list(second.cards) == [0, 1]
    assert first.notes == ("did not come within 0.2 s: ranks 2",)


def test_a_rank_alone_is_told_so(store):
    (found,) = met(store, "w", num_ranks=2, most_s=0.1)
    assert found == "no other rank came within 0.1 s to share the points"


def test_who_comes_late_finds_the_next_room(store):
    met(store, "w", num_ranks=2, most_s=0.05)
    assert all(isinstance(party, Party) for party in met(store, "ww"))


def test_cards_differ_by_weights_and_by_what_changes_the_surface():
    net, options = nn.Linear(2, 2), Options()
    known = card_of(net, options, "b")
    assert card_of(net, options, "b") == known
    assert card_of(net, Options(seed=1), "b").what != known.what
    assert card_of(net, Options(time_limit_s=9.0, workers=2), "b") == known
    with torch.no_grad():
        net.weight += 1
    assert card_of(net, options, "b").what != known.what


def test_what_is_sent_arrives_in_pieces(store, monkeypatch):
    monkeypatch.setattr(job_store, "_PIECE_BYTES", 1000)
    sent = {"items": [(torch.arange(2000), {"a": torch.randn(3, 3)})], "none": None}
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(store.receive, "key", Heard(store))
        store.send("key", sent)
        found = received.result()
    assert torch.equal(found["items"][0][0], sent["items"][0][0])
    assert torch.equal(found["items"][0][1]["a"], sent["items"][0][1]["a"])
    assert found["none"] is None
    store.forget()
    assert not store.has("key")
    assert not store.has("key/0")


def test_what_cannot_be_sent_says_why(store, monkeypatch):
    store.send("lock", threading.Lock())
    with pytest.raises(JobGoneError, match="cannot be sent"):
        store.receive("lock", Heard(store))
    monkeypatch.setattr(job_store, "MOST_BYTES", 100)
    store.send("large", torch.zeros(1000))
    with pytest.raises(JobGoneError, match="too much to send"):
        store.receive("large", Heard(store))


def test_a_rank_that_says_nothing_any_more_is_not_waited_for(store, monkeypatch):
    monkeypatch.setattr(job_store, "_BEAT_S", 0.01)
    monkeypatch.setattr(job_store, "_PATIENCE_S", 0.1)
    with pytest.raises(JobGoneError, match="the rank that leads was silent"):
        store.receive("never", Heard(store))


@given(st.integers(1, 400), st.integers(2, 9), st.sampled_from([1, 4, 64]), st.floats(1e-6, 10))
def test_tickets_hold_each_point_once_and_are_enough_for_all(num_points, num_ranks, chunk, seconds):
    way = Way(mode="vector" if chunk > 1 else "serial", chunk=chunk)
    points = [(float(i), -float(i)) for i in range(num_points)]
    tickets = cut(points, Choice(way=way, seconds_per_point={way.mode: seconds}), num_ranks=num_ranks)
    tickets = Tickets.unpacked(tickets.packed())
    held = [pair for ticket in range(tickets.num + 2) for pair in tickets.of(ticket)]
    assert held == list(enumerate(points))
    assert tickets.size <= -(-num_points // num_ranks)  # nobody holds more than an equal share
