"""What runs in a model, and what flows where: `trace_model` looks on while the model's shell is called.

A model goes in, with the arguments of one call; a `Trace` comes out, and the model is what it was before. Needs torch.
"""

from trackio_like.model.trace.ladder import trace_model
from trackio_like.model.trace.records import ModuleCall, Trace, TracedEdge, TracedOp

__all__ = ["ModuleCall", "Trace", "TracedEdge", "TracedOp", "trace_model"]
