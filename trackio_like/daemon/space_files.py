"""What a Space's repository holds: the card, the entry, what to install, both packages and our mark. Sends nothing."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from string import Template
from typing import Any, Final, Self

from trackio_like._version import __version__
from trackio_like.format.targets import Target
from trackio_like.run.secrets import mask_text

APP: Final = "trackio_like"
MARK_FILE: Final = "trackio_like.json"
SDK: Final = "gradio"
GRADIO_VERSION: Final = "6.31.0"
"""The release that the tests run with; a Space gets this one and no other."""
PACKAGES: Final = Path(__file__).resolve().parents[2]
"""The folder that holds both packages: a checkout, or where they are installed."""

_DISTRIBUTION: Final = "trackio-like"
_UPLOADED: Final = ("trackio_like", "space_app")
_LEFT_OUT: Final = frozenset({"__pycache__", "frontend", "node_modules", "tests"})
_LEFT_OUT_ENDS: Final = (".pyc", ".pyo", ".tmp", ".draft", "~")
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{16,}")
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----\s+[A-Za-z0-9+/]")
_EXTRA: Final = re.compile(r"""\bextra\s*==\s*['"](?P<name>[^'"]+)['"]""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What says that a Space is ours, and which one it is."""

    app: str = APP
    version: str = __version__
    digest: str = ""
    """Of all other files that were uploaded."""
    bucket_id: str | None = None
    dataset_id: str | None = None

    @property
    def store(self) -> str:
        """What the Space shows, for messages and comparisons: `the bucket me/board`."""
        return f"the dataset {self.dataset_id}" if self.dataset_id else f"the bucket {self.bucket_id}"

    @property
    def release(self) -> tuple[int, ...]:
        """The version's numbers, to be compared; empty where it has none."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version)[:3])

    def to_json(self) -> str:
        """As the file has it."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(known, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self | None:
        """The inverse of `to_json`; None where it is not our mark. Names of a newer version are left out."""
        try:
            found: Any = json.loads(text)
            known = {field.name for field in fields(cls)}
            mark = cls(**{name: str(value) for name, value in found.items() if name in known})
        except (AttributeError, TypeError, ValueError):
            return None
        return mark if mark.app == APP else None


def space_files(target: Target, *, packages: Path = PACKAGES) -> dict[str, bytes]:
    """Every file of a Space's repository, by its path there.

    Args:
        target: the bucket or dataset that the Space shows, and the Space.
        packages: the folder that holds both packages.

    Raises:
        ValueError: a file holds what looks like a token, or the target has no Space.
        RuntimeError: what has to be installed is not known.
    """
    if target.space_id is None or target.kind == "server":
        raise ValueError(f"{target} has no Space to be shown by.")
    entry = packages / "space_app" / "space"
    files = dict(_package_files(packages))
    files["README.md"] = _card(target, (entry / "card.md").read_text(encoding="utf-8"))
    files["app.py"] = (entry / "app.py").read_bytes()
    files["requirements.txt"] = "".join(f"{line}\n" for line in requirements(packages)).encode()
    files[MARK_FILE] = mark_of(target, digest=digest_of(files)).to_json().encode()
    refuse_secrets(files)
    return dict(sorted(files.items()))


def mark_of(target: Target, *, digest: str = "") -> Mark:
    """The mark of a Space that this version makes for a target."""
    is_dataset = target.kind == "dataset"
    return Mark(
        digest=digest,
        bucket_id=None if is_dataset else target.id,
        dataset_id=target.id if is_dataset else None,
    )


def digest_of(files: Mapping[str, bytes]) -> str:
    """A hash of the files' paths and contents, but for the mark's, in 16 hex digits."""
    whole = hashlib.sha256()
    for path in sorted(files.keys() - {MARK_FILE}):
        whole.update(f"{path}\0{len(files[path])}\0".encode())
        whole.update(files[path])
    return whole.hexdigest()[:16]


def requirements(packages: Path = PACKAGES) -> list[str]:
    """What a Space has to install: our dependencies and those of the dashboard, without Gradio, which the Hub installs.

    Read from `pyproject.toml` where the packages are a checkout, else from what is known of the installed package.

    Raises:
        RuntimeError: neither is there.
    """
    return sorted({line for line in _declared(packages) if _name(line) not in (SDK, _DISTRIBUTION)}, key=str.lower)


def refuse_secrets(files: Mapping[str, bytes], *, known: Iterable[str] = ()) -> None:
    """Lets only files pass in which nothing looks like a token.

    Args:
        files: what is to be published, by path.
        known: tokens at hand, whatever they look like.

    Raises:
        ValueError: a file holds one; it is named, the token is not.
    """
    secrets = [token.encode() for token in known if token]
    for path, content in files.items():
        # Word by word: our own sources speak of tokens and passwords, and only what has the shape of one counts.
        text = content.decode("latin-1")
        has_token = any(mask_text(word) != word for word in set(_WORD.findall(text)))
        if has_token or _PRIVATE_KEY.search(text) or any(secret in content for secret in secrets):
            raise ValueError(f"Nothing was published: {path} holds what looks like a token. Remove it and try again.")


def _package_files(packages: Path) -> Iterator[tuple[str, bytes]]:
    for package in _UPLOADED:
        for folder, names, file_names in os.walk(packages / package):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT and not name.startswith("."))
            for name in sorted(file_names):
                if not name.startswith(".") and not name.endswith(_LEFT_OUT_ENDS):
                    path = Path(folder, name)
                    yield path.relative_to(packages).as_posix(), path.read_bytes()


def _card(target: Target, template: str) -> bytes:
    assert target.space_id is not None
    name = target.space_id.rpartition("/")[2]
    return (
        Template(template)
        .substitute(title=json.dumps(name), name=name, gradio=GRADIO_VERSION, store=f"the {target.kind} `{target.id}`")
        .encode()
    )


def _declared(packages: Path) -> Iterator[str]:
    settings = packages / "pyproject.toml"
    if settings.is_file():
        project = tomllib.loads(settings.read_text(encoding="utf-8")).get("project", {})
        if project.get("name") == _DISTRIBUTION:
            yield from project["dependencies"]
            yield from project["optional-dependencies"]["dashboard"]
            return
    try:
        lines = importlib.metadata.requires(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise RuntimeError(
            "What a Space has to install is not known: trackio-like is neither installed nor a checkout here."
        ) from error
    for line in lines:
        requirement, _, marker = line.partition(";")
        extra = _EXTRA.search(marker)
        if extra is None:
            yield line
        elif extra["name"] == "dashboard":
            yield requirement.strip()


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


__all__ = [
    "APP",
    "GRADIO_VERSION",
    "MARK_FILE",
    "PACKAGES",
    "SDK",
    "Mark",
    "digest_of",
    "mark_of",
    "refuse_secrets",
    "requirements",
    "space_files",
]
