"""`kept`: a module is lent to an evaluation, and comes back bit for bit as it was, whatever happens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from trackio_like.module_state.attributes import Attributes
from trackio_like.module_state.hooks import foreign_hooks_off
from trackio_like.module_state.random_state import random_states_undo

_WORDS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_LAZY: Final = (nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer)


_NOT_OF_A_PASS: Final = frozenset(
    {
        "forward",  # whoever borrowed the module may answer in place of a layer
        "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks",
        "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    }
)  # fmt: skip
"""Attributes of modules that a forward pass is not made of: looking at them at each point takes too long."""


class NotRestoredError(RuntimeError):
    """The module is not what it was: never seen but for a fault of ours, and never passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """A module while it is lent."""

    num_hooks_off: int
    """Hooks that only watch, and do not run meanwhile."""
    backup: tuple[torch.Tensor, ...]
    """Copies of `written`, on the CPU, in its order."""
    start_anew: Callable[[], None]
    """Undoes what forward passes changed of buffers and attributes, so that each begins where the first did."""


@contextmanager
def kept(
    module: nn.Module,
    *,
    written: Sequence[torch.Tensor] = (),
    keeps_hooks: bool = False,
) -> Iterator[Lent]:
    """Lends a module: in eval mode, without gradients, hooks that watch off.

    Afterwards parameters, buffers, flags, attributes, gradients, hooks and random generators are what they were, also
    where an exception, Ctrl-C or running out of memory ends it. A graph that waits for its backward pass stays good:
    nothing is written but through `.data`, and the same bits come back.

    Args:
        module: the module.
        written: parameters that are written to meanwhile; their bits are kept on the CPU. All buffers are kept.
        keeps_hooks: leave all hooks on.

    Raises:
        NotRestoredError: something differs afterwards.
    """
    before = checksum(module)
    tensors = _distinct([*written, *module.buffers()])
    backup = [tensor.detach().to("cpu", copy=True) for tensor in tensors]
    attributes = Attributes(module)
    random_states = random_states_undo()
    is_restored = False

    def restore() -> None:
        nonlocal is_restored
        for tensor, bits in zip(tensors, backup, strict=True):
            tensor.data.copy_(bits)
        attributes.put_back()
        random_states()
        is_restored = True

    try:
        try:
            with ExitStack() as stack:
                num_off = stack.enter_context(foreign_hooks_off(module, keeps_all=keeps_hooks))
                stack.enter_context(torch.inference_mode(mode=False))
                stack.enter_context(torch.no_grad())
                for part in module.modules():  # not `eval()`: a module may have made that its own
                    part.training = False
                copies = dict(zip(map(id, tensors), backup, strict=True))
                yield Lent(
                    num_hooks_off=num_off,
                    backup=tuple(copies[id(tensor)] for tensor in written),
                    start_anew=_beginning(module),
                )
        finally:
            surely(restore)
    finally:
        if not is_restored:  # what ended the first try, such as Ctrl-C on its very first line, does not come twice
            surely(restore)
        if checksum(module) != before:
            raise NotRestoredError(
                "The model's weights, buffers or flags are not what they were before. Do not go on training with them: "
                "load your last checkpoint, and report this with the model's class."
            )


def _beginning(module: nn.Module) -> Callable[[], None]:
    buffers = [(buffer, buffer.detach().clone()) for buffer in _distinct(list(module.buffers()))]
    attributes = Attributes(module, but=_NOT_OF_A_PASS)

    def start_anew() -> None:
        for buffer, bits in buffers:
            buffer.data.copy_(bits)
        attributes.put_back()

    return start_anew


def surely(action: Callable[[], None]) -> None:
    """Does it all, also where Ctrl-C comes in the middle; that is raised afterwards."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            action()
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _distinct(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(tensor): tensor for tensor in tensors if tensor.device.type != "meta"}.values())


def checksum(module: nn.Module) -> str:
    """What must not change: every parameter, buffer and gradient by its bits and identity, and every flag."""
    digest = hashlib.sha256()
    for name, part in module.named_modules(remove_duplicate=False):
        digest.update(f"{name}|{part.training}|{len(part._forward_hooks)}|{len(part._forward_pre_hooks)};".encode())  # noqa: SLF001
    for table in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in table:
            digest.update(f"{name}|{id(tensor)}|{tensor.requires_grad}|{bits_sum(tensor)};".encode())
            if tensor.is_leaf and tensor.grad is not None:
                digest.update(f"{id(tensor.grad)}|{bits_sum(tensor.grad)};".encode())
    return digest.hexdigest()


def bits_sum(tensor: torch.Tensor) -> tuple[object, ...]:
    """A sum over a tensor's bits, read as integers, with its dtype and shape."""
    if isinstance(tensor, _LAZY):
        return ("no values yet", str(tensor.dtype))
    found = tensor.detach()
    about = (str(found.dtype), tuple(found.shape), str(found.device))
    if found.layout != torch.strided or found.device.type == "meta" or found.numel() == 0 or found.is_quantized:
        return about
    if type(found) is torch.Tensor:
        return (*about, _sum(found))
    try:
        return (*about, _sum(found))
    except Exception:  # noqa: BLE001 - a tensor of another kind, which need not be made of numbers
        return about


def _sum(tensor: torch.Tensor) -> int:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return int(tensor.contiguous().flatten().view(_WORDS[tensor.element_size()]).sum(dtype=torch.int64))


__all__ = ["Lent", "NotRestoredError", "bits_sum", "checksum", "kept", "surely"]
