"""How a column is encoded, as a plain dict that a model file can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from akkm.tables._csv_errors import not_a_number
from akkm.tables._disguises import NUMBERS, disguised, is_number
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, TableError, advised

Entry = dict[str, Any]


def number_entry(
    column: Column, moments: Moments, i: int, scale: str, table: Table
) -> Entry:
    """A column of numbers: (value - shift) / scale, missing ones being the mean."""
    low, high, mean = (float(m[i]) for m in (moments.low, moments.high, moments.mean))
    with np.errstate(over="ignore"):
        shift, unit = {
            "standard": (mean, float(moments.std[i])),
            "minmax": (low, float(moments.high[i] - moments.low[i])),
            "none": (0.0, 1.0),
        }[scale]
    entry: Entry = {"name": column.name, "kind": "number", "how": scale}
    entry |= {"time": column.is_time, "type": column.type, "as_text": False}
    if not low < high or not unit > 0:
        return entry | {"how": "left out"}
    if not (np.isfinite(mean) and np.isfinite(unit)):
        raise TableError(
            f"{table.name}: column {column.name!r} has numbers too large to scale (up "
            f"to {max(abs(low), abs(high)):.3g}); rescale it or leave it out "
            f"({advised('--drop', column.name)})"
        )
    return entry | {"shift": shift, "scale": unit, "mean": mean}


def text_entry(
    column: Column, counts: Counts, most_values: int, as_text: bool, table: Table
) -> Entry:
    """A column of text: one 0/1 column per value."""
    name, found = column.name, counts.values
    if not table.typed and not as_text:
        _require_no_numbers(name, counts, table)
    if counts.is_identifier:
        raise identifier(name, counts, table)
    entry: Entry = {"name": name, "kind": "text", "how": "one-hot"}
    entry |= {"time": False, "type": column.type, "as_text": as_text, "pooled": False}
    if len(found) < 2:
        return entry | {"how": "left out"}
    if len(found) <= most_values:
        return entry | {"values": sorted(found)}
    by_count = sorted(found, key=lambda value: (-found[value], value))
    kept = sorted(by_count[: most_values - 1])
    pooled = 1 - sum(found[value] for value in kept) / found.total()
    return entry | {
        "values": [*(v for v in kept if v != "other"), "other"],
        "pooled": True,
        "distinct": len(found),
        "kept": len(kept),
        "share": pooled,
    }


def feature_names(entry: Entry) -> list[str]:
    """The columns of X that a column becomes."""
    if entry["how"] == "left out":
        return []
    if entry["kind"] == "number":
        return [entry["name"]]
    return [f"{entry['name']}={value}" for value in entry["values"]]


def identifier(name: str, counts: Counts, table: Table) -> TableError:
    """What is said of a text column that never repeats."""
    found = None
    if not table.typed:
        found = disguised(name, counts.values, table, dates=True)
    return found or TableError(
        f"{table.name}: column {name!r} has {len(counts.values):,} different values in "
        f"{counts.n:,} rows: an identifier says nothing about clusters; name it as "
        f"such ({advised('--id', name)}) or leave it out ({advised('--drop', name)})"
    )


def _require_no_numbers(name: str, counts: Counts, table: Table) -> None:
    """A `TableError` if but a few values of a text column are not numbers."""
    found = disguised(name, counts.values, table, dates=False)
    if found is not None:
        raise found
    texts = {v for v in counts.values if not is_number(v, table.decimal)}
    share = 1 - sum(counts.values[value] for value in texts) / max(counts.n, 1)
    if share < NUMBERS:
        return
    start = 0
    for batch in table.batches([name]):
        for i, value in enumerate(batch.column(0).to_pylist()):
            if value in texts:
                place = table.place(start + i)
                raise not_a_number(
                    table.name, name, place, value, decimal=table.decimal
                )
        start += batch.num_rows
