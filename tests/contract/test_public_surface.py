"""What users may import: a sorted list, every name there, each explained, and all of it light."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import trackio_like

HEAVY = ("numpy", "pyarrow", "duckdb", "pandas", "torch", "gradio", "huggingface_hub", "matplotlib", "PIL", "space_app")


def test_the_list_of_names_is_sorted_and_has_no_double() -> None:
    assert list(trackio_like.__all__) == sorted(set(trackio_like.__all__))


@pytest.mark.parametrize("name", sorted(trackio_like.__all__))
def test_a_public_name_is_there_and_explained(name: str) -> None:
    value = getattr(trackio_like, name)
    if inspect.isroutine(value) or inspect.isclass(value):
        assert inspect.getdoc(value), f"trackio_like.{name} has no docstring"
    assert name in dir(trackio_like)


@pytest.mark.parametrize("name", sorted(trackio_like.__all__))
def test_a_public_class_explains_its_public_methods(name: str) -> None:
    value = getattr(trackio_like, name)
    if inspect.isclass(value):
        bare = [
            k
            for k, v in vars(value).items()
            if not k.startswith("_") and (callable(v) or isinstance(v, property)) and not inspect.getdoc(v)
        ]
        assert not bare


def test_importing_the_tracker_brings_nothing_heavy() -> None:
    code = f"import sys, trackio_like; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert fresh(code) == "[]"


def test_logging_brings_nothing_heavy() -> None:
    code = (
        "import sys, trackio_like as t; t.init(project='p'); t.log({'a': 1.0});"
        f"print([m for m in {HEAVY!r} if m in sys.modules]); t.finish()"
    )
    assert fresh(code).splitlines()[-1] == "[]" or "[]" in fresh(code).splitlines()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        trackio_like.no_such_name  # noqa: B018


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
