"""A run's config: any object made plain, masked for the record, and recorded whenever it changes."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import enum
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from trackio_like.run.secrets import mask_value
from trackio_like.run.values import INT_MAX, INT_MIN, as_number, key_text

MAX_DEPTH: Final = 32
MAX_CONFIG_VALUES: Final = 100_000
"""Values that one config may hold; what comes later is cut and says so."""
MAX_CONFIG_BYTES: Final = 10 << 20
"""Longest text that one config value may be; longer ones are cut and say so."""


def plain_config(config: Any) -> dict[str, Any]:
    """A config as nested plain values; `masked` is what may be recorded of them.

    Args:
        config: None, a mapping (also OmegaConf's), an argparse namespace, a dataclass, a pydantic model, an attrs
            class, an object with `to_dict`, or any object with public attributes.

    Returns:
        str keys; None, bool, int64, float, str, lists and dicts as values. What cannot be made plain is its `str`.
    """
    if config is None:
        return {}
    plain = _plain(config, _Walk())
    if not isinstance(plain, dict):
        plain = {"config": plain}
    return plain


def masked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain config values without the secrets in them.

    Args:
        values: what `plain_config` gives.
    """
    return {key: mask_value(key, value) for key, value in values.items()}


class _Walk:
    """Where a walk through a config stands: objects may know each other, so that nothing else ends it."""

    def __init__(self) -> None:
        self.num_left = MAX_CONFIG_VALUES
        self.above: list[int] = []
        """Identities of the containers around the value, outermost first."""

    def mapping(self, items: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, item in items:
            plain[key_text(key)] = _plain(item, self)
        return plain

    def sequence(self, items: Collection[Any]) -> list[Any]:
        plain: list[Any] = []
        for item in items:
            if self.num_left <= 0:
                plain.append(f"... ({len(items)} in all)")
                break
            plain.append(_plain(item, self))
        return plain


def _plain(value: Any, walk: _Walk) -> Any:
    walk.num_left -= 1
    if id(value) in walk.above:
        return "..."
    walk.above.append(id(value))
    try:
        return _plain_or_raise(value, walk)
    except Exception:  # noqa: BLE001 - an object of a foreign type may raise anything; a run must begin all the same
        return _safe_text(value)
    finally:
        walk.above.pop()


def _plain_or_raise(value: Any, walk: _Walk) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, walk)
    text = _as_text(value)
    if text is not None:
        return text
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    number = as_number(value)
    if number is not None:
        if isinstance(number, int) and not INT_MIN <= number <= INT_MAX:
            return str(number)
        return number
    if len(walk.above) > MAX_DEPTH or walk.num_left <= 0:
        return _type_text(value)  # not its `str`, which may be as deep
    mapping = _as_mapping(value)
    if mapping is not None:
        return walk.mapping(mapping)
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "ListConfig":
        return walk.sequence(_items(value))
    num_elements = math.prod(getattr(value, "shape", (0,)))
    if num_elements > walk.num_left:
        return _type_text(value)
    if num_elements and hasattr(value, "tolist"):
        return _plain(value.tolist(), walk)
    attributes = {k: v for k, v in vars(value).items() if not k.startswith("_")} if hasattr(value, "__dict__") else {}
    return walk.mapping(attributes.items()) if attributes else _safe_text(value)


def _type_text(value: Any) -> str:
    shape = getattr(value, "shape", None)
    name = type(value).__name__
    return f"<{name}>" if shape is None else f"<{name} of shape {tuple(shape)}>"


def _as_text(value: Any) -> str | None:
    if isinstance(value, str):
        return _cut(value.encode("utf-8", "replace").decode())
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value) if isinstance(value, os.PathLike) else None


def _as_mapping(value: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(value, Mapping):
        if type(value).__module__.startswith("omegaconf"):
            return _omega_items(value)
        return list(value.items())
    if isinstance(value, argparse.Namespace):
        return list(vars(value).items())
    if type(value).__module__.startswith("omegaconf") and hasattr(value, "keys"):
        return _omega_items(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    for method in ("model_dump", "to_dict", "_asdict"):
        dump = getattr(value, method, None)
        if callable(dump):
            dumped = dump()
            if isinstance(dumped, Mapping):
                return list(dumped.items())
    return None


def _omega_items(value: Any) -> list[tuple[Any, Any]]:
    """An OmegaConf mapping's items: resolved where that works, else the raw `${...}` or `???`."""
    items: list[tuple[Any, Any]] = []
    for key in value:
        try:
            items.append((key, value[key]))
        except Exception:  # noqa: BLE001 - interpolation may raise anything, missing values and cycles included
            node = value._get_node(key)  # noqa: SLF001 - OmegaConf has no public way to a raw value
            items.append((key, str(node._value())))  # noqa: SLF001 - as above
    return items


def _items(value: Any) -> Collection[Any]:
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    items: Collection[Any] = value
    return items


def _cut(text: str) -> str:
    if len(text) <= MAX_CONFIG_BYTES:
        return text
    return f"{text[:MAX_CONFIG_BYTES]}... ({len(text)} characters in all)"


def _safe_text(value: Any) -> str:
    try:
        return _cut(str(value))
    except Exception:  # noqa: BLE001 - even str() of a foreign object may raise
        return f"<{type(value).__name__}>"


class Config(dict[str, Any]):
    """A run's config: a dict, also by attribute, whose changes are recorded."""

    def __init__(self, values: Mapping[str, Any], record: Callable[[dict[str, Any]], None]) -> None:
        """Starts with values that are recorded already.

        Args:
            values: the values so far.
            record: called with plain values on each change.
        """
        super().__init__(values)
        # Not an attribute by name: those are config values.
        object.__setattr__(self, "_record", record)

    def __setitem__(self, key: str, value: Any) -> None:
        """Sets one value and records it."""
        self.update({key: value})

    def __getattr__(self, name: str) -> Any:
        """A value by attribute.

        Raises:
            AttributeError: there is none of that name.
        """
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"The config has no {name!r}; it has {', '.join(sorted(self)) or 'nothing'}."
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets one value by attribute and records it."""
        self.update({name: value})

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Merges values in and records them.

        Args:
            *args: at most one mapping, namespace, dataclass or iterable of pairs.
            **kwargs: more values.
        """
        values: dict[str, Any] = {}
        for source in args:
            values.update(plain_config(source if not isinstance(source, (list, tuple)) else dict(source)))
        values.update(plain_config(kwargs))
        super().update(values)
        if values:
            object.__getattribute__(self, "_record")(values)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, set and recorded first where it is missing."""
        if key not in self:
            self.update({key: default})
        return self[key]

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Pickles as a plain dict: a copy in another process records nothing."""
        return dict, (dict(self),)


__all__ = ["Config", "masked", "plain_config"]
