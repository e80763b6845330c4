"""Worker processes: the same surface, whatever happens to them, and none left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import torch
from torch import nn

import trackio_like
from trackio_like.landscape import LandscapeError, NeedsMemoryError, workers
from trackio_like.landscape.plan import Needs, Way
from trackio_like.landscape.session import Evaluation
from trackio_like.landscape.workers import affordable, check_workers
from trackio_like.module_state.keeping import checksum


@pytest.fixture(autouse=True)
def two_threads():
    """The pool of two threads is there when workers are forked: a parallel region in one of them would hang."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.randn(400, 400) @ torch.randn(400, 400)
    torch.randn(200_000).exp().sum()
    yield
    torch.set_num_threads(before)


def model(hidden=64) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 4))


def batches(num=2, size=64):
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(size, 6, generator=generator), torch.randint(0, 4, (size,), generator=generator))
        for _ in range(num)
    ]


def evaluated(net=None, loader=None, **options):
    evaluation = Evaluation(
        net or model(), loader or batches(), **{"n": 11, "exact": True, "mode": "serial", **options}
    )
    evaluation.run()
    return evaluation.result()


@pytest.fixture(scope="module")
def alone():
    return evaluated().z_RC


@pytest.fixture(autouse=True)
def others() -> None:
    """Processes that other tests share, such as a dashboard, are no workers."""
    _others.clear()
    _others.update(psutil.Process().children())


_others: set[psutil.Process] = set()


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child not in _others]


def test_workers_give_the_surface_that_one_process_gives(alone):
    result = evaluated(workers=2)
    assert result.meta["workers"] == 2
    assert "notes" not in result.meta
    assert np.abs(result.z_RC / alone - 1).max() < 1e-6
    assert not children()


def test_several_points_at_once_are_shared_too(alone):
    result = evaluated(workers=1, mode="vector", chunk=7)
    assert result.meta["mode"] == "vector"
    assert np.abs(result.z_RC / alone - 1).max() < 1e-5


def test_the_model_is_untouched_and_batch_norm_statistics_are_each_workers_own():
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
    before = checksum(net)
    one = evaluated(net, bn="recalibrate").z_RC
    two = evaluated(net, bn="recalibrate", workers=1).z_RC
    assert np.abs(two / one - 1).max() < 1e-6
    assert checksum(net) == before


def test_points_of_a_killed_worker_are_measured_by_this_process(alone):
    def kill(measured, _planned):
        if measured == 10:
            killed = children()[0]
            killed.kill()
            await_status(killed, {psutil.STATUS_ZOMBIE})

    result = evaluated(workers=2, on_progress=kill)
    assert result.meta["is_complete"]
    assert result.meta["notes"] == ["a worker ended, and the others went on: it was killed"]
    assert np.abs(result.z_RC / alone - 1).max() < 1e-6


def in_workers(act):
    """A loss that acts in workers; beyond the centre, which it measures alone, this process waits until they have."""
    parent = os.getpid()
    num_calls = 0

    def loss_fn(net, batch):
        nonlocal num_calls
        if os.getpid() != parent:
            act()
        num_calls += bool(children())
        for child in children() if num_calls > len(batches()) else []:
            await_status(child, {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE})
        return nn.functional.cross_entropy(net(batch[0]).double(), batch[1])

    return loss_fn


def await_status(child: psutil.Process, wanted: set[str]) -> None:
    until = time.monotonic() + 20
    while child.status() not in wanted:
        assert time.monotonic() < until
        os.sched_yield()


def test_a_worker_that_hangs_is_ended(alone, monkeypatch):
    monkeypatch.setattr(workers, "_PATIENCE_S", 0.2)
    result = evaluated(workers=1, loss_fn=in_workers(lambda: os.kill(os.getpid(), signal.SIGSTOP)))
    assert np.abs(result.z_RC / alone - 1).max() < 1e-6
    (note,) = result.meta["notes"]
    assert note.startswith("workers were silent for")
    assert not children()


def test_a_worker_that_fails_says_why_and_this_process_goes_on(alone):
    def fail():
        raise ValueError("only one process may do this")

    result = evaluated(workers=1, loss_fn=in_workers(fail))
    assert np.abs(result.z_RC / alone - 1).max() < 1e-6
    assert result.meta["notes"] == ["a worker ended, and the others went on: ValueError: only one process may do this"]


def test_ctrl_c_ends_the_workers_and_keeps_what_was_measured():
    def interrupt(measured, _planned):
        if measured == 20:
            raise KeyboardInterrupt

    net = model()
    before = checksum(net)
    evaluation = Evaluation(net, batches(), n=21, exact=True, workers=2, on_progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        evaluation.run()
    assert not children()
    assert checksum(net) == before
    result = evaluation.result()
    assert result is not None
    assert result.meta["is_complete"] is False
    assert result.is_measured_RC.sum() >= 20


def test_workers_leave_ctrl_c_to_this_process(alone):
    def interrupt_them(measured, _planned):
        if measured == 10:
            for child in children():
                child.send_signal(signal.SIGINT)

    result = evaluated(workers=2, on_progress=interrupt_them)
    assert "notes" not in result.meta
    assert np.abs(result.z_RC / alone - 1).max() < 1e-6


def test_a_time_limit_ends_the_workers():
    result = evaluated(model(hidden=256), batches(size=256), n=250, workers=1, time_limit_s=2)
    assert result.meta["is_complete"] is False
    assert "time limit" in result.meta["stopped"]
    assert not children()


def test_workers_end_with_this_process():
    script = """
import os, psutil, signal, sys, torch
from trackio_like.landscape.session import Evaluation
torch.set_num_threads(1)
def die(measured, planned):
    if measured == 5:
        print(*(child.pid for child in psutil.Process().children()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
net = torch.nn.Linear(6, 4)
Evaluation(net, [(torch.randn(8, 6), torch.zeros(8).long())], n=11, exact=True, workers=2, on_progress=die).run()
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    pids = [int(word) for word in found.stdout.split()]
    assert len(pids) == 2, found.stderr
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=10)
    assert not alive


def test_workers_write_nothing_for_a_run_that_is_open(root):
    with trackio_like.init("p") as run:
        run.log({"a": 1})
        before = sorted(root.rglob("*"))
        evaluated(workers=2)
        assert sorted(root.rglob("*")) == before


def test_a_model_that_several_processes_would_write_to_is_refused():
    net = model()
    net.share_memory()
    before = checksum(net)
    with pytest.raises(LandscapeError, match="shared memory"):
        evaluated(net, workers=1)
    assert checksum(net) == before


def test_a_model_on_another_device_is_refused():
    with pytest.raises(LandscapeError, match="workers= is for models on the CPU"):
        check_workers(1, nn.Linear(2, 2, device="meta"))


def test_as_many_workers_are_started_as_fit_the_memory():
    needs = Needs(
        moved_bytes=100, direction_bytes=100, forward_fixed_bytes=50, forward_bytes_per_sample=1,
        largest_weight_bytes=100, backup_bytes=100, data_bytes=0, largest_batch=10,
    )  # fmt: skip
    own = needs.of(Way())
    each = 60 + 100  # a forward pass, and the weights that it moves
    args = {"keeps_directions": True, "product_bytes": 0}
    assert affordable(5, needs, Way(), budget_bytes=own, **args) == 0
    assert affordable(5, needs, Way(), budget_bytes=own + 2 * each, **args) == 2
    assert affordable(5, needs, Way(), budget_bytes=own + 9 * each, **args) == 5


def test_workers_that_do_not_fit_are_not_started(alone):
    with pytest.raises(NeedsMemoryError) as error:
        evaluated(memory_budget=1)
    (budget,) = re.findall(r"memory_budget=(\d+)", str(error.value))
    result = evaluated(workers=9, memory_budget=int(budget))
    assert result.meta["workers"] < 9
    assert f"{result.meta['workers']} of 9 workers fit the memory budget" in result.meta["notes"]
    assert np.abs(result.z_RC / alone - 1).max() < 1e-6
