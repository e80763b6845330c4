"""What a test asks of a trace."""

from collections import Counter


def kinds(trace):
    """How many edges there are of each kind but plain tensors; projections apart."""
    return Counter(
        edge.label if edge.label == "projection" else edge.kind for edge in trace.edges if edge.kind != "tensor"
    )


def joins(trace, kind):
    """How many operations an edge of a kind goes into, projections not counted."""
    return len({edge.target for edge in trace.edges if edge.kind == kind and edge.label != "projection"})


def sources(trace, name, number=0):
    """The names of what goes into an operation: the `number`th of its name."""
    target = [index for index, op in enumerate(trace.ops) if op.name == name][number]
    return sorted(trace.ops[edge.source].name for edge in trace.edges if edge.target == target)


def check_sound(trace):
    """No edge dangles, none goes back but loops, and everything goes somewhere."""
    for edge in trace.edges:
        assert 0 <= edge.source < len(trace.ops)
        assert 0 <= edge.target < len(trace.ops)
        assert edge.kind == "loop" or edge.source < edge.target
    sources = {edge.source for edge in trace.edges}
    for index, op in enumerate(trace.ops):
        assert op.kind in ("input", "output") or index in sources or op.macs, op
    for calls in trace.calls.values():
        for call in calls:
            assert 0 <= call.first_op <= call.end_op <= len(trace.ops)
