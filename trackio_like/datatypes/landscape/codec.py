"""A landscape becomes a payload and a Parquet file, and again what it was, bit for bit.

C columns (x), R rows (y), N cells, row-major.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from trackio_like.landscape.result import Floats, LossLandscape, Mark, Path
from trackio_like.run.config import masked, plain_config
from trackio_like.run.secrets import mask_text
from trackio_like.run.values import encodable

FORMAT_VERSION: Final = 1
_LEVEL: Final = 9
"""zstd: written once, fetched often, and small."""
_SCHEMA: Final = pa.schema(
    [
        pa.field("x", pa.float64(), nullable=False),
        pa.field("y", pa.float64(), nullable=False),
        pa.field("loss", pa.float64()),
        pa.field("is_measured", pa.bool_(), nullable=False),
    ]
)
_COLUMNS: Final = tuple(_SCHEMA.names)


def encode(landscape: LossLandscape) -> tuple[dict[str, Any], bytes]:
    """What a landscape's row and its file hold.

    Args:
        landscape: its `meta` may hold any values; they become plain ones, with secrets masked as in configs.

    Returns:
        The payload, of plain values, and the bytes of a Parquet file.
    """
    return _payload(landscape), _file(landscape)


def _payload(landscape: LossLandscape) -> dict[str, Any]:
    known_N = landscape.z_RC[landscape.is_known_RC]
    finite_N = known_N[np.isfinite(known_N)]
    positive_N = finite_N[finite_N > 0]
    is_line = len(landscape.y_R) == 1
    path = landscape.path
    payload = {
        "format_version": FORMAT_VERSION,
        "num_rows": len(landscape.y_R),
        "num_cols": len(landscape.x_C),
        "x_range": _ends(landscape.x_C),
        "y_range": None if is_line else _ends(landscape.y_R),
        "x_label": _text(landscape.x_label),
        "y_label": _text(landscape.y_label),
        "min": _extreme(finite_N, np.min),
        "max": _extreme(finite_N, np.max),
        "min_positive": _extreme(positive_N, np.min),
        "num_missing": int((~landscape.is_known_RC).sum()),
        "num_measured": int(landscape.is_measured_RC.sum()),
        "marks": [{"label": _text(mark.label), "x": float(mark.x), "y": float(mark.y)} for mark in landscape.marks],
        "path": None
        if path is None
        else {
            "x": [float(x) for x in path.x_S],
            "y": [float(y) for y in path.y_S],
            "labels": [_text(label) for label in path.labels_S],
        },
        "meta": masked(plain_config(dict(landscape.meta))),
    }
    plain: dict[str, Any] = encodable(payload)
    return plain


def _ends(axis: Floats) -> list[float]:
    return [float(axis[0]), float(axis[-1])]


def _text(text: str) -> str:
    return mask_text(str(text))


def _extreme(values_N: Floats, pick: Any) -> float | None:
    return float(pick(values_N)) if len(values_N) else None


def _file(landscape: LossLandscape) -> bytes:
    num_rows, num_cols = landscape.z_RC.shape
    table = pa.table(
        {
            "x": np.tile(np.asarray(landscape.x_C, dtype=np.float64), num_rows),
            "y": np.repeat(np.asarray(landscape.y_R, dtype=np.float64), num_cols),
            "loss": pa.array(
                np.ascontiguousarray(landscape.z_RC, dtype=np.float64).ravel(),
                mask=~np.ascontiguousarray(landscape.is_known_RC).ravel(),
                from_pandas=False,
            ),
            "is_measured": np.ascontiguousarray(landscape.is_measured_RC).ravel(),
        },
        schema=_SCHEMA,
    )
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=["x", "y"],
        column_encoding={"loss": "BYTE_STREAM_SPLIT"},
        store_schema=False,
    )
    return sink.getvalue()


def decode(payload: Mapping[str, Any], file: bytes) -> LossLandscape:
    """The landscape of a row and its file.

    Args:
        payload: as the row has it.
        file: the bytes that the row's `media` names.

    Returns:
        The landscape; a cell that is not known is NaN.

    Raises:
        ValueError: the file is damaged or another row's, or a newer version wrote it.
    """
    version = payload.get("format_version")
    if type(version) is not int:
        raise ValueError("This row describes no loss landscape: it has no format_version.")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"This landscape has format version {version}, this trackio_like reads up to {FORMAT_VERSION}. "
            "Nothing is lost: update trackio_like to read it."
        )
    table = _table(file)
    num_rows, num_cols = _whole(payload, "num_rows"), _whole(payload, "num_cols")
    if table.num_rows != num_rows * num_cols or not table.num_rows:
        raise ValueError(
            f"The file has {table.num_rows} cells, but its row says {num_rows} by {num_cols}: one of them is not the "
            "other's."
        )
    shape = (num_rows, num_cols)
    loss = table["loss"].combine_chunks()
    return LossLandscape(
        x_C=_doubles(table["x"])[:num_cols].copy(),
        y_R=_doubles(table["y"])[::num_cols].copy(),
        z_RC=_with_nan(loss).reshape(shape),
        is_measured_RC=table["is_measured"].to_numpy().astype(np.bool_).reshape(shape),
        is_known_RC=np.asarray(loss.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_).reshape(shape),
        x_label=str(payload.get("x_label", "x")),
        y_label=str(payload.get("y_label", "y")),
        marks=tuple(_mark(mark) for mark in payload.get("marks") or ()),
        path=_path(payload.get("path")),
        meta=dict(payload.get("meta") or {}),
    )


def _table(file: bytes) -> pa.Table:
    try:
        table = pq.read_table(io.BytesIO(file))
    except (OSError, pa.ArrowException) as error:
        raise ValueError("The file of this landscape is no whole Parquet file.") from error
    missing = [name for name in _COLUMNS if name not in table.schema.names]
    if missing:
        raise ValueError(f"The file of this landscape lacks the columns {', '.join(missing)}.")
    try:
        return table.select(list(_COLUMNS)).cast(_SCHEMA)
    except (pa.ArrowException, ValueError) as error:
        raise ValueError("The file of this landscape has columns of other types.") from error


def _whole(payload: Mapping[str, Any], name: str) -> int:
    number = payload.get(name)
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"This row describes no loss landscape: {name} is {number!r}.")
    return number


def _doubles(column: pa.ChunkedArray) -> Floats:
    found: Floats = np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.float64)
    return found


def _with_nan(loss: pa.Array) -> Floats:
    # Not to_numpy, which does not say what becomes of the bits of a NaN where others are null.
    values_N: npt.NDArray[np.float64] = np.frombuffer(loss.buffers()[1], dtype=np.float64)[
        loss.offset : loss.offset + len(loss)
    ].copy()
    values_N[~np.asarray(loss.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)] = np.nan
    return values_N


def _mark(mark: Mapping[str, Any]) -> Mark:
    return Mark(label=str(mark["label"]), x=float(mark["x"]), y=float(mark["y"]))


def _path(path: Mapping[str, Any] | None) -> Path | None:
    if path is None:
        return None
    labels: Sequence[Any] = path["labels"]
    return Path(
        x_S=tuple(float(x) for x in path["x"]),
        y_S=tuple(float(y) for y in path["y"]),
        labels_S=tuple(str(label) for label in labels),
    )


__all__ = ["FORMAT_VERSION", "decode", "encode"]
