"""A model graph as a table of plain text. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from trackio_like.model.graph import ModelGraph, Module

_HEADS: Final = ("Module", "Output", "Params", "FLOPs")
_SUFFIXES: Final = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def summary_text(graph: ModelGraph, *, max_rows: int) -> str:
    """See `ModelGraph.summary_text`."""
    if max_rows < 1:
        raise ValueError(f"max_rows is {max_rows}, but a table has at least one row.")
    shown = _outermost(graph, max_rows)
    rows = [_row(graph.modules[position], prefix) for position, prefix in _tree(graph, shown)]
    widths = [max(len(row[column]) for row in [_HEADS, *rows]) for column in range(len(_HEADS))]
    line = "=" * (sum(widths) + 2 * (len(widths) - 1))
    table = [_line(_HEADS, widths), line, *(_line(row, widths) for row in rows), line]
    if (num_left := len(graph.modules) - len(rows)) > 0:
        table.insert(-1, f"({num_left} inner modules are not shown)")
    return "\n".join([*table, *_totals(graph)]) + "\n"


def readable(count: int) -> str:
    """A count with three significant digits and a suffix, such as `6.74G`."""
    for size, suffix in _SUFFIXES:
        if abs(count) >= size:
            return f"{count / size:.3g}{suffix}" if count < 999.5 * size else f"{count / size:.0f}{suffix}"
    return str(count)


def _outermost(graph: ModelGraph, max_rows: int) -> set[int]:
    depths: list[int] = []
    for module in graph.modules:
        depths.append(0 if module.parent < 0 else depths[module.parent] + 1)
    return set(sorted(range(len(depths)), key=lambda position: (depths[position], position))[:max_rows])


def _tree(graph: ModelGraph, shown: set[int]) -> Iterator[tuple[int, str]]:
    children: dict[int, list[int]] = {}
    for position, module in enumerate(graph.modules):
        if position in shown:
            children.setdefault(module.parent, []).append(position)
    waiting = [(0, "", "")]
    while waiting:
        position, prefix, below = waiting.pop()
        yield position, prefix
        inner = children.get(position, [])
        for child in reversed(inner):
            is_last = child == inner[-1]
            waiting.append((child, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  ")))


def _row(module: Module, prefix: str) -> tuple[str, str, str, str]:
    label = f"{module.class_name or 'group'} ({module.name})" if module.name else module.class_name
    if module.count > 1:
        label += f" x{module.count}"
    if module.same_as:
        label += f" = {module.same_as}"
    if module.moe is not None:
        label += f" top-{module.moe.top_k or '?'}/{module.moe.num_experts}"
    if module.is_failed:
        label += " (failed here)"
    shape = ", ".join(str(list(output.shape)) for output in module.outputs[:2])
    if len(module.outputs) > 2:
        shape += ", ..."
    params = f"{module.params.unique:,}" if module.params.unique and not module.same_as else "--"
    return prefix + label, shape or "--", params, readable(module.flops) if module.flops else "--"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [text.ljust(width) if column < 2 else text.rjust(width) for column, (text, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip  # noqa: E501
    return "  ".join(cells).rstrip()


def _totals(graph: ModelGraph) -> Iterator[str]:
    meta, totals = graph.meta, graph.meta.totals
    share = f"{100 * totals.trainable / totals.unique:.4g} % trainable" if totals.unique else "none trainable"
    yield f"Parameters: {totals.unique:,} ({share}, {readable(totals.bytes)}B)"
    if totals.params != totals.unique:
        yield f"Shared ones counted each time: {totals.params:,}"
    if totals.active and totals.active != totals.unique:
        yield f"Active for one token: {totals.active:,}"
    if totals.flops:
        yield f"FLOPs: {readable(totals.flops)} ({readable(totals.macs)} multiply-adds)"
    if totals.peak_bytes:
        yield f"Activations: {readable(totals.peak_bytes)}B at most at once"
    if totals.kv_bytes_per_token:
        yield f"Keys and values kept: {readable(totals.kv_bytes_per_token)}B a token"
    yield f"Modules: {meta.num_modules:,}, {len(graph.modules):,} after folding. Trace: {meta.trace_mode}."
    for note in meta.notes:
        yield f"Note: {note}"


__all__ = ["readable", "summary_text"]
