"""A model graph is stored as it is, as a document that says what it is, and a summary that the page lists."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.datatypes.strategies import model_graphs
from trackio_like.datatypes.model_graph import decode, encode
from trackio_like.model.graph import Meta, ModelGraph, Module, Rung
from trackio_like.shards.tables import to_json


def graph(**meta):
    fields = {"name": "net", "class_name": "Net", "fingerprint": "ab12", **meta}
    module = Module(
        path="", name="", class_name="Net", kind="container", parent=-1, attrs={"url": "https://a:b@host/x"}
    )
    return ModelGraph(meta=Meta(**fields), modules=(module,))


@given(model_graphs())
def test_what_was_encoded_is_decoded_by_whatever_way_the_payload_came(found):
    payload, file = encode(found)
    assert decode(payload, file) == found
    assert decode(json.loads(to_json(payload)), file) == found
    assert decode(msgspec.msgpack.decode(msgspec.msgpack.encode(payload)), file) == found


@given(model_graphs())
def test_the_summary_says_what_the_document_holds(found):
    payload, file = encode(found)
    document = json.loads(file)
    assert document["meta"]["format_version"] == payload["format_version"] == 2
    assert payload["num_nodes"] == len(document["modules"])
    assert payload["num_ops"] == len(document["ops"]["name"])
    assert payload["class"] == document["meta"]["class"]
    assert payload["params"] == found.meta.totals.unique


def test_secrets_in_errors_notes_and_attributes_are_masked():
    token = "hf_" + "a1" * 15
    _, file = encode(graph(notes=(f"needs {token}",), rungs=(Rung(mode="meta", error=f"401 for {token}"),)))
    assert token.encode() not in file
    assert b"a:b@host" not in file


def test_meta_of_the_user_becomes_plain_with_its_secrets_masked():
    payload, _ = encode(graph(), {"commit": "abc", "api_key": "xyz", "shape": (1, 2)})
    assert payload["meta"] == {"commit": "abc", "api_key": "REDACTED", "shape": [1, 2]}


def test_a_lone_surrogate_becomes_a_mark():
    payload, file = encode(graph(class_name="Net\udce9"))
    assert decode(payload, file).meta.class_name == "Net?"


@given(model_graphs(), st.data())
def test_a_file_that_was_cut_off_is_refused(found, data):
    payload, file = encode(found)
    cut = data.draw(st.integers(0, len(file) - 1))
    with pytest.raises(ValueError, match="no whole JSON document"):
        decode(payload, file[:cut])


def test_a_row_is_not_read_with_the_file_of_another():
    payload, _ = encode(graph())
    _, other = encode(graph(fingerprint="cd34"))
    with pytest.raises(ValueError, match="another model graph"):
        decode(payload, other)


def test_a_newer_format_says_what_to_do():
    _, file = encode(graph())
    with pytest.raises(ValueError, match="Nothing is lost: update trackio_like"):
        decode({"format_version": 3}, file)
    with pytest.raises(ValueError, match="describes no model graph"):
        decode({}, file)
