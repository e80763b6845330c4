"""Ranks of a job: the surface of one rank, whoever takes part, and whoever dies."""

from __future__ import annotations

import os
import signal
import socket
import time

import numpy as np
import pytest
import torch
from torch import distributed, nn

from tests.landscape.job import ranks
from trackio_like.landscape.session import Evaluation
from trackio_like.module_state.keeping import checksum


def model(seed=0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.Tanh(), nn.Linear(32, 4))


def batches(seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(64, 6, generator=generator), torch.randint(0, 4, (64,), generator=generator)) for _ in range(2)
    ]


def evaluated(net=None, loader=None, **options):
    evaluation = Evaluation(
        net or model(), loader or batches(), **{"n": 11, "exact": True, "mode": "serial", **options}
    )
    evaluation.run()
    return evaluation.result()


def same(left, right) -> bool:
    return bool(np.abs(left.z_RC / right.z_RC - 1).max() <= 1e-6)


def notes(result) -> str:
    return "; ".join(result.meta.get("notes", []))


def await_file(path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until
        os.sched_yield()


@pytest.fixture
def init_method(tmp_path) -> str:
    return f"file://{tmp_path}/store"


@pytest.fixture(scope="module")
def alone():
    return evaluated()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"exact": False, "n": 31},
        {"mode": "vector", "chunk": 4},
        {"line": True, "n": 41},
        {"directions": "hessian"},
        {"bn": "recalibrate"},
    ],
    ids=str,
)
def test_two_ranks_give_the_surface_of_one(options, init_method):
    found = ranks(lambda _: evaluated(**options), init_method=init_method)
    one = evaluated(**options)
    assert all(same(result, one) for result in found)
    assert np.array_equal(found[0].z_RC, found[1].z_RC, equal_nan=True)
    assert np.array_equal(found[0].is_measured_RC, one.is_measured_RC)
    for result in found:
        assert result.meta["ranks"] == 2
        assert result.meta["error_estimate"] == pytest.approx(one.meta["error_estimate"], rel=1e-3)
        assert result.meta["is_complete"]
        assert "notes" not in result.meta


def test_both_ranks_measure(tmp_path, init_method):
    def work(rank):
        done = tmp_path / "rank 1 has measured"
        num_calls = 0

        def loss_fn(net, batch):
            nonlocal num_calls
            num_calls += 1
            if rank == 1 and num_calls > 60:
                done.touch()
            return nn.functional.cross_entropy(net(batch[0]).double(), batch[1])

        return evaluated(loss_fn=loss_fn, on_progress=lambda *_: await_file(done))

    found = ranks(work, init_method=init_method)
    per_rank = found[0].meta["points_per_rank"]
    assert per_rank["1"] > 10
    assert sum(per_rank.values()) >= found[0].is_measured_RC.sum()
    assert per_rank == found[1].meta["points_per_rank"]


def test_all_take_the_batches_and_running_statistics_of_the_first_rank(init_method):
    def work(rank):
        net = model()
        net[1].running_mean += rank
        before = checksum(net)
        result = evaluated(net, batches(seed=1 + rank))
        return result, checksum(net) == before, float(net[1].running_mean[0])

    found = ranks(work, num=3, init_method=init_method)
    one = evaluated()
    assert all(same(result, one) for result, _, _ in found)
    assert {result.meta["batches_sha256"] for result, _, _ in found} == {one.meta["batches_sha256"]}
    assert [result.meta["ranks"] for result, _, _ in found] == [3, 3, 3]
    assert [is_same for _, is_same, _ in found] == [True] * 3
    assert [mean for _, _, mean in found] == [0, 1, 2]


def test_a_rank_that_is_asked_alone_waits_shortly_and_measures_alone(alone, init_method):
    def work(rank):
        results = [evaluated(), evaluated()] if rank == 0 else []
        distributed.barrier()
        return results

    first, second = ranks(work, init_method=init_method)[0]
    assert same(first, alone)
    assert same(second, alone)
    assert first.meta["ranks"] == second.meta["ranks"] == 1
    assert 4.9 < first.meta["waited_s"] < 8
    assert second.meta["waited_s"] < 3
    assert "no other rank came within 5 s" in notes(first)


def test_ranks_meet_after_one_was_alone(init_method):
    def work(rank):
        if rank == 0:
            evaluated(time_limit_s=4)
        distributed.barrier()
        return evaluated()

    assert [result.meta["ranks"] for result in ranks(work, init_method=init_method)] == [2, 2]


def test_ranks_with_other_weights_measure_their_own(init_method):
    found = ranks(lambda rank: evaluated(model(seed=rank // 2)), num=4, init_method=init_method)
    own = [evaluated(model(seed=0)), evaluated(model(seed=1))]
    assert all(same(result, own[rank // 2]) for rank, result in enumerate(found))
    assert [result.meta["ranks"] for result in found] == [2] * 4
    assert "other weights or options than here: ranks 2, 3" in notes(found[0])
    assert "other weights or options than here: ranks 0, 1" in notes(found[3])


def test_points_of_a_rank_that_was_killed_are_measured(tmp_path, init_method, alone):
    def work(rank):
        dies = tmp_path / "rank 1 dies"
        num_calls = 0

        def loss_fn(net, batch):
            nonlocal num_calls
            num_calls += 1
            if rank == 1 and num_calls > 60:
                dies.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return nn.functional.cross_entropy(net(batch[0]).double(), batch[1])

        return evaluated(loss_fn=loss_fn, on_progress=lambda *_: await_file(dies))

    survivor, killed = ranks(work, init_method=init_method)
    assert killed is None
    assert same(survivor, alone)
    assert survivor.meta["is_complete"]
    assert "points that other ranks did not answer were measured here" in notes(survivor)


def test_a_rank_goes_on_alone_where_the_one_that_leads_was_killed(alone):
    def work(rank):
        def die(measured, _):
            if measured == 20:
                os.kill(os.getpid(), signal.SIGKILL)

        return evaluated(on_progress=die if rank == 0 else None)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    killed, survivor = ranks(work, init_method=f"tcp://127.0.0.1:{port}")
    assert killed is None
    assert same(survivor, alone)
    assert survivor.meta["is_complete"]
    assert survivor.meta["ranks"] == 1
    assert "the job's store is gone" in notes(survivor)


def test_a_rank_goes_on_alone_where_the_one_that_leads_fails(alone, init_method):
    def work(rank):
        def fail(measured, _):
            if measured == 20:
                raise KeyboardInterrupt

        try:
            return evaluated(on_progress=fail if rank == 0 else None)
        except KeyboardInterrupt:
            return "interrupted"

    interrupted, survivor = ranks(work, init_method=init_method)
    assert interrupted == "interrupted"
    assert same(survivor, alone)
    assert "the rank that leads failed" in notes(survivor)


def test_all_have_what_was_measured_when_the_time_is_up(init_method):
    slow = {"loader": batches() * 20, "nbatches": 40}
    found = ranks(lambda _: evaluated(n=201, time_limit_s=2, **slow), init_method=init_method)
    assert [result.meta["is_complete"] for result in found] == [False, False]
    assert "time limit" in found[1].meta["stopped"]
    assert found[0].is_measured_RC.any()
    assert np.array_equal(found[0].z_RC, found[1].z_RC, equal_nan=True)


def test_workers_are_not_started_where_ranks_share_the_points(alone, init_method):
    found = ranks(lambda _: evaluated(workers=1), init_method=init_method)
    assert all(same(result, alone) for result in found)
    assert "no workers were started" in notes(found[0])


def test_layers_that_would_wait_for_all_ranks_are_refused(init_method):
    def work(_):
        net = nn.Sequential(nn.Linear(6, 4), nn.SyncBatchNorm(4))
        with pytest.raises(ValueError, match="SyncBatchNorm"):
            evaluated(net, bn="recalibrate")
        return "refused"

    assert ranks(work, init_method=init_method) == ["refused", "refused"]
