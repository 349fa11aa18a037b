"""Encodings of columns as plain dicts, and their descriptions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from akkm.rows.formats import TableError
from akkm.tables._csv_errors import MOSTLY, is_number, not_a_number, unusual_numbers
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, as_option, first_few, quoted_names

Encoding = dict[str, Any]

LARGEST = float(np.finfo(np.float32).max)
# Largest number of names that one line of the description lists.
_NAMES = 8
# Largest number of text columns that are described in a line of their own.
_LINES = 8
# If the values of a column have at least this many words on average, and hardly any
# value repeats, the column contains prose. With fewer words, it contains identifiers.
_PROSE = 4
SCALES = {
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
    how = SCALES[numbers[0]["how"]] if numbers else ""
    total = sum(len(e["values"]) for e in rest)
    flags = "true or false, encoded as text: one 0/1 column each"
    before = [
        ([e for e in numbers if not e["time"]], f"numbers, {how}"),
        ([e for e in numbers if e["time"]], f"times in seconds, {how}"),
        ([e for e in used if is_boolean(e)], flags),
        *(([e], describe_text(e)) for e in texts[:_LINES]),
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


def describe_text(encoding: Encoding) -> str:
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
