"""The ways to run a model and look on: on the meta device, with fake tensors, for real."""

from __future__ import annotations

import gc
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils._pytree import tree_map

from trackio_like.model.graph import TraceMode
from trackio_like.model.trace.functions import Functions
from trackio_like.model.trace.leftovers import Behind, alive
from trackio_like.model.trace.ports import input_name
from trackio_like.model.trace.shells import meta_stand_in, shell_of
from trackio_like.model.trace.tape import EndOfTraceError
from trackio_like.model.trace.tracer import Tracer
from trackio_like.model.trace.values import named_tensors, tensors_io
from trackio_like.module_state.keeping import kept

_MAX_OUTPUTS = 64


@dataclass(slots=True, kw_only=True)
class Pass:
    """One pass through a model, as far as it went."""

    mode: TraceMode
    tracer: Tracer
    error: str = ""
    """Why it ended early; "" where it did not."""
    is_limit: bool = False
    """Whether that was a limit of ours."""
    inputs: list[tuple[str, int]] = field(default_factory=list)
    """Names and operations."""
    outputs: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def num_ops(self) -> int:
        """Operations that ran, inputs and outputs not counted."""
        return len(self.tracer.tape.ops) - len(self.inputs) - len(self.outputs)


def run_meta(
    model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, max_ops: int, end_s: float,
    skipped: Mapping[str, str] | None = None, answers: Sequence[Any] = (),
) -> Pass:  # fmt: skip
    """The model's shell on the meta device: nothing is computed, nothing of the model touched.

    Args:
        model: the model.
        args: what it is called with by position.
        kwargs: by name.
        max_ops: see `Tape`.
        end_s: see `Tracer`.
        skipped: modules that do not run, by path, each with the path of one before it whose results stand for its own.
            With it, calls of modules are all that is written down.
        answers: see `Tracer`.
    """
    tracer = Tracer(is_shell=True, is_real=False, max_ops=max_ops, end_s=end_s, skipped=skipped, answers=answers)
    return _run_shell("meta", model, tracer, meta_stand_in, args, kwargs)


def run_fake(model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, max_ops: int, end_s: float) -> Pass:
    """The same with fake tensors, which know their devices, and which more operators can do with."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    tracer = Tracer(is_shell=False, is_real=False, max_ops=max_ops, end_s=end_s)
    with _quiet_log("torch._subclasses.fake_tensor"), FakeTensorMode(allow_non_fake_inputs=True) as mode:

        def stand_in(tensor: torch.Tensor) -> torch.Tensor:
            fake = mode.from_tensor(tensor.detach(), static_shapes=True)
            return nn.Parameter(fake, requires_grad=tensor.requires_grad) if isinstance(tensor, nn.Parameter) else fake

        return _run_shell("fake", model, tracer, stand_in, args, kwargs)


@contextmanager
def _quiet_log(name: str) -> Iterator[None]:
    """Errors that end a way are told by its rung, not on the terminal."""
    logger = logging.getLogger(name)
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def run_real(model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, max_ops: int, end_s: float) -> Pass:
    """A real pass, without gradients; what it writes to the model is put back."""
    tracer = Tracer(is_shell=False, is_real=True, max_ops=max_ops, end_s=end_s)
    done = Pass(mode="hooks", tracer=tracer)
    tensors = [*model.parameters(), *model.buffers()]
    backups: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    owned = {tensor.untyped_storage()._cdata: tensor for tensor in tensors if tensor.layout == torch.strided}  # noqa: SLF001

    def before_write(tensor: torch.Tensor) -> None:
        mine = owned.get(tensor.untyped_storage()._cdata) if tensor.layout == torch.strided else None  # noqa: SLF001
        if mine is not None and id(mine) not in backups:
            backups[id(mine)] = (mine, mine.detach().clone())

    tracer.before_write = before_write

    with kept(model):
        try:
            tracer.take_parameters(tensors)
            with _watched(model, tracer):
                _call(done, model, args, kwargs)
        finally:
            for tensor, bits in backups.values():
                tensor.data.copy_(bits)
    return done


def _run_shell(
    mode: TraceMode, model: nn.Module, tracer: Tracer, stand_in: Callable[[torch.Tensor], torch.Tensor],
    args: Sequence[Any], kwargs: Mapping[str, Any],
) -> Pass:  # fmt: skip
    done = Pass(mode=mode, tracer=tracer)
    behind = Behind(model)
    with shell_of(model, stand_in) as stand_ins:
        tracer.take_parameters(stand_ins, are_ours=True)
        tracer.take_parameters([*model.parameters(), *model.buffers()])
        copies: dict[int, torch.Tensor] = {}

        def copy(value: Any) -> Any:
            if isinstance(value, PackedSequence):  # how long its sequences are stays on the CPU
                others = (None if index is None else copy(index) for index in value[2:])
                return PackedSequence(copy(value.data), value.batch_sizes, *others)
            if not isinstance(value, torch.Tensor):
                return value
            if id(value) not in copies:
                copies[id(value)] = stand_in(value.detach())
            return copies[id(value)]

        def is_packed(value: Any) -> bool:
            return isinstance(value, PackedSequence)

        shell_args, shell_kwargs = tree_map(copy, (tuple(args), dict(kwargs)), is_leaf=is_packed)
        with _watched(model, tracer):
            _call(done, model, shell_args, shell_kwargs)
        del shell_args, shell_kwargs, stand_ins
        copies.clear()
    _take_out_leftovers(done, behind)
    return done


def _take_out_leftovers(done: Pass, behind: Behind) -> None:
    if not done.tracer.storages.ids():
        return
    gc.collect()
    if left := done.tracer.storages.ids():
        behind.take_out(alive(left))
    if left := done.tracer.storages.ids():
        done.notes.append(f"{len(left)} tensors without numbers are still held by something that the model called.")


@contextmanager
def _watched(model: nn.Module, tracer: Tracer) -> Iterator[None]:
    """Tells the tracer of every call of a module in it; the fused paths, which call none, are off."""
    before = torch.backends.mha.get_fastpath_enabled()
    changed: list[tuple[dict[str, Any], Any]] = []
    nothing = object()
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        for path, part in model.named_modules():
            if path and not isinstance(part, torch.jit.ScriptModule):
                table = part.__dict__
                changed.append((table, table.get("forward", nothing)))
                table["forward"] = tracer.watched(part.forward, path)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
        for table, own in changed:
            if own is nothing:
                table.pop("forward", None)
            else:
                table["forward"] = own


def _call(done: Pass, model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Calls the model under the tracer. Whatever it raises, but Ctrl-C, is noted."""
    tracer = done.tracer
    entry = _innermost(model)
    root = tracer.tape.begin("", 0)
    result: Any = None
    try:
        for name, tensor in named_tensors((args, kwargs)):
            shown = input_name(entry, name)
            done.inputs.append((shown, tracer.take_input(shown, tensor)))
        with ExitStack() as stack:
            stack.enter_context(tracer)
            stack.enter_context(Functions(tracer))
            result = entry(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except EndOfTraceError as error:
        done.error, done.is_limit = str(error), True
    except BaseException as error:  # noqa: BLE001  # a model may raise anything; none of it may end a training
        done.error = _one_line(error)
        _let_go(error)
    call = tracer.tape.calls[root]
    call.is_finished = not done.error
    call.inputs, _ = tensors_io((args, kwargs), tracer.shared)
    call.outputs, call.out_bytes = tensors_io(result, tracer.shared)
    if not done.error and not tracer.is_outline:
        outputs = [(name, tensor) for name, tensor in named_tensors(result) if "past_key_values" not in name]
        for name, tensor in outputs[:_MAX_OUTPUTS]:
            shown = "output" if not name else f"output_{name}" if name[0].isdigit() else name
            done.outputs.append((shown, tracer.take_output(shown, tensor)))
        if len(outputs) > _MAX_OUTPUTS:
            done.notes.append(f"Of {len(outputs)} outputs the first {_MAX_OUTPUTS} are shown.")
    tracer.tape.end(root)
    tracer.forget()


def _let_go(error: BaseException | None) -> None:
    """Lets go of what was in the frames that an error went through: somebody may keep it, and tensors with it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _innermost(model: nn.Module) -> nn.Module:
    """What is called: of a wrapper for several devices or for the compiler, the model within."""
    while type(model).__name__ in ("DistributedDataParallel", "DataParallel", "OptimizedModule"):
        inner = getattr(model, "module", None) or getattr(model, "_orig_mod", None)
        if not isinstance(inner, nn.Module):
            break
        model = inner
    return model


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


__all__ = ["Pass", "run_fake", "run_meta", "run_real"]
