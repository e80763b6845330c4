"""What a Space's repository holds: all that runs, nothing that is secret, and who made it."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from trackio_like._version import __version__
from trackio_like.daemon.space_files import (
    GRADIO_VERSION,
    MARK_FILE,
    PACKAGES,
    Mark,
    digest_of,
    refuse_secrets,
    requirements,
    space_files,
)
from trackio_like.format.targets import Target

TARGET = Target(kind="bucket", id="me/rows", space_id="me/board")
TOKENS = ["hf_" + "Ab1" * 12, "sk-proj-" + "a1B2" * 8, "AKIA" + "ABCD1234" * 2, "ghp_" + "a1B2" * 9]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return space_files(TARGET)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A copy of both packages, to be changed."""
    for name in ("trackio_like", "space_app"):
        shutil.copytree(PACKAGES / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(PACKAGES / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_card_pins_gradio_and_python_and_asks_for_the_right_to_write(files) -> None:
    card = yaml.safe_load(files["README.md"].decode().split("---\n")[1])
    assert (card["sdk"], card["sdk_version"], card["python_version"]) == ("gradio", GRADIO_VERSION, "3.12")
    assert card["app_file"] in files
    assert card["title"] == "board"
    assert card["hf_oauth"] is True
    assert card["hf_oauth_scopes"] == ["write-repos"]
    assert "trackio_like" in card["tags"]
    assert len(card["short_description"]) <= 60  # the Hub's limit


def test_the_pinned_gradio_is_the_one_that_the_tests_run_with() -> None:
    assert f"\ngradio=={GRADIO_VERSION}\n" in (PACKAGES / "constraints.txt").read_text()


def test_what_is_installed_is_what_the_project_needs_without_gradio_and_ourselves(files) -> None:
    project = tomllib.loads((PACKAGES / "pyproject.toml").read_text())["project"]
    wanted = {*project["dependencies"], *project["optional-dependencies"]["dashboard"]}
    assert set(files["requirements.txt"].decode().splitlines()) == {
        line for line in wanted if not line.startswith("gradio")
    }


def test_what_is_installed_is_known_without_a_checkout_too(tmp_path: Path) -> None:
    names = {re.split(r"[<>=;! ]", line)[0] for line in requirements(tmp_path)}
    assert {"duckdb", "msgspec", "numpy", "plotly", "psutil", "pyarrow"} <= names
    assert not {"gradio", "trackio-like", "torch", "pytest", "scikit-learn"} & names


def test_both_packages_are_uploaded_without_what_only_developers_need(files) -> None:
    assert {"app.py", "trackio_like/py.typed", "space_app/static/dist/manifest.json", "space_app/hosted.py"} <= set(
        files
    )
    assert not [path for path in files if re.search(r"node_modules|frontend|__pycache__|\.pyc|tests/", path)]


def test_the_mark_says_who_made_it_which_version_and_what_it_shows(files) -> None:
    assert json.loads(files[MARK_FILE]) == {
        "app": "trackio_like",
        "version": __version__,
        "digest": digest_of(files),
        "bucket_id": "me/rows",
    }


def test_the_same_version_gives_the_same_files(files) -> None:
    assert space_files(TARGET) == files


def test_a_changed_file_changes_the_digest(packages: Path, files) -> None:
    (packages / "space_app" / "new.py").write_text("x = 1\n")
    assert Mark.from_json(space_files(TARGET, packages=packages)[MARK_FILE]) != Mark.from_json(files[MARK_FILE])


@pytest.mark.parametrize("token", TOKENS)
def test_nothing_is_given_out_where_a_file_holds_a_token_and_the_token_is_not_repeated(packages, token) -> None:
    (packages / "space_app" / "left.py").write_text(f'login("{token}")\n')
    with pytest.raises(ValueError, match=r"space_app/left\.py holds") as caught:
        space_files(TARGET, packages=packages)
    assert token not in str(caught.value)


def test_a_private_key_is_found() -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow=="
    with pytest.raises(ValueError, match=r"key\.pem holds"):
        refuse_secrets({"key.pem": key.encode()})


def test_a_token_at_hand_is_found_whatever_it_looks_like() -> None:
    with pytest.raises(ValueError, match=r"a\.txt holds"):
        refuse_secrets({"a.txt": b"so plain"}, known=["plain"])


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"app": "another", "version": "1"}', b"\xff"])
def test_what_is_not_our_mark_is_none(text: bytes) -> None:
    assert Mark.from_json(text) is None


def test_a_mark_of_a_newer_version_can_be_read() -> None:
    mark = Mark.from_json('{"app": "trackio_like", "version": "9.1", "new": 1}')
    assert mark is not None
    assert mark.release == (9, 1)


def test_a_target_without_a_space_is_an_error() -> None:
    with pytest.raises(ValueError, match="no Space"):
        space_files(Target(kind="bucket", id="me/rows"))
