"""Values of each data type, for the tests that hold for all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from trackio_like.landscape.result import LossLandscape, Mark, Path
from trackio_like.model.graph import (
    EDGE_KINDS,
    KINDS,
    OP_KINDS,
    Edge,
    Meta,
    ModelGraph,
    Module,
    Moe,
    Op,
    Params,
    Port,
    Repeat,
    Tensor,
    TensorIO,
    Tie,
    Totals,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | labels,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)


def axes(num: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(finite, min_size=num, max_size=num, unique=True).map(lambda points: np.array(sorted(points)))


@st.composite
def paths(draw):
    num = draw(st.integers(1, 3))
    several = [draw(st.lists(values, min_size=num, max_size=num)) for values in (finite, finite, labels)]
    return Path(x_S=tuple(several[0]), y_S=tuple(several[1]), labels_S=tuple(several[2]))


@st.composite
def landscapes(draw):
    num_rows, num_cols = draw(st.integers(1, 5)), draw(st.integers(2, 5))
    shape = (num_rows, num_cols)
    is_known = draw(nps.arrays(np.bool_, shape))
    return LossLandscape(
        x_C=draw(axes(num_cols)),
        y_R=draw(axes(num_rows)),
        z_RC=draw(nps.arrays(np.float64, shape, elements=st.floats())),
        is_measured_RC=draw(nps.arrays(np.bool_, shape)) & is_known,
        is_known_RC=is_known,
        x_label=draw(labels),
        y_label=draw(labels),
        marks=tuple(draw(st.lists(st.builds(Mark, label=labels, x=finite, y=finite), max_size=2))),
        path=draw(st.none() | paths()),
        meta=draw(st.dictionaries(st.sampled_from(["mode", "seconds", "notes"]), plain, max_size=3)),
    )


sizes = st.integers(0, 2**53)
shapes = st.lists(st.integers(0, 4096), max_size=3).map(tuple)
tensor_ios = st.builds(TensorIO, shape=shapes, dtype=labels, dims=st.lists(labels, max_size=2).map(tuple))
tensors = st.builds(Tensor, name=labels, shape=shapes, dtype=labels, trainable=st.booleans(), tied_to=labels)


@st.composite
def modules(draw, position):
    return Module(
        path=draw(labels),
        name=draw(labels),
        class_name=draw(labels),
        kind=draw(st.sampled_from(KINDS)),
        parent=draw(st.integers(0, position - 1)) if position else -1,
        fingerprint=draw(labels),
        repeat=draw(st.none() | st.builds(Repeat, count=st.integers(1, 100), names=labels)),
        params=draw(st.builds(Params, own=sizes, total=sizes, unique=sizes, trainable=sizes, bytes=sizes)),
        dtypes=draw(st.dictionaries(labels, sizes, max_size=2)),
        tensors=draw(st.lists(tensors, max_size=2).map(tuple)),
        attrs=draw(st.dictionaries(labels, labels, max_size=2)),
        inputs=draw(st.lists(tensor_ios, max_size=2).map(tuple)),
        flops=draw(sizes),
        is_failed=draw(st.booleans()),
        moe=draw(st.none() | st.builds(Moe, num_experts=sizes, router=labels)),
    )


@st.composite
def model_graphs(draw):
    nodes = tuple(draw(modules(i)) for i in range(draw(st.integers(1, 4))))
    places = st.integers(0, len(nodes) - 1)
    ops = draw(
        st.lists(st.builds(Op, name=labels, kind=st.sampled_from(OP_KINDS), module=places, shape=shapes), max_size=4)
    )
    ends = st.integers(0, len(ops) - 1)
    edges = st.builds(Edge, source=ends, target=ends, kind=st.sampled_from(EDGE_KINDS), bytes=sizes, label=labels)
    meta = st.builds(
        Meta,
        name=labels,
        class_name=labels,
        fingerprint=labels,
        totals=st.builds(Totals, unique=sizes, flops=sizes),
        notes=st.lists(labels, max_size=2).map(tuple),
        is_partial=st.booleans(),
    )
    return ModelGraph(
        meta=draw(meta),
        modules=nodes,
        ops=tuple(ops),
        edges=tuple(draw(st.lists(edges, max_size=4))) if ops else (),
        inputs=tuple(draw(st.lists(st.builds(Port, name=labels, shape=shapes, dtype=labels, op=ends), max_size=2)))
        if ops
        else (),
        ties=tuple(
            draw(st.lists(st.builds(Tie, modules=st.lists(places, max_size=2).map(tuple), tensor=labels), max_size=2))
        ),
    )


STRATEGIES = {"loss_landscape": landscapes(), "model_graph": model_graphs()}
"""By the type's name."""
