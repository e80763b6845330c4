"""`ModelGraph`: a network's modules, operations and edges, as values. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

FORMAT_VERSION: Final = 2

Kind = Literal[
    "embedding", "attention", "mlp", "moe", "norm", "linear", "conv", "head", "act", "pool", "block", "container",
    "other",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
OpKind = Literal[
    "input", "output", "matmul", "conv", "attention", "add", "cat", "mul", "norm", "act", "embed", "router", "combine",
    "loop", "other",
]  # fmt: skip
OP_KINDS: Final[tuple[OpKind, ...]] = get_args(OpKind)
EdgeKind = Literal["tensor", "residual", "skip", "cross", "routing", "loop"]
EDGE_KINDS: Final[tuple[EdgeKind, ...]] = get_args(EdgeKind)
TraceMode = Literal["meta", "fake", "hooks", "static"]
TRACE_MODES: Final[tuple[TraceMode, ...]] = get_args(TraceMode)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorIO:
    """A tensor that goes into or out of a module."""

    shape: tuple[int, ...]
    dtype: str
    """Such as `float32`."""
    dims: tuple[str, ...] = ()
    """What each size of `shape` is, "" where that is not known; empty where nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A parameter or buffer that a module has itself."""

    name: str
    shape: tuple[int, ...] = ()
    """Empty for a number, and for a lazy tensor, which has none yet."""
    dtype: str
    trainable: bool = False
    is_buffer: bool = False
    is_lazy: bool = False
    tied_to: str = ""
    """The full name of the first tensor with the same storage, where this is not it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Parameters of one instance of a module, in elements; buffers do not count."""

    own: int = 0
    """Of the module itself, each storage once."""
    total: int = 0
    """With all modules in it, each module once, each name of a tensor."""
    unique: int = 0
    """The same, each storage once."""
    trainable: int = 0
    """Of `unique`."""
    bytes: int = 0
    """Of `unique`, as stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """How often a module stands in a row; what is shown is the first instance."""

    count: int
    names: str
    """Of all instances, such as `0..31` or `block1..block4`."""
    period: int = 1
    """How many siblings one instance of a group spans; 1 for a module that is no group."""
    differs: tuple[str, ...] = ()
    """Attributes that only number the instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moe:
    """A mixture of experts."""

    num_experts: int
    top_k: int = 0
    """How many experts a token goes to; 0 where that is not known."""
    num_shared: int = 0
    """Experts that every token goes to besides."""
    router: str = ""
    """The path of the module that chooses; "" where the block does so itself."""
    experts: str = ""
    """The path of the module that holds the experts."""
    active_params: int = 0
    """Unique parameters of this module that one token meets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module, the representative of a repeat, or a group of siblings that repeat together."""

    path: str
    """As `named_modules()` has it; "" for the model itself. A group's ends in `[first:last]`."""
    name: str
    """The last part of the path; of a repeat, all names, such as `0..31`."""
    class_name: str
    """"" for a group."""
    kind: Kind
    parent: int
    """A position in `ModelGraph.modules`, before this one's; -1 for the model itself."""
    fingerprint: str = ""
    repeat: Repeat | None = None
    is_group: bool = False
    same_as: str = ""
    """The path under which this very module stands already; its parameters count there, its insides show there."""
    params: Params = field(default_factory=Params)
    num_buffers: int = 0
    """Elements of buffers, its own and those of the modules in it."""
    dtypes: Mapping[str, int] = field(default_factory=dict)
    """Elements of unique parameters (and of buffers that hold quantised weights) by dtype."""
    bits: int = 0
    """Bits a weight, of the most frequent kind; 0 without weights."""
    tensors: tuple[Tensor, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    calls: int = 0
    """Within one pass; 0 where nothing was traced, or it did not run."""
    inputs: tuple[TensorIO, ...] = ()
    outputs: tuple[TensorIO, ...] = ()
    flops: int = 0
    macs: int = 0
    out_bytes: int = 0
    peak_bytes: int = 0
    kv_bytes_per_token: int = 0
    is_failed: bool = False
    """The trace ended in it."""
    moe: Moe | None = None

    @property
    def count(self) -> int:
        """How many instances stand in this one's place."""
        return 1 if self.repeat is None else self.repeat.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """Something that ran, in the innermost module that called it."""

    name: str
    kind: OpKind
    module: int
    """A position in `ModelGraph.modules`."""
    shape: tuple[int, ...] = ()
    """Of what it gives."""
    dtype: str = ""
    flops: int = 0
    bytes: int = 0
    """Of what it gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A tensor that goes from one operation to another; both are positions in `ModelGraph.ops`."""

    source: int
    target: int
    kind: EdgeKind = "tensor"
    bytes: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """An input or output of the model."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    op: int
    """Its operation, of kind `input` or `output`."""
    dims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """Modules that share a parameter; positions in `ModelGraph.modules`."""

    modules: tuple[int, ...]
    tensor: str
    """Its name in the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A way of tracing that was tried."""

    mode: TraceMode
    error: str = ""
    """Why it did not do; "" for the one that did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Numbers of the whole model, all repeats counted."""

    params: int = 0
    unique: int = 0
    trainable: int = 0
    active: int = 0
    """Unique parameters that one token meets."""
    bytes: int = 0
    flops: int = 0
    macs: int = 0
    activation_bytes: int = 0
    peak_bytes: int = 0
    kv_bytes_per_token: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What a graph is of, and how it was made."""

    format_version: int = FORMAT_VERSION
    name: str
    class_name: str
    fingerprint: str
    trace_mode: TraceMode = "static"
    rungs: tuple[Rung, ...] = ()
    is_partial: bool = False
    failed_at: str = ""
    """The path of the module in which the trace ended."""
    num_assumed: int = 0
    """Numbers that depend on data, and were assumed."""
    num_modules: int = 0
    """Of the model, as `named_modules()` counts them: nothing folded."""
    dims: Mapping[str, int] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    notes: tuple[str, ...] = ()
    torch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGraph:
    """A picture of a network: docs/design/model_graph.md says what is in it."""

    meta: Meta
    modules: tuple[Module, ...]
    """A parent stands before its children; 0 is the model itself."""
    ops: tuple[Op, ...] = ()
    edges: tuple[Edge, ...] = ()
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    ties: tuple[Tie, ...] = ()

    def __post_init__(self) -> None:
        if not self.modules:
            raise ValueError("A graph has at least one module: the model itself.")
        for position, module in enumerate(self.modules):
            if not (0 <= module.parent < position if position else module.parent == -1):
                raise ValueError(
                    f"Module {position} ({module.path!r}) has the parent {module.parent}, not one before it."
                )
        for position, op in enumerate(self.ops):
            _check_position(op.module, self.modules, f"The module of op {position}")
        for position, edge in enumerate(self.edges):
            _check_position(edge.source, self.ops, f"The source of edge {position}")
            _check_position(edge.target, self.ops, f"The target of edge {position}")
        for port in (*self.inputs, *self.outputs):
            _check_position(port.op, self.ops, f"The op of {port.name!r}")
        for tie in self.ties:
            for position in tie.modules:
                _check_position(position, self.modules, f"A module tied by {tie.tensor!r}")

    def to_document(self) -> dict[str, Any]:
        """The document, format 2: plain JSON values, empty ones left out."""
        from trackio_like.model.document import to_document

        return to_document(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ModelGraph:
        """Reads a document; what it has beyond this format is passed over.

        Raises:
            ValueError: it is no document of a model graph, or one of a later format.
        """
        from trackio_like.model.document import from_document

        return from_document(document)

    def summary_text(self, *, max_rows: int = 400) -> str:
        """The graph as a table of plain text, for a terminal or a log.

        Args:
            max_rows: modules shown at most, the outermost first.
        """
        from trackio_like.model.table import summary_text

        return summary_text(self, max_rows=max_rows)


def _check_position(position: int, table: tuple[object, ...], what: str) -> None:
    if not 0 <= position < len(table):
        raise ValueError(f"{what} is {position}, but there are {len(table)}.")


__all__ = [
    "EDGE_KINDS", "FORMAT_VERSION", "KINDS", "OP_KINDS", "TRACE_MODES", "Edge", "EdgeKind", "Kind", "Meta",
    "ModelGraph", "Module", "Moe", "Op", "OpKind", "Params", "Port", "Repeat", "Rung", "Tensor", "TensorIO", "Tie",
    "Totals", "TraceMode",
]  # fmt: skip
