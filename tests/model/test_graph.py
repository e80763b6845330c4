import dataclasses
import gzip
import json
import subprocess
import sys

import pytest

from trackio_like.model.graph import (
    Edge,
    Meta,
    ModelGraph,
    Module,
    Moe,
    Op,
    Params,
    Port,
    Repeat,
    Rung,
    Tensor,
    TensorIO,
    Tie,
    Totals,
)


def small_graph():
    image = TensorIO(shape=(2, 8), dtype="float32", dims=("B", ""))
    return ModelGraph(
        meta=Meta(
            name="net",
            class_name="Net",
            fingerprint="ab",
            trace_mode="meta",
            rungs=(Rung(mode="meta"),),
            num_modules=5,
            dims={"B": 2},
            totals=Totals(params=300, unique=290, trainable=290, bytes=1160, flops=2_000_000, macs=1_000_000),
            notes=("something was assumed",),
        ),
        modules=(
            Module(
                path="", name="", class_name="Net", kind="container", parent=-1, params=Params(total=300, unique=290)
            ),
            Module(
                path="blocks.0",
                name="0..2",
                class_name="Block",
                kind="block",
                parent=0,
                repeat=Repeat(count=3, names="0..2", differs=("layer_idx",)),
                params=Params(own=72, total=72, unique=72, trainable=72, bytes=288),
                dtypes={"float32": 72},
                bits=32,
                tensors=(Tensor(name="weight", shape=(8, 8), dtype="float32", trainable=True),),
                attrs={"class": "an attribute may have any name"},
                inputs=(image,),
                outputs=(image,),
                flops=512,
                calls=1,
                moe=Moe(num_experts=8, top_k=2),
            ),
            Module(path="head", name="head", class_name="Linear", kind="head", parent=0, same_as="blocks.0"),
        ),
        ops=(
            Op(name="x", kind="input", module=0, shape=(2, 8), dtype="float32", bytes=64),
            Op(name="linear", kind="matmul", module=1, shape=(2, 8), dtype="float32", flops=512, bytes=64),
            Op(name="y", kind="output", module=0, shape=(), dtype="float32"),
        ),
        edges=(Edge(source=0, target=1, bytes=64), Edge(source=1, target=2, kind="residual", label="x")),
        inputs=(Port(name="x", shape=(2, 8), dtype="float32", op=0, dims=("B", "")),),
        outputs=(Port(name="y", shape=(), dtype="float32", op=2),),
        ties=(Tie(modules=(1, 2), tensor="weight"),),
    )


def test_a_document_is_plain_json_and_gives_the_same_graph():
    graph = small_graph()
    document = json.loads(json.dumps(graph.to_document()))
    assert ModelGraph.from_document(document) == graph


def test_a_document_has_the_keys_of_the_design_note():
    document = small_graph().to_document()
    assert document["meta"]["format_version"] == 2
    assert document["meta"]["class"] == "Net"
    assert document["modules"][1]["class"] == "Block"
    assert document["modules"][1]["repeat"] == {"count": 3, "names": "0..2", "differs": ["layer_idx"]}
    assert document["modules"][0]["parent"] == -1
    assert document["ops"]["kind"] == ["input", "matmul", "output"]
    assert document["edges"] == {
        "source": [0, 1], "target": [1, 2], "kind": ["tensor", "residual"], "bytes": [64, 0], "label": ["", "x"],
    }  # fmt: skip


def test_keys_of_a_later_version_are_passed_over():
    document = small_graph().to_document()
    document["later"] = 1
    document["modules"][0]["later"] = 1
    document["ops"]["later"] = [1, 2, 3]
    assert ModelGraph.from_document(document) == small_graph()


@pytest.mark.parametrize("version", [None, 1, 3, "2"])
def test_another_format_is_refused(version):
    document = small_graph().to_document()
    document["meta"]["format_version"] = version
    with pytest.raises(ValueError, match="no model graph of format 2"):
        ModelGraph.from_document(document)


@pytest.mark.parametrize("document", [None, [], {}, {"meta": {"format_version": 2}}])
def test_what_is_no_document_is_refused(document):
    with pytest.raises(ValueError, match=r"document|format"):
        ModelGraph.from_document(document)


def test_columns_of_unequal_length_are_refused():
    document = small_graph().to_document()
    document["edges"]["bytes"].pop()
    with pytest.raises(ValueError, match="zip"):
        ModelGraph.from_document(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"modules": ()},
        {"edges": (Edge(source=0, target=3),)},
        {"edges": (Edge(source=-1, target=0),)},
        {"ops": (Op(name="x", kind="add", module=7),), "edges": (), "inputs": (), "outputs": ()},
        {"ties": (Tie(modules=(0, 9), tensor="w"),)},
        {"modules": (Module(path="", name="", class_name="A", kind="other", parent=0),)},
    ],
)
def test_a_graph_never_points_beside_its_tables(changes):
    with pytest.raises(ValueError):
        dataclasses.replace(small_graph(), **changes)


def test_the_table_shows_tree_shapes_counts_and_totals():
    assert small_graph().summary_text().splitlines() == [
        "Module                       Output  Params  FLOPs",
        "==================================================",
        "Net                          --         290     --",
        "├─ Block (0..2) x3 top-2/8   [2, 8]      72    512",
        "└─ Linear (head) = blocks.0  --          --     --",
        "==================================================",
        "Parameters: 290 (100 % trainable, 1.16kB)",
        "Shared ones counted each time: 300",
        "FLOPs: 2M (1M multiply-adds)",
        "Modules: 5, 3 after folding. Trace: meta.",
        "Note: something was assumed",
    ]


def test_a_long_table_leaves_out_the_innermost():
    text = small_graph().summary_text(max_rows=1)
    assert "(2 inner modules are not shown)" in text
    assert "Block" not in text


def test_a_graph_is_read_without_torch():
    code = "import sys, trackio_like.model.document, trackio_like.model.table; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_small_document_is_small():
    assert len(gzip.compress(json.dumps(small_graph().to_document()).encode())) < 1000
