"""How a column is encoded: a plain dict that a model file can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from akkm.rows.formats import TableError
from akkm.tables._csv_errors import not_a_number
from akkm.tables._number_formats import MOSTLY, is_number, unusual_numbers
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, as_option

Encoding = dict[str, Any]

LARGEST = float(np.finfo(np.float32).max)


def number_encoding(
    column: Column, moments: Moments, i: int, scale: str, table: Table
) -> Encoding:
    """A column of numbers: (value - shift) / scale; a missing value is the mean."""
    low, high, mean = (float(m[i]) for m in (moments.low, moments.high, moments.mean))
    with np.errstate(over="ignore"):
        shift, unit = {
            "standard": (mean, float(moments.std[i])),
            "minmax": (low, float(moments.high[i] - moments.low[i])),
            "none": (0.0, 1.0),
        }[scale]
    encoding: Encoding = {"name": column.name, "kind": "number", "how": scale}
    encoding |= {"time": column.is_time, "type": column.type, "as_text": False}
    if not low < high or not unit > 0:
        return encoding | {"how": "left out"}
    if not (np.isfinite(mean) and np.isfinite(unit)):
        raise TableError(
            f"{table.name}: column {column.name!r} has numbers too large to scale (up "
            f"to {max(abs(low), abs(high)):.3g}); rescale it or leave it out "
            f"({as_option('--drop', column.name)})"
        )
    return encoding | {"shift": shift, "scale": unit, "mean": mean}


def text_encoding(
    column: Column, counts: Counts, most_values: int, as_text: bool, table: Table
) -> Encoding:
    """A column of text: one 0/1 column per value."""
    name, values = column.name, counts.values
    if not table.typed and not as_text:
        _require_text(name, counts, table)
    if counts.is_identifier:
        raise identifier_error(name, counts, table)
    encoding: Encoding = {"name": name, "kind": "text", "how": "one-hot"}
    encoding |= {"time": False, "type": column.type, "as_text": as_text}
    encoding["pooled"] = False
    if len(values) < 2:
        return encoding | {"how": "left out"}
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


def is_left_out(encoding: Encoding) -> bool:
    """Whether a column is not encoded, as all its values are equal."""
    return bool(encoding["how"] == "left out")


def is_boolean(encoding: Encoding) -> bool:
    """Whether a column was read as true and false."""
    return bool(encoding["type"] == "bool" and not encoding["as_text"])


def feature_names(encoding: Encoding) -> list[str]:
    """Names of the columns of X that a column becomes."""
    if is_left_out(encoding):
        return []
    if encoding["kind"] == "number":
        return [encoding["name"]]
    return [f"{encoding['name']}={value}" for value in encoding["values"]]


def identifier_error(name: str, counts: Counts, table: Table) -> TableError:
    """The error for a text column whose values hardly ever repeat."""
    unusual = None
    if not table.typed:
        unusual = unusual_numbers(name, counts.values, table, dates=True)
    return unusual or TableError(
        f"{table.name}: column {name!r} has {len(counts.values):,} different values in "
        f"{counts.n:,} rows, and an identifier says nothing about clusters; use it as "
        f"such ({as_option('--id', name)}) or leave it out "
        f"({as_option('--drop', name)})"
    )


def _require_text(name: str, counts: Counts, table: Table) -> None:
    """Raise TableError if most values of a text column in CSV are numbers."""
    if unusual := unusual_numbers(name, counts.values, table, dates=False):
        raise unusual
    texts = {v for v in counts.values if not is_number(v, table.decimal)}
    share = 1 - sum(counts.values[value] for value in texts) / max(counts.n, 1)
    if share < MOSTLY:
        return
    start = 0
    for batch in table.batches([name]):
        for row, value in enumerate(batch.column(0).to_pylist(), start):
            if value in texts:
                place, decimal = table.place(row), table.decimal
                raise not_a_number(table.name, name, place, value, decimal=decimal)
        start += batch.num_rows
