"""Which siblings repeat."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.model import zoo
from trackio_like.model import build_model_graph
from trackio_like.model.fold import Run, are_numbered, runs
from trackio_like.model.folded import spelled

rows = st.lists(st.sampled_from("ABC"), max_size=40)


def spans(text):
    return [(run.start, run.period, run.count) for run in runs(text)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("", []),
        ("A", [(0, 1, 1)]),
        ("AAAA", [(0, 1, 4)]),
        ("XAAA", [(0, 1, 1), (1, 1, 3)]),
        ("ABAB", [(0, 2, 2)]),
        ("ABABA", [(0, 2, 2), (4, 1, 1)]),
        ("AAABAAAB", [(0, 4, 2)]),
        ("AAAAABAAAAABAAAA", [(0, 6, 2), (12, 1, 4)]),
        ("ABC", [(0, 1, 1), (1, 1, 1), (2, 1, 1)]),
        ("AABBAABB", [(0, 4, 2)]),
    ],
)
def test_rows_fold_from_the_left_as_far_as_they_can(row, expected):
    assert spans(row) == expected


@given(rows)
def test_runs_cover_every_sibling_once_in_order(row):
    position = 0
    for run in runs(row):
        assert run.start == position
        position = run.end
    assert position == len(row)


@given(rows)
def test_each_instance_of_a_run_is_the_same(row):
    for run in runs(row):
        first = row[run.start : run.start + run.period]
        assert row[run.start : run.end] == first * run.count


@given(rows)
def test_a_period_is_never_a_multiple_of_a_shorter_one(row):
    for run in runs(row):
        first = row[run.start : run.start + run.period]
        for shorter in range(1, run.period):
            assert run.period % shorter or first != first[:shorter] * (run.period // shorter)


@given(rows)
def test_no_repeat_of_single_siblings_is_left(row):
    for a, b in itertools.pairwise(runs(row)):
        assert not (a.period == b.period == 1 and row[a.start] == row[b.start])


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=8), st.integers(2, 6))
def test_a_repeated_row_is_one_run(row, times):
    found = runs(row * times)
    assert (len(found), found[0].end) == (1, len(row) * times)
    assert len(row) % found[0].period == 0


def test_a_period_longer_than_allowed_is_not_found():
    assert runs("ABCABC", max_period=2) == [Run(start=i, period=1, count=1) for i in range(6)]


def test_long_rows_without_repeats_are_quick():
    start = time.process_time()
    assert len(runs(list(range(20_000)))) == 20_000
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["0", "1", "2"], True),
        (["block1", "block2"], True),
        (["conv1_x", "conv2_x"], True),
        (["block2", "block1"], False),
        (["q_proj", "k_proj"], False),
        (["block1", "stage2"], False),
    ],
)
def test_numbered_names(names, expected):
    assert are_numbered(names) is expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["0", "1", "2"], "0..2"),
        (["0", "1", "4", "6", "7"], "0..1,4,6..7"),
        (["block1", "block2", "block3"], "block1..block3"),
        (["7"], "7"),
    ],
)
def test_names_in_short(names, expected):
    assert spelled(names) == expected


def layers(graph, path):
    at = next(i for i, module in enumerate(graph.modules) if module.path == path)
    return [(module.name, module.count) for module in graph.modules if module.parent == at]


def test_blocks_that_differ_in_their_number_alone_are_one():
    graph = build_model_graph(zoo.Stack([zoo.Residual(layer_idx=i) for i in range(12)]))
    assert layers(graph, "blocks") == [("0..11", 12)]
    assert graph.modules[3].repeat.differs == ("layer_idx",)
    assert "layer_idx" not in graph.modules[3].attrs


def test_an_attribute_keeps_blocks_apart():
    blocks = [zoo.Residual(layer_idx=i, window=None if i == 3 else 64) for i in range(6)]
    assert layers(build_model_graph(zoo.Stack(blocks)), "blocks") == [("0..2", 3), ("3", 1), ("4..5", 2)]


def test_alternating_blocks_are_one_group():
    blocks = [zoo.Residual(layer_idx=i, window=64 if i % 2 else None) for i in range(24)]
    graph = build_model_graph(zoo.Stack(blocks))
    assert layers(graph, "blocks") == [("0..23", 12)]
    group = next(module for module in graph.modules if module.is_group)
    assert (group.path, group.class_name, group.repeat.period) == ("blocks[0:1]", "", 2)
    assert group.params.unique == 2 * (16 + 72)
    assert layers(graph, "blocks[0:1]") == [("0", 1), ("1", 1)]


def test_five_local_layers_and_a_global_one_fold_within_their_group():
    blocks = [zoo.Residual(layer_idx=i, window=None if i % 6 == 5 else 64) for i in range(20)]
    graph = build_model_graph(zoo.Stack(blocks))
    assert layers(graph, "blocks") == [("0..17", 3), ("18..19", 2)]
    assert layers(graph, "blocks[0:5]") == [("0..4", 5), ("5", 1)]
    group = next(module for module in graph.modules if module.is_group)
    assert group.params.unique == 6 * (16 + 72)


def test_numbered_attributes_fold_but_roles_do_not():
    graph = build_model_graph(zoo.Named(5))
    assert layers(graph, "") == [("block1..block5", 5)]
    roles = nn.Module()
    for name in ("q_proj", "k_proj", "v_proj"):
        setattr(roles, name, nn.Linear(4, 4))
    roles.norm1, roles.norm2, roles.norm3 = (nn.LayerNorm(4) for _ in range(3))
    assert len(build_model_graph(roles).modules) == 7


def test_folding_can_be_turned_off():
    model = zoo.Stack([zoo.Residual(layer_idx=i) for i in range(12)])
    assert len(build_model_graph(model, fold=False).modules) == 4 + 12 * 3


def test_trainable_and_frozen_blocks_are_apart():
    model = zoo.Stack([zoo.Residual() for _ in range(4)])
    model.blocks[0].requires_grad_(requires_grad=False)
    assert layers(build_model_graph(model), "blocks") == [("0", 1), ("1..3", 3)]


def test_a_long_chain_needs_no_deep_stack():
    model = nn.Linear(2, 2)
    for _ in range(2000):
        model = nn.Sequential(model)
    graph = build_model_graph(model)
    assert len(graph.modules) == 2001
    assert graph.meta.totals.unique == 6


def test_two_thousand_modules_are_quick():
    model = nn.ModuleList([nn.Sequential(zoo.Residual(), nn.ReLU(), nn.Linear(8, 8), nn.Tanh()) for _ in range(300)])
    build_model_graph(model)
    start = time.process_time()
    graph = build_model_graph(model)
    assert time.process_time() - start < 0.5
    assert (graph.meta.num_modules, len(graph.modules)) == (2101, 8)
