"""A model graph becomes a summary and a JSON document, and again what it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from trackio_like.model.graph import FORMAT_VERSION, Meta, ModelGraph, Module
from trackio_like.run.config import masked, plain_config
from trackio_like.run.secrets import mask_text
from trackio_like.run.values import encodable


def encode(graph: ModelGraph, meta: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], bytes]:
    """What a graph's row and its file hold.

    Args:
        graph: texts that look like secrets (a token in a note or an attribute) are masked as in configs.
        meta: what else is to be known of it; any values, which become plain ones.

    Returns:
        The payload, a summary of plain values, and the document as JSON.
    """
    graph = replace(graph, meta=_masked_meta(graph.meta), modules=tuple(map(_masked_module, graph.modules)))
    summary = _summary(graph)
    if meta:
        summary["meta"] = masked(plain_config(dict(meta)))
    payload: dict[str, Any] = encodable(summary)
    return payload, msgspec.json.encode(encodable(graph.to_document()))


def _summary(graph: ModelGraph) -> dict[str, Any]:
    meta, totals = graph.meta, graph.meta.totals
    return {
        "format_version": FORMAT_VERSION,
        "class": meta.class_name,
        "fingerprint": meta.fingerprint,
        "trace_mode": meta.trace_mode,
        "num_modules": meta.num_modules,
        "num_nodes": len(graph.modules),
        "num_ops": len(graph.ops),
        "params": totals.unique,
        "trainable": totals.trainable,
        "bytes": totals.bytes,
        "flops": totals.flops,
        "is_partial": meta.is_partial,
    }


def _masked_meta(meta: Meta) -> Meta:
    """Errors and notes of a user's own code may hold anything."""
    return replace(
        meta,
        notes=tuple(map(mask_text, meta.notes)),
        rungs=tuple(replace(rung, error=mask_text(rung.error)) for rung in meta.rungs),
    )


def _masked_module(module: Module) -> Module:
    masked = {name: mask_text(value) for name, value in module.attrs.items()}
    return module if masked == module.attrs else replace(module, attrs=masked)


def decode(payload: Mapping[str, Any], file: bytes) -> ModelGraph:
    """The graph of a row and its file.

    Args:
        payload: as the row has it.
        file: the bytes that the row's `media` names.

    Returns:
        The graph.

    Raises:
        ValueError: the file is damaged or another row's, or a newer version wrote it.
    """
    version = payload.get("format_version")
    if type(version) is not int:
        raise ValueError("This row describes no model graph: it has no format_version.")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"This model graph has format version {version}, this trackio_like reads up to {FORMAT_VERSION}. "
            "Nothing is lost: update trackio_like to read it."
        )
    try:
        document = msgspec.json.decode(file, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError("The file of this model graph is no whole JSON document.") from error
    graph = ModelGraph.from_document(document)
    if graph.meta.fingerprint != payload.get("fingerprint"):
        raise ValueError(
            "The file holds another model graph than its row says: their fingerprints differ, so one of them is not "
            "the other's."
        )
    return graph


__all__ = ["decode", "encode"]
