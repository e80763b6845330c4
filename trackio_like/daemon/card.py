"""The data card of a dataset: which files are which table, for the Hub's viewer and `datasets.load_dataset`. Pure.

The layout stays within what the Hub advises for a repository (fewer than 10,000 files in a folder, 100,000 in all):
each run and kind has a folder of its own, and compaction leaves few files in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import Final

CARD_PATH: Final = "README.md"
_MARK: Final = "<!-- This card is written by trackio_like; remove this line to keep your own changes. -->"
_CONFIG: Final = re.compile(r"^ *- config_name: (?P<kind>[a-z_]+)$", re.MULTILINE)
_KIND_FOLDER: Final = re.compile(r"^[^/]+/[^/]+/(?P<kind>[a-z_]+)/[^/]+\.parquet$")
_DEFAULT: Final = "metrics"
_IDENTITY: Final = "`project` and `run_id` name the run, `writer` the process, `seq` its call, `attempt` counts resumes"
_COLUMNS: Final[Mapping[str, str]] = {
    "metrics": (
        f"one row for each number. {_IDENTITY}; `step` and `time` say when; `key` is the metric's name, `value` its "
        "value as a double, and `value_int` the exact integer where a double cannot hold it"
    ),
    "system": "the machine: columns as in `metrics`, with `step` empty",
    "events": f"what happened to runs. {_IDENTITY}; `time` says when; `type` and `payload` (JSON) say what",
    "objects": (
        f"texts, tables, media and other values. {_IDENTITY}; `step` and `time` say when; `key` is the name, `type` "
        "what it is, `payload` its JSON, and `media` the path of a file beside it"
    ),
    "console": "lines that runs printed",
    "histograms": "distributions over time",
}
_ORDER: Final = tuple(_COLUMNS)


def kinds_of(paths: Iterable[str]) -> set[str]:
    """The kinds of rows that some paths of a dataset hold: `<project>/<run id>/<kind>/<shard>`."""
    matches = (_KIND_FOLDER.match(path) for path in paths)
    return {match["kind"] for match in matches if match} & set(_ORDER)


def is_ours(card: str) -> bool:
    """Whether a card was written here, and may be written anew."""
    return _MARK in card


def card_kinds(card: str) -> set[str]:
    """The kinds that a card of ours names."""
    return {match["kind"] for match in _CONFIG.finditer(card)}


def make_card(kinds: Set[str]) -> str:
    """The card of a dataset that holds some kinds of rows.

    Args:
        kinds: at least one of the known kinds; a config whose files do not exist would break the viewer.
    """
    ordered = [kind for kind in _ORDER if kind in kinds]
    default = _DEFAULT if _DEFAULT in ordered else ordered[0]
    lines = ["---", "tags:", "- trackio_like", "- experiment-tracking", "configs:"]
    for kind in ordered:
        lines += [f"- config_name: {kind}", f'  data_files: "*/*/{kind}/*.parquet"']
        lines += ["  default: true"] if kind == default else []
    lines += ["---", "", _MARK, "", "# Training runs", ""]
    lines += ["Each run is a folder, `<project>/<run id>`, and each kind of rows a folder of Parquet files in it.", ""]
    lines += [f"* **{kind}**: {_COLUMNS[kind]}." for kind in ordered]
    lines += [
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'rows = load_dataset("<this dataset>", "{default}", split="train")',
        "```",
        "",
        "While a run is live, a file whose range of `seq` lies within another one's of the same writer holds rows that",
        "the other one holds too; it goes with a later commit. Count a row once for each `writer`, `seq` and `key`.",
        "",
    ]
    return "\n".join(lines)


def next_card(current: str | None, *, kinds: Set[str]) -> str | None:
    """The card to write; None where the one that is there says enough, or is a person's.

    Args:
        current: the card that is there; None for none.
        kinds: what is about to be in the dataset, as far as known.
    """
    if current is not None and not is_ours(current):
        return None
    wanted = kinds | (card_kinds(current) if current else set())
    if not wanted or (current is not None and wanted == card_kinds(current)):
        return None
    return make_card(wanted)


__all__ = ["CARD_PATH", "card_kinds", "is_ours", "kinds_of", "make_card", "next_card"]
