"""A model graph as plain JSON values and back; docs/design/model_graph.md describes them. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Final, TypeVar

import msgspec

from trackio_like.model.graph import FORMAT_VERSION, Edge, Meta, ModelGraph, Module, Op, Port, Tie

_RENAMED: Final = {"class_name": "class"}
_Row = TypeVar("_Row")


def to_document(graph: ModelGraph) -> dict[str, Any]:
    """See `ModelGraph.to_document`."""
    return {
        "meta": _plain(graph.meta) | {"format_version": FORMAT_VERSION},
        "modules": [_plain(module) for module in graph.modules],
        "ops": _columns(graph.ops, Op),
        "edges": _columns(graph.edges, Edge),
        "inputs": [_plain(port) for port in graph.inputs],
        "outputs": [_plain(port) for port in graph.outputs],
        "ties": [_plain(tie) for tie in graph.ties],
    }


def from_document(document: Mapping[str, Any]) -> ModelGraph:
    """See `ModelGraph.from_document`."""
    document = _mapping(document)
    meta = _mapping(document.get("meta"))
    version = meta.get("format_version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"This is no model graph of format {FORMAT_VERSION}: its meta.format_version is {version!r}. If a newer "
            "version of this package wrote it, update this one to read it."
        )
    try:
        return ModelGraph(
            meta=_read(meta, Meta),
            modules=tuple(_read(row, Module) for row in document["modules"]),
            ops=tuple(_rows(document.get("ops", {}), Op)),
            edges=tuple(_rows(document.get("edges", {}), Edge)),
            inputs=tuple(_read(row, Port) for row in document.get("inputs", ())),
            outputs=tuple(_read(row, Port) for row in document.get("outputs", ())),
            ties=tuple(_read(row, Tie) for row in document.get("ties", ())),
        )
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"The document of the model graph cannot be read: {type(error).__name__}: {error}.") from error


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        found = {}
        for entry in fields(value):
            item = getattr(value, entry.name)
            if item != _default(entry):
                found[_RENAMED.get(entry.name, entry.name)] = _plain(item)
        return found
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _default(entry: Field[Any]) -> Any:
    if entry.default_factory is not MISSING:
        return entry.default_factory()
    return entry.default  # MISSING equals no value, so a field that must be there is written


def _columns(rows: Sequence[Any], kind: type) -> dict[str, list[Any]]:
    return {entry.name: [_plain(getattr(row, entry.name)) for row in rows] for entry in fields(kind)}


def _read(row: Mapping[str, Any], kind: type[_Row]) -> _Row:
    named = {name: row[written] for name, written in _RENAMED.items() if written in row}
    return msgspec.convert({**row, **named}, kind)


def _rows(columns: Mapping[str, Sequence[Any]], kind: type[_Row]) -> Iterable[_Row]:
    known = [entry.name for entry in fields(kind) if entry.name in columns]  # type: ignore[arg-type]
    for values in zip(*(columns[name] for name in known), strict=True):
        yield msgspec.convert(dict(zip(known, values, strict=True)), kind)


__all__ = ["from_document", "to_document"]
