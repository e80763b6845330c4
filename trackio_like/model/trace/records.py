"""What a trace hands over: operations, edges and calls of modules, as values. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trackio_like.model.graph import EdgeKind, OpKind, Port, Rung, TensorIO, TraceMode


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedOp:
    """Something that ran; a run of small operations of one call that nothing else joins is one."""

    name: str
    """Such as `mm`, `add`; of a run, the one that says most."""
    kind: OpKind
    module: str = ""
    """The path of the innermost module that called it."""
    call: int = 0
    """Which call of that module it was in, from 0."""
    shape: tuple[int, ...] = ()
    """Of its first result."""
    dtype: str = ""
    flops: int = 0
    macs: int = 0
    bytes: int = 0
    """Of all its results."""
    num_runs: int = 1
    """How often it ran, where a loop was rolled up; `flops` and `macs` are of all."""
    is_data: bool = True
    """Whether an input of the model is among what it was made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedEdge:
    """A tensor that goes from one operation to another; both are positions in `Trace.ops`."""

    source: int
    target: int
    """Greater than `source`, but for edges of kind `loop`."""
    kind: EdgeKind = "tensor"
    bytes: int = 0
    label: str = ""
    """`projection` for a residual through a projection, `top-2/8` for a router's choice; else ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCall:
    """One call of a module, with everything that ran inside."""

    inputs: tuple[TensorIO, ...] = ()
    outputs: tuple[TensorIO, ...] = ()
    flops: int = 0
    macs: int = 0
    out_bytes: int = 0
    peak_bytes: int = 0
    """Most bytes that were alive at once, beyond those that were when it began."""
    first_op: int = 0
    """A position in `Trace.ops`; what ran inside is from here ..."""
    end_op: int = 0
    """... up to here, exclusively."""
    is_finished: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What was seen of one pass through a model; paths are as `named_modules()` has them, "" is the model itself."""

    mode: TraceMode = "static"
    """The rung that gave this; `static` where none gave anything."""
    rungs: tuple[Rung, ...] = ()
    """All that were tried, in order."""
    is_partial: bool = False
    failed_at: str = ""
    """The path of the innermost module in which the trace ended, where it is partial."""
    error: str = ""
    """Why it ended there."""
    num_assumed: int = 0
    """Numbers and sizes that depend on data, and were assumed."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """The sizes that have names, such as B and T, in this trace."""
    ops: tuple[TracedOp, ...] = ()
    """In the order in which they ran; those of kind `input` first, `output` last."""
    edges: tuple[TracedEdge, ...] = ()
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    calls: Mapping[str, tuple[ModuleCall, ...]] = field(default_factory=dict)
    """Of each module that ran, by path, in the order of their first calls."""
    kv_bytes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of keys and values that one token leaves in a cache, by the attention module's path."""
    flops: int = 0
    macs: int = 0
    activation_bytes: int = 0
    """All that was made, parameters and inputs not counted."""
    peak_bytes: int = 0
    """Most of it that was alive at once."""
    notes: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """The paths of modules that ran, in the order of their first calls."""
        return tuple(self.calls)


__all__ = ["ModuleCall", "Trace", "TracedEdge", "TracedOp"]
