"""Encodings of columns as plain dicts, their descriptions, and decoding of rows."""

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from akkm.rows.formats import TableError
from akkm.tables._csv_errors import MOSTLY, is_number, not_a_number, unusual_numbers
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, as_option, first_few, quoted_names
from akkm.typing import Array

Encoding = dict[str, Any]

LARGEST = float(np.finfo(np.float32).max)
_EPSILON = float(np.finfo(np.float32).eps)
# Largest number of names that one line of the description lists.
_NAMES = 8
# Largest number of text columns that are described in a line of their own.
_LINES = 8
# If the values of a column have at least this many words on average, and hardly any
# value repeats, the column contains prose. With fewer words, it contains identifiers.
_PROSE = 4
_SCALES = {
    "standard": "scaled to mean 0 and standard deviation 1",
    "minmax": "scaled to lie between 0 and 1",
    "none": "as they are",
    "largest": "divided by their largest absolute value, so that zeros stay zeros",
}


def number_encoding(
    column: Column, moments: Moments, i: int, scale: str, table: Table
) -> Encoding:
    """Return the encoding of a column of numbers as (value - shift) / scale.

    Missing values are encoded like the mean. A constant column is left out.
    """
    low, high, mean = (float(m[i]) for m in (moments.low, moments.high, moments.mean))
    shift, unit = {
        "standard": (mean, moments.std(i)),
        "minmax": (low, high - low),
        "none": (0.0, 1.0),
    }[scale]
    encoding = _left_out(column, "number")
    if not low < high or not unit > 0:
        return encoding
    if not (np.isfinite(mean) and np.isfinite(unit)):
        raise TableError(
            f"{table.name}: column {column.name!r} has numbers too large to scale (up "
            f"to {max(abs(low), abs(high)):.3g}); rescale it or leave it out "
            f"({as_option('--drop', column.name)})"
        )
    return encoding | {"how": scale, "shift": shift, "scale": unit, "mean": mean}


def text_encoding(
    column: Column, counts: Counts, most_values: int, as_text: bool, table: Table
) -> Encoding:
    """Return the encoding of a text column as one 0/1 column per value."""
    name, values = column.name, counts.values
    if not table.typed and not as_text:
        _require_text(name, counts, table)
    if counts.is_identifier:
        raise identifier_error(name, counts, table)
    encoding = _left_out(column, "text") | {"as_text": as_text, "pooled": False}
    if len(values) < 2:
        return encoding
    encoding["how"] = "one-hot"
    if len(values) <= most_values:
        return encoding | {"values": sorted(values)}
    by_count = sorted(values, key=lambda value: (-values[value], value))
    kept = sorted(by_count[: most_values - 1])
    pooled = 1 - sum(values[value] for value in kept) / values.total()
    return encoding | {
        "values": [*(v for v in kept if v != "other"), "other"],
        "pooled": True,
        "distinct": len(values),
        "kept": len(kept),
        "share": pooled,
    }


def empty_encoding(column: Column) -> Encoding:
    """Return the encoding of a column without values, which is left out."""
    return _left_out(column, column.kind) | {"empty": True}


def _left_out(column: Column, kind: str) -> Encoding:
    """Return the encoding of a column that is left out; other encodings extend it."""
    is_time = kind == "number" and column.is_time
    encoding: Encoding = {"name": column.name, "kind": kind, "how": "left out"}
    return encoding | {"time": is_time, "type": column.type, "as_text": False}


def require_valid(encodings: Sequence[Encoding]) -> list[str]:
    """Return the names of all features; raise an error if an encoding is not valid."""
    for encoding in encodings:
        _require_valid(encoding)
    return [name for encoding in encodings for name in feature_names(encoding)]


def _require_valid(encoding: Encoding) -> None:
    """Raise an exception if the encoding of a column is not valid."""
    for key in ("name", "kind", "how", "type"):
        if not isinstance(encoding[key], str):
            raise ValueError(f"{key} is {encoding[key]!r}; expected text.")
    for key in ("time", "as_text"):
        if not isinstance(encoding[key], bool):
            raise ValueError(f"{key} is {encoding[key]!r}; expected a boolean.")
    if encoding["kind"] not in ("number", "text"):
        raise ValueError(f"A column can't be of kind {encoding['kind']!r}.")
    if is_left_out(encoding):
        return
    if encoding["kind"] == "number":
        shift, scale, mean = (float(encoding[k]) for k in ("shift", "scale", "mean"))
        if not (math.isfinite(shift) and math.isfinite(mean) and 0 < scale < math.inf):
            raise ValueError("A column can't be scaled by these numbers.")
        if encoding["how"] not in _SCALES:
            raise ValueError(f"A column can't be scaled as {encoding['how']!r}.")
        return
    values, pooled = encoding["values"], encoding["pooled"]
    if not all(isinstance(value, str) for value in values) or not values:
        raise ValueError("The values of a column of text are not text.")
    if len(set(values)) < len(values) or (pooled and values[-1] != "other"):
        raise ValueError("The values of a column of text are not distinct.")
    if pooled:
        _describe_text(encoding)


def is_left_out(encoding: Encoding) -> bool:
    """Return whether a column is left out: its values are equal, or all missing."""
    return bool(encoding["how"] == "left out")


def is_empty(encoding: Encoding) -> bool:
    """Return whether a column is left out because it has no values."""
    return bool(encoding.get("empty"))


def is_boolean(encoding: Encoding) -> bool:
    """Return whether a column was read as booleans."""
    return bool(encoding["type"] == "bool" and not encoding["as_text"])


def feature_names(encoding: Encoding) -> list[str]:
    """Return the names of the columns of X that encode a column of the table."""
    if is_left_out(encoding):
        return []
    if encoding["kind"] == "number":
        return [encoding["name"]]
    return [f"{encoding['name']}={value}" for value in encoding["values"]]


def identifier_error(name: str, counts: Counts, table: Table) -> TableError:
    """Return the error for a text column whose values hardly ever repeat."""
    if unusual := unusual_numbers(name, counts, table, dates=True):
        return unusual
    seems = f"an identifier; use it as the id ({as_option('--id', name)})"
    words = counts.words_per_value
    if words >= _PROSE:
        seems = f"free text ({words:.0f} words per row); turn it into numbers,"
    return TableError(
        f"{table.name}: column {name!r} has {len(counts.values):,} different values in "
        f"{counts.n:,} rows, so it seems to be {seems} or leave it out "
        f"({as_option('--drop', name)})"
    )


def _require_text(name: str, counts: Counts, table: Table) -> None:
    """Raise TableError if most values of a text column in CSV are numbers."""
    if unusual := unusual_numbers(name, counts, table, dates=False):
        raise unusual
    texts = {v: n for v, n in counts.values.items() if not is_number(v, table.decimal)}
    if texts and 1 - sum(texts.values()) / counts.n >= MOSTLY:
        value = max(texts, key=texts.__getitem__)
        place = f"{texts[value]:,} of {counts.n:,} rows"
        raise not_a_number(table, name, place, value)


def describe_columns(
    encodings: Sequence[Encoding], unused: dict[str, list[str]]
) -> list[str]:
    """Return one line per group of columns that are encoded in the same way.

    `unused` maps each reason for leaving columns out to the names of these columns.
    """
    used = [e for e in encodings if not is_left_out(e)]
    numbers = [e for e in used if e["kind"] == "number"]
    texts = [e for e in used if e["kind"] == "text" and not is_boolean(e)]
    rest = texts[_LINES:]
    how = _SCALES[numbers[0]["how"]] if numbers else ""
    total = sum(len(e["values"]) for e in rest)
    flags = "true or false, encoded as text: one 0/1 column each"
    before = [
        ([e for e in numbers if not e["time"]], f"numbers, {how}"),
        ([e for e in numbers if e["time"]], f"times in seconds, {how}"),
        ([e for e in used if is_boolean(e)], flags),
        *(([e], _describe_text(e)) for e in texts[:_LINES]),
        (rest, f"text, {total:,} values one-hot encoded"),
    ]
    return [
        *(
            f"{_listed([e['name'] for e in group])}: {t}"
            for group, t in before
            if group
        ),
        *(f"{text}: {_listed(names)}" for text, names in unused.items() if names),
    ]


def _describe_text(encoding: Encoding) -> str:
    if not encoding["pooled"]:
        return f"text, {len(encoding['values']):,} values one-hot encoded"
    return (
        f"text, {encoding['distinct']:,} values, the {encoding['kept']:,} most "
        f"frequent one-hot encoded, {100 * encoding['share']:.2g} % of rows pooled as "
        "'other'"
    )


def _listed(names: Sequence[str]) -> str:
    """List the first few names, with quotes where needed."""
    odd = (quoted_names([n]) if "," in n or not n.isprintable() else n for n in names)
    return first_few(list(odd), _NAMES)


def original_rows(X: Array, encodings: Iterable[Encoding]) -> list[dict[str, Any]]:
    """Decode rows X (b, d): one dict per row, from column name to original value."""
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
    """Decode rows of a sparse X (b, d): one dict of nonzero values per row."""
    rows: list[dict[str, Any]] = [{} for _ in range(X.shape[0])]
    X = X.tocoo()
    for i, j, x in zip(X.row, X.col, X.data.tolist(), strict=True):
        rows[i][names[j]] = _rounded(x, 0.0, float(scale[j]))
    return rows


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
    """Return x * scale + shift, rounded to the digits that float32 preserves."""
    value = x * scale + shift
    lost = 4 * _EPSILON * max(abs(x) * scale, abs(value) * 1e-9)
    return round(value, -math.ceil(math.log10(lost))) if lost > 0 else value


def _text(values: Array, encoding: Encoding) -> str | None:
    """Return the value whose column is 1, or None for a value not seen in `fit`."""
    at = int(values.argmax())
    if values[at] < 0.5:
        return None
    other = encoding["pooled"] and at == len(values) - 1
    return "(other)" if other else encoding["values"][at]
