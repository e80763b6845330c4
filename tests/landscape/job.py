"""A job of `torch.distributed` in processes forked from the test: real gloo ranks that need no import."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch import distributed

_TIMEOUT_S = 40.0


def ranks(work: Callable[[int], Any], *, num: int = 2, init_method: str) -> list[Any]:
    """What each rank gives; None of one that was killed.

    Args:
        work: gets its rank; what it gives is pickled.
        num: how many ranks.
        init_method: where they meet, as torch has it.
    """
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(num)]
    processes = [
        context.Process(target=_rank, args=(work, rank, num, init_method, pipes[rank][1])) for rank in range(num)
    ]
    try:
        for process, (_, sender) in zip(processes, pipes, strict=True):
            process.start()
            sender.close()
        return [_answer(receiver) for receiver, _ in pipes]
    finally:
        for process in processes:
            process.kill()
            process.join()
            process.close()
        for receiver, _ in pipes:
            receiver.close()


def _rank(work: Callable[[int], Any], rank: int, num: int, init_method: str, sender: Any) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        distributed.init_process_group(
            "gloo", init_method=init_method, rank=rank, world_size=num, timeout=timedelta(seconds=_TIMEOUT_S)
        )
        sender.send((True, work(rank)))
    except BaseException:
        sender.send((False, traceback.format_exc()))
    # Without a farewell: other ranks may be dead.
    sender.close()
    os._exit(0)


def _answer(receiver: Any) -> Any:
    assert receiver.poll(_TIMEOUT_S), "a rank did not answer"
    try:
        is_good, answer = receiver.recv()
    except EOFError:
        return None
    assert is_good, answer
    return answer
