"""The tree keeps its shape: stages say what they are, modules stay short, nothing names one machine."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import trackio_like

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("trackio_like", "space_app")
STAGES = {
    "trackio_like.run": 1,
    "trackio_like.journal": 2,
    "trackio_like.shards": 3,
    "trackio_like.daemon": 4,
    "trackio_like.store": 5,
    "trackio_like.query": 6,
    "space_app.api": 7,
    "space_app.tabs": 8,
}
MAX_LINES = 400
LONGER: dict[str, str] = {}
"""Modules that may be longer than `MAX_LINES`, each with its reason."""


def modules() -> list[Path]:
    return sorted(
        path
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*.py")
        if "node_modules" not in path.parts
    )


@pytest.mark.parametrize(("stage", "number"), STAGES.items(), ids=STAGES)
def test_a_stage_says_its_number_and_what_goes_in_and_out(stage: str, number: int) -> None:
    text = importlib.import_module(stage).__doc__ or ""
    assert text.startswith(f"Stage {number} of 8"), f"{stage}'s docstring begins with {text[:40]!r}"
    assert "In:" in text
    assert "Out:" in text


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_module_is_short_and_its_first_line_says_its_job(path: Path) -> None:
    source = path.read_text()
    name = str(path.relative_to(REPOSITORY))
    assert len(source.splitlines()) <= MAX_LINES or name in LONGER, f"{name} is longer than {MAX_LINES} lines: split it"
    assert ast.get_docstring(ast.parse(source)), f"{name} has no docstring"


def test_exceptions_to_the_length_are_still_needed() -> None:
    for name in LONGER:
        assert len((REPOSITORY / name).read_text().splitlines()) > MAX_LINES, (
            f"{name} is short now; take it off the list"
        )


def test_the_version_is_the_changelogs_top_entry() -> None:
    top = re.search(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert top is not None
    assert top[1] == trackio_like.__version__


def test_no_tracked_file_names_a_folder_of_one_machine() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    home = re.compile(rf"({re.escape(str(REPOSITORY.parent))}/|/home/[a-z]+/|/Users/[A-Za-z]+/)")
    found = []
    for name in filter(None, tracked.stdout.split("\0")):
        path = REPOSITORY / name
        if path.is_file() and "static/dist" not in name and path.stat().st_size < 1 << 20:
            text = path.read_text(errors="ignore")
            found += [f"{name}: {match[0]}" for match in home.finditer(text) if len(REPOSITORY.parent.parts) > 1]
    assert not found


def test_the_lock_pins_every_dependency_of_the_base_install() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    pinned = {
        line.split("==")[0].lower().replace("-", "_")
        for line in (REPOSITORY / "constraints.txt").read_text().splitlines()
    }
    wanted = {re.split(r"[\[<>=;! ]", line)[0].lower().replace("-", "_") for line in project["dependencies"]}
    assert wanted <= pinned
