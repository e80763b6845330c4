"""Answers as bytes: JSON that keeps NaN and big integers, and a header followed by arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

_SAFE_INT: Final = 2**53
_ALIGN: Final = 8
MAX_ARRAY_BYTES: Final = 256 << 20
"""Of one answer: what is beyond it no page can draw, and a few such would take all memory."""


def to_json(value: Any) -> bytes:
    """A value of `plain` as JSON bytes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a name may hold a lone surrogate, which only an escape in ASCII can carry
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def with_field(document: bytes, name: str, items: Sequence[bytes]) -> bytes:
    """An object with one more field, a list, whose items are JSON already.

    Args:
        document: JSON of an object with at least one field.
        name: of the new field.
        items: JSON each.
    """
    return b"".join([document[:-1], b',"', name.encode(), b'":[', b",".join(items), b"]}"])


def plain(value: Any) -> Any:
    """A value as JSON can carry it: a browser reads neither NaN nor integers beyond 2^53.

    Args:
        value: what msgpack or JSON holds, or tuples; anything else becomes its text.
    """
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_SAFE_INT <= value <= _SAFE_INT else {"$int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": _word(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    return str(value)


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def numbers(values: Mapping[str, float | int]) -> dict[str, Any]:
    """As `plain` for a map of numbers: thousands of them, nearly all ordinary."""
    return {
        key: value if type(value) is float and value - value == 0.0 else plain(value) for key, value in values.items()
    }


def flatten(config: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """Nested maps as one, keys joined with `.`; an empty map stays one."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, prefix=f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = plain(value)
    return flat


class Arrays:
    """float64 arrays of one answer; equal ones are sent once."""

    def __init__(self, *, max_bytes: int = MAX_ARRAY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._chunks: list[bytes] = []
        self._known: dict[bytes, int] = {}
        self._offset = 0
        self.table: list[dict[str, int]] = []
        """Offset in bytes and length in items of each array."""

    def add(self, values_N: npt.NDArray[np.float64], *, is_shared: bool) -> int:
        """Takes an array in.

        Args:
            values_N: [N]
            is_shared: whether an equal one may be there already.

        Returns:
            Its number in the table.

        Raises:
            ValueError: the answer grows too large.
        """
        data = np.ascontiguousarray(values_N, dtype="<f8").tobytes()
        if is_shared and data in self._known:
            return self._known[data]
        if self._offset + len(data) > self._max_bytes:
            raise ValueError("This is too much for one answer; ask for fewer panels, runs or buckets at once.")
        number = len(self.table)
        self.table.append({"offset": self._offset, "length": len(values_N)})
        self._chunks.append(data)
        self._offset += len(data)
        if is_shared:
            self._known[data] = number
        return number

    def packed(self, header: bytes) -> bytes:
        """The whole answer.

        Args:
            header: JSON.
        """
        header += b" " * (-(4 + len(header)) % _ALIGN)
        return b"".join([len(header).to_bytes(4, "little"), header, *self._chunks])


__all__ = ["MAX_ARRAY_BYTES", "Arrays", "flatten", "numbers", "plain", "to_json", "with_field"]
