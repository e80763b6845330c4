"""What README and docs say is so: their code runs, their commands exist, their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from trackio_like._settings import VARIABLES

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
EXAMPLES = sorted(path for path in (REPOSITORY / "examples").glob("*.py") if path.name != "demo.py")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for name, code in _BLOCK.findall(page.read_text()) if name == language]


def as_python(language: str, code: str) -> str:
    """A block as part of its page's program: Python as it is, `trackio-like sync` as a call, all else left out."""
    if language == "sh" and code.startswith("trackio-like sync"):
        return "import subprocess, sys; subprocess.run([sys.executable, '-m', 'trackio_like.cli', 'sync'], check=True)"
    return code if language == "python" else ""


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_the_code_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path, daemon: None) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(as_python(language, code) for language, code in _BLOCK.findall(page.read_text())))
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_runs(path: Path, tmp_path: Path, daemon: None) -> None:
    fewer = ["--epochs", "1"] if path.name in ("train_digits.py", "loss_landscape_demo.py") else []
    done = subprocess.run([sys.executable, path, *fewer], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_landscape_example_checks_its_mathematics(tmp_path: Path) -> None:
    script = REPOSITORY / "examples" / "loss_landscape_demo.py"
    done = subprocess.run([sys.executable, script, "--self-check"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("All checks passed.\n")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


def test_make_commands_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = {match for page in PAGES for match in re.findall(r"`?make ([a-z-]+)", _code(page))}
    assert named <= targets


def test_commands_that_pages_name_exist() -> None:
    named = {match for page in PAGES for match in re.findall(r"trackio-like ([a-z]+)", _code(page))}
    assert named
    for command in sorted(named):
        done = subprocess.run(
            [sys.executable, "-m", "trackio_like.cli", command, "--help"], capture_output=True, text=True
        )
        assert done.returncode == 0, f"trackio-like {command}: {done.stderr}"


def test_every_setting_is_documented_and_every_documented_one_is_read() -> None:
    rows = re.findall(r"^\| `(TRACKIO_\w+)`", (REPOSITORY / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(VARIABLES)
    for page in PAGES:
        assert set(re.findall(r"TRACKIO_[A-Z_]+", page.read_text())) <= {*VARIABLES, "TRACKIO_"}, name_of(page)


def test_only_one_module_reads_the_environment() -> None:
    readers = [
        name_of(path)
        for package in ("trackio_like", "space_app")
        for path in (REPOSITORY / package).rglob("*.py")
        if "node_modules" not in path.parts
        and re.search(r"os\.environ(\.get|\[[^]]+\](?! = ))|os\.getenv", path.read_text())
    ]
    assert readers == []


def _code(page: Path) -> str:
    """What a page sets as code: blocks and spans."""
    text = page.read_text()
    return "\n".join([*(code for _, code in _BLOCK.findall(text)), *re.findall(r"`([^`\n]+)`", text)])
