"""Encoded rows in the units of the file."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.tables._columns import Encoding, feature_names

Array = NDArray[Any]

_EPSILON = float(np.finfo(np.float32).eps)


def original_rows(X: Array, encodings: Iterable[Encoding]) -> list[dict[str, Any]]:
    """Encoded rows X (b, d) as values by the name of their column."""
    rows: list[dict[str, Any]] = [{} for _ in range(len(X))]
    start = 0
    for encoding in encodings:
        if not (width := len(feature_names(encoding))):
            continue
        part = X[:, start : start + width]
        start += width
        decode: Any = _number if encoding["kind"] == "number" else _text
        for row, values in zip(rows, part, strict=True):
            row[encoding["name"]] = decode(values, encoding)
    return rows


def original_entries(
    X: Any, names: Sequence[str], scale: Array
) -> list[dict[str, Any]]:
    """Rows of a sparse X (b, d) as values by name, zeros left out."""
    X = X.tocsr()
    return [
        {
            names[j]: _rounded(float(x), 0.0, float(scale[j]))
            for j, x in zip(X.indices[a:b], X.data[a:b], strict=True)
        }
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def _number(values: Array, encoding: Encoding) -> Any:
    x, kind = float(values[0]), encoding["type"]
    value = _rounded(x, encoding["shift"], encoding["scale"])
    if not encoding["time"] or kind.startswith("duration"):
        return value
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value)
        if kind.startswith("date"):
            return (moment + datetime.timedelta(hours=12)).date().isoformat()
        rounding = encoding["scale"] * abs(x) * _EPSILON
        precision = "seconds" if rounding < 0.5 else "minutes"
        if kind.startswith("timestamp"):
            return moment.isoformat(" ", precision) + ("Z" if "tz=" in kind else "")
        return moment.time().isoformat(precision)
    except OverflowError:
        return value


def _rounded(x: float, shift: float, scale: float) -> float:
    """X * scale + shift with the digits that single precision preserves."""
    value = x * scale + shift
    lost = 4 * _EPSILON * max(abs(x) * scale, abs(value) * 1e-9)
    return round(value, -math.ceil(math.log10(lost))) if lost > 0 else value


def _text(values: Array, encoding: Encoding) -> str | None:
    """The value whose column is 1; None for one that was not there in training."""
    at = int(values.argmax())
    if values[at] < 0.5:
        return None
    other = encoding["pooled"] and at == len(values) - 1
    return "(other)" if other else encoding["values"][at]
