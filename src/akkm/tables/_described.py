"""How columns are encoded, in words, and encoded rows as they were in the file."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from akkm.tables._entries import Entry, feature_names
from akkm.tables._table import brief

Array = NDArray[Any]

# So many names are listed, and so many text columns have a line of their own.
_NAMES, _LINES = 8, 8
_SCALES = {
    "standard": "scaled to mean 0 and standard deviation 1",
    "minmax": "scaled to lie between 0 and 1",
    "none": "as they are",
    "largest": "divided by their largest absolute value, so that zeros stay zeros",
}
_EPSILON = float(np.finfo(np.float32).eps)


def described(
    entries: Sequence[Entry],
    held_out: Sequence[str],
    constant: Sequence[str],
    unused: Sequence[str],
) -> list[str]:
    """Sentences about columns: those used, held out, constant and not wanted."""
    used = [entry for entry in entries if entry["how"] != "left out"]
    numbers = [entry for entry in used if entry["kind"] == "number"]
    texts = [entry for entry in used if entry["kind"] == "text"]
    lines = []
    for what, chosen in (
        ("numbers", [entry for entry in numbers if not entry["time"]]),
        ("times in seconds", [entry for entry in numbers if entry["time"]]),
    ):
        if chosen:
            how = _SCALES[chosen[0]["how"]]
            lines.append(f"{_listed(_names(chosen))}: {what}, {how}")
    flags = [entry for entry in texts if is_flag(entry)]
    if flags:
        text = "true or false, as text is: a 0/1 column for each"
        lines.append(f"{_listed(_names(flags))}: {text}")
    words = [entry for entry in texts if not is_flag(entry)]
    shown = words if len(words) <= _LINES + 1 else words[:_LINES]
    lines += [f"{_listed([entry['name']])}: {_of_text(entry)}" for entry in shown]
    if len(shown) < len(words):
        rest = words[len(shown) :]
        total = sum(len(entry["values"]) for entry in rest)
        text = f"text, {total:,} values one-hot encoded"
        lines.append(f"and {len(rest):,} more columns: {text}")
    if held_out:
        lines.append(f"held out: {_listed(held_out)}")
    if constant:
        lines.append(f"left out, as all values are equal: {_listed(constant)}")
    if unused:
        lines.append(f"left out, as you said: {_listed(unused)}")
    return lines


def is_flag(entry: Entry) -> bool:
    """Whether a column holds true and false, and was read as such."""
    return bool(entry["type"] == "bool" and not entry["as_text"])


def rows_as_in_file(X: Array, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Encoded rows X (b, d) as values by the name of their column."""
    rows: list[dict[str, Any]] = [{} for _ in range(len(X))]
    start = 0
    for entry in entries:
        width = len(feature_names(entry))
        if not width:
            continue
        part = X[:, start : start + width]
        start += width
        if entry["kind"] == "number":
            values: list[Any] = [_number(float(x), entry) for x in part[:, 0]]
        else:
            values = [_text(row, entry) for row in part]
        for row, value in zip(rows, values, strict=True):
            row[entry["name"]] = value
    return rows


def entries_as_in_file(
    X: Any, names: Sequence[str], scale: Array
) -> list[dict[str, Any]]:
    """Rows of a CSR matrix X (b, d): values that are not zero, by name."""
    X = X.tocsr()
    rows = []
    for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        at, values = X.indices[a:b], X.data[a:b]
        found = zip(at, values, strict=True)
        rows.append(
            {names[j]: _rounded(float(x), 0.0, float(scale[j])) for j, x in found}
        )
    return rows


def _of_text(entry: Mapping[str, Any]) -> str:
    values = len(entry["values"])
    if not entry["pooled"]:
        return f"text, {values:,} values one-hot encoded"
    return (
        f"text, {entry['distinct']:,} values, the {entry['kept']:,} most frequent "
        f"one-hot encoded, {100 * entry['share']:.2g} % of rows pooled as 'other'"
    )


def _names(entries: Iterable[Entry]) -> list[str]:
    return [entry["name"] for entry in entries]


def _listed(names: Sequence[str]) -> str:
    """The first few, in quotes where they need them, and how many more."""
    most = len(names) if len(names) <= _NAMES + 1 else _NAMES
    shown = ", ".join(
        brief([name]) if "," in name or not name.isprintable() else name
        for name in names[:most]
    )
    return shown if most == len(names) else f"{shown} and {len(names) - most:,} more"


def _number(x: float, entry: Entry) -> Any:
    value = _rounded(x, entry["shift"], entry["scale"])
    if not entry["time"] or entry["type"].startswith("duration"):
        return value
    return _iso(value, entry["type"], entry["scale"] * abs(x) * _EPSILON)


def _rounded(x: float, shift: float, scale: float) -> float:
    """X * scale + shift with the digits that single precision kept of it."""
    value = x * scale + shift
    lost = 4 * _EPSILON * max(abs(x) * scale, abs(value) * 1e-9)
    return round(value, -math.ceil(math.log10(lost))) if lost > 0 else value


def _iso(seconds: float, kind: str, lost: float) -> Any:
    """Seconds since 1970 (since midnight, for times of day) as they are written."""
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        if kind.startswith("date"):
            return (moment + datetime.timedelta(hours=12)).date().isoformat()
        spec = "seconds" if lost < 0.5 else "minutes"
        if kind.startswith("timestamp"):
            return moment.isoformat(" ", spec) + ("Z" if "tz=" in kind else "")
        return moment.time().isoformat(spec)
    except OverflowError:
        return seconds


def _text(row: Array, entry: Entry) -> str | None:
    """The value whose column is 1; None: one that was not there in training."""
    at = int(row.argmax())
    if row[at] < 0.5:
        return None
    other = entry["pooled"] and at == len(row) - 1
    return "(other)" if other else entry["values"][at]
