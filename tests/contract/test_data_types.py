"""Each registered data type is whole: codec, tab, view, page and strategy; a failure names the file to write."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from space_app.tabs import TABS
from tests.datatypes.strategies import STRATEGIES
from trackio_like.datatypes import DATA_TYPES

REPOSITORY = Path(__file__).resolve().parents[2]
every_type = pytest.mark.parametrize("data_type", DATA_TYPES, ids=lambda data_type: data_type.name)


def test_names_of_data_types_are_their_own() -> None:
    assert len({data_type.name for data_type in DATA_TYPES}) == len(DATA_TYPES)


@every_type
def test_a_data_type_has_a_codec(data_type) -> None:
    package = f"trackio_like.datatypes.{data_type.package}"
    for function in ("encode", "decode"):
        assert callable(getattr(importlib.import_module(package), function, None)), f"Write {function} in {package}"


@every_type
def test_a_data_types_files_are_taken_everywhere(data_type) -> None:
    assert re.fullmatch(r"[a-z0-9]{1,12}", data_type.extension)


@every_type
def test_a_data_type_has_a_tab(data_type) -> None:
    folder = REPOSITORY / "space_app" / "tabs"
    assert data_type.tab in {tab.id for tab in TABS}, (
        f"Add {folder.relative_to(REPOSITORY)}/{data_type.tab}.py and its line in __init__.py beside it"
    )


@every_type
def test_a_data_type_has_a_view(data_type) -> None:
    page = (REPOSITORY / "space_app" / "frontend" / "src" / "app.js").read_text()
    views = re.search(r"const VIEWS = \{(.*)\};", page)
    assert views is not None
    assert re.search(rf"\b{data_type.tab}:", views[1]), (
        f"Write the view of the tab {data_type.tab!r} in space_app/frontend/src and add it to VIEWS in app.js"
    )


@every_type
def test_a_data_type_is_explained(data_type) -> None:
    page = REPOSITORY / "docs" / data_type.page
    assert page.is_file(), f"Write docs/{data_type.page}"
    assert data_type.name in page.read_text(), f"Name {data_type.name} in docs/{data_type.page}"


@every_type
def test_a_data_type_has_a_strategy(data_type) -> None:
    assert data_type.name in STRATEGIES, f"Add a strategy for {data_type.name!r} to tests/datatypes/strategies.py"


def test_no_strategy_is_left_over() -> None:
    assert STRATEGIES.keys() <= {data_type.name for data_type in DATA_TYPES}
