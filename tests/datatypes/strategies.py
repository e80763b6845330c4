"""Values of each data type, for the tests that hold for all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from trackio_like.landscape.result import LossLandscape, Mark, Path

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


STRATEGIES = {"loss_landscape": landscapes()}
"""By the type's name."""
