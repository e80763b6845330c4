"""Looks on while a model runs: each operator is written down with what it got and what made that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from trackio_like.model.graph import OpKind
from trackio_like.model.trace.assumed import ASSUMED, REFUSED, without_masks
from trackio_like.model.trace.operators import Operator, kind_of, operator
from trackio_like.model.trace.results import Results
from trackio_like.model.trace.storages import CONSTANT, Entry, Storages
from trackio_like.model.trace.tape import EndOfTraceError, Op, Source, Tape
from trackio_like.model.trace.values import Shared, arguments_tensors, dtype_name, named_tensors, num_bytes, tensors_io

_MOST_REAL_ELEMENTS: Final = 1 << 16
"""Constants that passes make on the CPU are computed for real up to this size, so that `item()` of them is true."""
_META: Final = torch.device("meta")


class Tracer(TorchDispatchMode):  # type: ignore[misc]  # torch ships no types that are followed here
    """Writes onto a tape what happens while it is entered."""

    supports_higher_order_operators = True

    def __init__(
        self,
        *,
        is_shell: bool,
        is_real: bool,
        max_ops: int,
        end_s: float,
        skipped: Mapping[str, str] | None = None,
        answers: Sequence[Any] = (),
    ) -> None:
        """Prepares one pass.

        Args:
            is_shell: all data are on the meta device, and what is not goes there.
            is_real: numbers are there, so that nothing is assumed.
            max_ops: see `Tape`.
            end_s: when the pass ends at the latest, in seconds of `time.monotonic()`.
            skipped: see `run_meta`.
            answers: of an earlier pass.
        """
        super().__init__()
        self.tape = Tape(max_ops)
        self.storages = Storages()
        self.shared = Shared()
        self._results = Results()
        self.num_assumed = 0
        """Numbers that depend on data, and were assumed."""
        self.num_sizes_assumed = 0
        self.answers: list[Any] = []
        """What was assumed, in order; a second pass goes the same way with them."""
        self._answers = answers
        self.failed_at = ""
        self.is_shell = is_shell
        self.is_real = is_real
        self.before_write: Callable[[torch.Tensor], None] | None = None
        """Told of parameters and buffers before something is written to them."""
        self._failure: BaseException | None = None
        self.is_outline = skipped is not None
        """Whether calls are all that is written down."""
        self._skipped = skipped or {}
        self._stands_for = dict.fromkeys(self._skipped.values())
        self._quiet = int(self.is_outline)
        self._end_s = end_s

    def take_parameters(self, tensors: Iterable[torch.Tensor], *, are_ours: bool = False) -> None:
        """These are parameters and buffers: no data, whatever is computed from them alone.

        Args:
            tensors: the parameters and buffers.
            are_ours: whether they are stand-ins, which are gone after the pass.
        """
        for tensor in tensors:
            if self.storages.find(tensor) is None:
                entry = self.storages.add(tensor, CONSTANT, is_data=False, is_param=True, counts=False)
                if entry is not None and not are_ours:
                    entry.is_ours = False

    def take_input(self, name: str, tensor: torch.Tensor) -> int:
        """This goes into the model; gives its operation's position."""
        if self.is_outline:
            return -1
        shape, dtype = self.shared.shape(tensor), dtype_name(tensor.dtype)
        known = self.storages.find(tensor)
        if known is not None and known.producer != CONSTANT:
            return known.producer
        op = Op(name, "input", 0, shape=shape, dtype=dtype, sources=(), num_bytes=num_bytes(tensor))
        position = self.tape.add(op)
        self.storages.add(tensor, position, is_data=True, counts=False)
        return position

    def take_output(self, name: str, tensor: torch.Tensor) -> int:
        """This comes out of the model; gives its operation's position."""
        sources, is_data, _ = self._sources([tensor])
        op = Op(
            name, "output", 0, shape=self.shared.shape(tensor), dtype=dtype_name(tensor.dtype), sources=sources,
            num_bytes=num_bytes(tensor), is_data=is_data,
        )  # fmt: skip
        return self.tape.add(op)

    def watched(self, forward: Callable[..., Any], path: str) -> Callable[..., Any]:
        """A module's forward that tells when it begins and ends."""

        def watched_forward(*args: Any, **kwargs: Any) -> Any:
            if path in self._skipped:
                return self._stands_for[self._skipped[path]]
            position = self.tape.begin(path, self.storages.live_bytes)
            call = self.tape.calls[position]
            call.inputs, _ = tensors_io((args, kwargs) if kwargs else args, self.shared)
            try:
                result = forward(*args, **kwargs)
            except BaseException as error:
                if self._failure is not error:
                    self._failure, self.failed_at = error, path
                self.tape.end(position)
                raise
            call.outputs, call.out_bytes = tensors_io(result, self.shared)
            call.is_finished = True
            self.tape.end(position)
            if path in self._stands_for:
                self._stands_for[path] = result
            return result

        watched_forward.__wrapped__ = forward  # type: ignore[attr-defined]  # its signature is what is asked for
        return watched_forward

    def as_one(self, name: str, args: Sequence[Any], kwargs: dict[str, Any], run: Callable[[], Any], macs: int) -> Any:
        """Runs something that is one operation for us, whatever it consists of.

        Args:
            name: of the operation.
            args: its arguments by position.
            kwargs: those by name.
            run: does it.
            macs: its MACs.
        """
        self._quiet += 1
        try:
            result = run()
        finally:
            self._quiet -= 1
        if not self._quiet:
            inputs = arguments_tensors(args, kwargs)
            made = [tensor for _, tensor in named_tensors(result)]
            is_causal = bool(kwargs.get("is_causal", len(args) > 5 and args[5]))
            self._write(name, kind_of(name), inputs, made, [], macs, is_causal=is_causal)
        return result

    def forget(self) -> None:
        """Lets go of everything that could keep tensors of the pass alive."""
        self._stands_for.clear()
        self._failure = None

    def answer_about(self, tensor: torch.Tensor, usual: Any) -> Any:
        """What is assumed of a number that depends on data.

        Whether an expert was chosen, and how often, is assumed to be 1: were it 0, no expert would run.
        """
        self.num_assumed += 1
        if self.num_assumed <= len(self._answers):
            return self._answers[self.num_assumed - 1]
        entry = self.storages.find(tensor)
        is_chosen = entry is not None and self.tape.chosen(entry.producer)
        return usual + 1 if is_chosen and isinstance(usual, (int, float)) else usual

    def is_constant(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor's numbers are there, and right."""
        if self.is_real:
            return True
        if not self.is_shell or tensor.device.type != "cpu" or type(tensor) is not torch.Tensor:
            return False
        entry = self.storages.find(tensor)
        return entry is None or (entry.producer == CONSTANT and not entry.is_data and not entry.is_param)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        about = operator(func)
        inputs = arguments_tensors(args, kwargs)
        if self.is_shell:
            result = self._run_shell(func, about, args, kwargs, inputs)
        else:
            result = self._run(func, about, args, kwargs)
        if self._quiet and not self.is_outline:
            return result
        if result is None or isinstance(result, torch.Tensor):
            outputs = [] if result is None else [result]
        elif isinstance(result, (list, tuple)):
            outputs = arguments_tensors(result, {})
        else:
            return result  # a number or flag
        if self._quiet:
            for tensor in outputs:  # to find it again, should it outlive the pass
                if self.storages.find(tensor) is None and not any(tensor is each for each in inputs):
                    self.storages.add(tensor, CONSTANT, is_data=False)
            return result
        self._take(about, args, kwargs, inputs, outputs)
        return result

    # -- running -------------------------------------------------------------------------------------------------------

    def _run_shell(self, func: Any, about: Operator, args: Any, kwargs: Any, inputs: list[torch.Tensor]) -> Any:
        """On the meta device, except for small constants of the CPU."""
        if not inputs and about.has_device:
            return self._make(func, args, kwargs)
        foreign = any(not tensor.is_meta for tensor in inputs)
        if foreign:
            if about.is_view:
                return func(*args, **kwargs)
            stays = not about.written or all(self.storages.find(tensor) is not None for tensor in inputs)
            stays = stays and str(kwargs.get("device") or "cpu") == "cpu"
            if stays and all(self.is_constant(t) and t.numel() <= _MOST_REAL_ELEMENTS for t in inputs):
                return func(*args, **kwargs)
        here, named = args, kwargs
        if foreign:
            here, named = _on_meta(args), {name: _on_meta_one(value) for name, value in kwargs.items()}
        if kwargs.get("device") is not None:
            named = {**named, "device": _META}
        result = self._run(func, about, here, named)
        if foreign and len(about.written) == 1 and isinstance(result, torch.Tensor):
            # The caller goes on with the tensor that it had, not with the one in its place here.
            return args[about.written[0]]
        return result

    @staticmethod
    def _make(func: Any, args: Any, kwargs: Any) -> Any:
        """Without tensors among its arguments: a constant."""
        there = {name: value for name, value in kwargs.items() if name != "pin_memory"}
        shell = func(*args, **{**there, "device": _META})
        device = kwargs.get("device")
        is_small = isinstance(shell, torch.Tensor) and shell.numel() <= _MOST_REAL_ELEMENTS
        if is_small and (device is None or str(device) == "cpu"):
            return func(*args, **kwargs)
        return shell

    def _run(self, func: Any, about: Operator, args: Any, kwargs: Any) -> Any:
        if self.is_real:
            if self.before_write is not None and (about.written or about.written_names):
                for tensor in self._written(about, args, kwargs):
                    self.before_write(tensor)
            return func(*args, **kwargs)
        rule = ASSUMED.get(about.name)
        if rule is not None and args and isinstance(args[0], torch.Tensor):
            result = rule(args, kwargs)
            is_number = not isinstance(result, (torch.Tensor, tuple, list))
            if is_number:
                result = self.answer_about(args[0], result)
                self.answers.append(result)
            else:
                self.num_sizes_assumed += 1
            return result
        if about.name.startswith("index"):
            args, num_masks = without_masks(args)
            self.num_sizes_assumed += num_masks if about.name == "index" else 0
        refused = REFUSED.get(about.name)
        if refused is not None:
            return refused(args, kwargs)
        makes_new = self.is_shell and not (about.is_view or about.written or about.written_names)
        return self._results.give(func, args, kwargs) if makes_new else func(*args, **kwargs)

    # -- writing down --------------------------------------------------------------------------------------------------

    @staticmethod
    def _written(about: Operator, args: Any, kwargs: Any) -> list[torch.Tensor]:
        given = [args[position] for position in about.written if position < len(args)]
        return arguments_tensors(given, {name: kwargs[name] for name in about.written_names if name in kwargs})

    def _sources(self, inputs: Sequence[torch.Tensor]) -> tuple[tuple[Source, ...], bool, tuple[int, ...]]:
        """Where tensors are from, whether one is data, and which parameters are among them."""
        sources = []
        is_data, weights = False, []
        for tensor in inputs:
            entry = self.storages.find(tensor)
            producer = CONSTANT
            if entry is not None:
                producer = entry.producer
                is_data = is_data or entry.is_data
                if entry.is_param:
                    weights.append(id(entry))
            sources.append(Source(producer, num_bytes(tensor), self.shared.shape(tensor)))
        return tuple(sources), is_data, tuple(weights)

    def _take(
        self, about: Operator, args: Any, kwargs: Any, inputs: list[torch.Tensor], outputs: list[torch.Tensor]
    ) -> None:
        """Writes an operator down, where it is more than a view."""
        written = self._written(about, args, kwargs) if about.written or about.written_names else []
        mine = {id(tensor) for tensor in written}
        fresh = [tensor for tensor in outputs if id(tensor) not in mine and self.storages.find(tensor) is None]
        if not fresh and not written:
            return
        one = _only_one(about, inputs)
        if one is not None and fresh:
            self._copy(one, fresh)
        elif about.is_blank and fresh:
            for tensor in fresh:
                self.storages.add(tensor, CONSTANT, is_data=False)
        elif about.name == "copy_" and len(inputs) > 1 and self._overwrite(inputs[0], inputs[1]):
            pass
        else:
            macs = 0 if about.macs is None else _safe_macs(about, args, outputs)
            self._write(about.name, about.kind, inputs, fresh, written, macs)

    def _copy(self, source: torch.Tensor, fresh: list[torch.Tensor]) -> None:
        known = self.storages.find(source) or Entry(CONSTANT, is_data=False, is_param=False, num_bytes=0)
        for tensor in fresh:
            self.storages.add(tensor, known.producer, is_data=known.is_data, is_param=known.is_param)
        self._note_peak()

    def _overwrite(self, target: torch.Tensor, source: torch.Tensor) -> bool:
        """Whether `target.copy_(source)` only hands on who made it: nothing else that counts is in the storage."""
        to, known = self.storages.find(target), self.storages.find(source)
        if to is None:
            to = self.storages.add_foreign(target, CONSTANT, is_data=False)
        if to is None or known is None:
            return known is None
        is_whole = num_bytes(target) >= target.untyped_storage().nbytes()
        if not is_whole and to.producer not in (CONSTANT, known.producer):
            return known.producer == CONSTANT
        to.producer, to.is_data, to.is_param = known.producer, known.is_data or (to.is_data and not is_whole), False
        return True

    def _write(
        self, name: str, kind: OpKind, inputs: Sequence[torch.Tensor], fresh: list[torch.Tensor],
        written: list[torch.Tensor], macs: int, *, is_causal: bool = False,
    ) -> None:  # fmt: skip
        if time.monotonic() > self._end_s:
            raise EndOfTraceError("the time limit is over")
        sources, is_data, weights = self._sources(inputs)
        if not weights and all(source.producer == CONSTANT for source in sources):
            for tensor in fresh:
                self.storages.add(tensor, CONSTANT, is_data=is_data)
            self._note_peak()
            return
        results = fresh or written
        first = results[0] if results else None
        op = Op(
            name, kind, self.tape.stack[-1] if self.tape.stack else 0,
            shape=() if first is None else self.shared.shape(first),
            dtype="" if first is None else dtype_name(first.dtype),
            sources=sources, num_bytes=sum(num_bytes(tensor) for tensor in results), macs=macs, is_data=is_data,
            weights=weights, is_causal=is_causal,
        )  # fmt: skip
        position = self.tape.add(op)
        for tensor in fresh:
            self.storages.add(tensor, position, is_data=is_data)
        for tensor in written:
            entry = self.storages.find(tensor) or self.storages.add_foreign(tensor, position, is_data=is_data)
            if entry is not None and not (entry.is_param and not is_data):
                entry.producer, entry.is_data = position, entry.is_data or is_data
        self._note_peak()

    def _note_peak(self) -> None:
        if self.tape.stack:
            call = self.tape.calls[self.tape.stack[-1]]
            call.peak_bytes = max(call.peak_bytes, self.storages.live_bytes)


def _only_one(about: Operator, inputs: list[torch.Tensor]) -> torch.Tensor | None:
    """What an operator only copies, such as the one tensor in a concatenation that is not empty."""
    if about.is_copy:
        return inputs[0] if inputs else None
    if about.kind == "cat":
        filled = [tensor for tensor in inputs if tensor.numel()]
        return filled[0] if len(filled) == 1 else None
    return None


def _safe_macs(about: Operator, args: Any, outputs: list[torch.Tensor]) -> int:
    assert about.macs is not None
    try:
        return about.macs(args, outputs[0] if outputs else None)
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError):  # an overload we do not know
        return 0


def _on_meta(args: Any) -> Any:
    return [_on_meta_one(value) for value in args]


def _on_meta_one(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not value.is_meta:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=_META)
    if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
        return [_on_meta_one(item) for item in value]
    return value


__all__ = ["Tracer"]
