"""How a trace folds: from operations of all instances to those of one."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model import zoo
from trackio_like.model import build_model_graph


def traced(model, *shape, **options):
    torch.set_num_threads(1)
    return build_model_graph(model, trace=True, input_shape=shape or None, **options)


def ways(graph):
    """Edges as text: name and module of both ends."""

    def end(position):
        op = graph.ops[position]
        return f"{op.name}@{graph.modules[op.module].path}"

    return {(end(edge.source), end(edge.target)): edge.kind for edge in graph.edges}


def faults(graph):
    """What no graph may have."""
    outgoing, incoming = Counter(e.source for e in graph.edges), Counter(e.target for e in graph.edges)
    found = [f"backward {e}" for e in graph.edges if e.kind != "loop" and e.source >= e.target]
    for position, op in enumerate(graph.ops):
        if op.kind == "output" and not incoming[position]:
            found.append(f"output from nowhere {op}")
        if op.kind == "combine" and not outgoing[position]:
            found.append(f"dead end {op}")
        if op.kind not in ("output", "input") and not outgoing[position] and not graph.meta.is_partial:
            found.append(f"unused {op}")
    return found


def blocks(num, **options):
    return [zoo.Residual(layer_idx=i, **options) for i in range(num)]


def test_the_first_instance_takes_from_outside_and_stands_for_the_last():
    graph = traced(zoo.Stack(blocks(5)), 2, 8)
    assert ways(graph) == {
        ("x@", "addmm@inp"): "tensor",
        ("addmm@inp", "native_layer_norm@blocks.0.norm"): "tensor",
        ("addmm@inp", "add@blocks.0"): "residual",
        ("native_layer_norm@blocks.0.norm", "addmm@blocks.0.fc"): "tensor",
        ("addmm@blocks.0.fc", "add@blocks.0"): "tensor",
        ("add@blocks.0", "native_layer_norm@blocks.0.norm"): "loop",
        ("add@blocks.0", "add@blocks.0"): "loop",
        ("add@blocks.0", "addmm@out"): "tensor",
        ("addmm@out", "output@"): "tensor",
    }


@pytest.mark.parametrize(("glue", "num_ops"), [("none", 7), ("relu", 8), ("add", 8)])
def test_what_runs_between_instances_folds_with_them(glue, num_ops):
    graph = traced(zoo.Stack(blocks(7), glue=glue), 2, 8)
    assert len(graph.ops) == num_ops
    assert not faults(graph)


def test_groups_fold_with_what_runs_between_their_siblings():
    row = [zoo.Residual(layer_idx=i, window=i % 2) for i in range(6)]
    graph = traced(zoo.Stack(row, glue="add"), 2, 8)
    found = ways(graph)
    assert len(graph.ops) == 12
    assert found["add@", "native_layer_norm@blocks.0.norm"] == "loop"
    assert ("addmm@blocks.1.fc", "add@blocks.1") in found
    assert not faults(graph)


def test_numbers_are_of_one_instance_and_lists_count_all():
    graph = traced(zoo.Stack(blocks(5)), 2, 8)
    by_path = {module.path: module for module in graph.modules}
    assert by_path["blocks.0"].flops == by_path["blocks.0.fc"].flops == 2 * 2 * 8 * 8
    assert by_path["blocks"].flops == 5 * by_path["blocks.0"].flops
    assert graph.meta.totals.flops == 7 * 2 * 2 * 64 - 2 * 2 * 8 * 5
    assert by_path["blocks.0"].outputs[0].shape == (2, 8)


def test_a_reused_layer_keeps_its_calls():
    graph = traced(zoo.Reused(), 4, 8)
    by_path = {module.path: module for module in graph.modules}
    assert (by_path["first"].calls, by_path["act"].calls, by_path["out"].calls) == (4, 4, 1)
    assert by_path["again"].same_as == "first"
    assert by_path["first"].flops == 4 * 2 * 4 * 64
    assert not faults(graph)


def test_listed_experts_are_one_with_what_weighs_them():
    graph = traced(zoo.MoeNet(num=6, k=2), 4, 8)
    kinds = Counter(op.kind for op in graph.ops)
    assert (kinds["router"], kinds["combine"]) == (1, 1)
    combine = next(i for i, op in enumerate(graph.ops) if op.kind == "combine")
    assert [graph.modules[graph.ops[e.target].module].path for e in graph.edges if e.source == combine] == [
        "moe",
        "out",
    ]
    assert [e.label for e in graph.edges if e.kind == "routing"] == ["top-2/6"]
    assert not [op for op in graph.ops if ".experts.1" in graph.modules[op.module].path]
    assert not faults(graph)


def test_fused_experts_with_a_shared_one():
    graph = traced(zoo.FusedMoe(), 4, 16)
    assert Counter(op.kind for op in graph.ops)["combine"] == 1
    assert {e.label for e in graph.edges if e.kind == "routing"} == {"top-2/4"}
    assert not faults(graph)


def test_skips_of_a_unet():
    graph = traced(zoo.UNet(), 1, 3, 32, 32)
    assert Counter(edge.kind for edge in graph.edges)["skip"] == 4
    assert not faults(graph)


def test_residuals_of_a_resnet():
    graph = traced(zoo.resnet18(), 1, 3, 64, 64)
    found = Counter((edge.kind, edge.label) for edge in graph.edges)
    assert found["residual", "projection"] == 3
    assert found["residual", ""] == 4  # five, of which two are one
    assert not faults(graph)
    unfolded = traced(zoo.resnet18(), 1, 3, 64, 64, fold=False)
    assert Counter(edge.kind for edge in unfolded.edges)["residual"] == 8


def test_modules_stand_in_the_order_in_which_they_run():
    model = zoo.Tied()
    model.embed, model.head = model._modules.pop("embed"), model._modules.pop("head")
    graph = build_model_graph(model, trace=True, example_inputs=torch.zeros(2, 3, dtype=torch.int64))
    assert [module.name for module in graph.modules] == ["", "embed", "body", "head"]
    tie = graph.ties[0]
    assert sorted(graph.modules[at].name for at in tie.modules) == ["embed", "head"]


@settings(max_examples=20)  # each traces twice
@given(st.lists(st.sampled_from([None, 4, 8]), min_size=1, max_size=7), st.sampled_from(["none", "relu", "add"]))
def test_any_row_of_blocks_gives_a_sound_graph(windows, glue):
    row = [zoo.Residual(layer_idx=i, window=window) for i, window in enumerate(windows)]
    graph = traced(zoo.Stack(row, glue=glue), 2, 8)
    assert not faults(graph)
    assert sum(edge.kind == "residual" for edge in graph.edges) >= 1
    whole = traced(zoo.Stack(row, glue=glue), 2, 8, fold=False)
    assert graph.meta.totals == whole.meta.totals
    assert len(graph.ops) <= len(whole.ops)


@pytest.mark.parametrize(
    ("num", "glue", "num_ops"), [(5, True, 8), (5, False, 7), (2, False, 7), (1, True, 8), (2, True, 12)]
)
def test_a_block_that_runs_over_and_over_is_one_with_a_loop(num, glue, num_ops):
    graph = traced(zoo.Turns(num, glue=glue), 2, 8)
    assert len(graph.ops) == num_ops
    assert not faults(graph)
    block = next(module for module in graph.modules if module.path == "block")
    assert (block.calls, block.flops) == (num, num * 2 * 2 * 64)
    if num_ops < 12 and num > 1:
        assert "loop" in {edge.kind for edge in graph.edges}


def test_one_activation_in_many_places_is_no_loop():
    graph = traced(zoo.resnet18(), 1, 3, 64, 64, fold=False)
    assert {edge.kind for edge in graph.edges} == {"tensor", "residual"}
    assert sum(op.name.startswith("relu") for op in graph.ops) == 17


def test_what_a_later_instance_does_besides_belongs_to_what_came_before():
    graph = traced(zoo.Stack([zoo.Uneven(layer_idx=i) for i in range(4)]), 2, 8)
    assert "sigmoid" not in [op.name for op in graph.ops]
    assert ("add@blocks.0", "native_layer_norm@blocks.0.norm") in ways(graph)
    assert not faults(graph)
