"""Encodings of columns as plain dicts, and their descriptions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from akkm.rows.formats import TableError
from akkm.tables._csv_errors import MOSTLY, is_number, not_a_number, unusual_numbers
from akkm.tables._summary import Counts, Moments
from akkm.tables._table import Column, Table, as_option, first_few, quoted_names
from akkm.tables._text_numbers import TextFormat

Encoding = dict[str, Any]

LARGEST = float(np.finfo(np.float32).max)
# Largest number of names that one line of the description lists.
_NAMES = 8
# Descriptions have at most this many lines about text columns. If there would be more,
# one line summarises the remaining columns.
_LINES = 8
SCALES = {
    "standard": "scaled to mean 0 and standard deviation 1",
    "robust": "large values compressed (asinh), then scaled to mean 0 and standard "
    "deviation 1",
    "minmax": "scaled to lie between 0 and 1",
    "none": "as they are",
    "largest": "divided by their largest absolute value, so that zeros stay zeros",
}
# The plural of each role of a column of numbers, for descriptions.
_ROLES = {
    "number": "numbers",
    "money": "amounts of money",
    "percentage": "percentages",
    "duration": "durations in seconds",
    "date": "dates",
    "time": "times of the day",
}
ROLES = (*_ROLES, "boolean", "category", "prose")
# For each reason why a column is left out: its text in descriptions.
REASONS = {
    "equal": "left out, as all values are equal",
    "empty": "left out, as all values are missing",
    "id": "left out, as identifiers (--columns uses them, --id adds them to labels)",
    "prose": "left out, as free text (--words clusters by it; reports list its words)",
    "rare": "left out, as most values occur only once (--text uses them)",
}


@dataclass(frozen=True)
class NumberFacts:
    """What is known about a column of numbers besides its moments."""

    how: str  # a key of SCALES
    weight: float = 1.0
    form: TextFormat | None = None
    sentinels: tuple[float, ...] = ()
    center: float = 0.0  # center and width of the scaling "robust"
    width: float = 1.0
    parts: tuple[str, ...] = ()  # parts of dates, such as "hour"
    part_means: tuple[float, ...] = ()  # means of the sine and cosine of each part
    whole: bool = False


def number_encoding(
    column: Column, moments: Moments, i: int, facts: NumberFacts, table: Table
) -> Encoding:
    """Return the encoding of a column of numbers as (value - shift) / scale.

    With `how` "robust", `value` is asinh((v - center) / width) of the value v in the
    table. Missing values are encoded like the mean. A constant column is left out.
    """
    low, high, mean = (float(m[i]) for m in (moments.low, moments.high, moments.mean))
    standard = (mean, moments.std(i))
    shift, unit = {
        "standard": standard,
        "robust": standard,
        "minmax": (low, high - low),
        "none": (0.0, 1.0),
    }[facts.how]
    encoding = left_out(column, "number", "equal")
    if not low < high or not unit > 0:
        return encoding
    if not (np.isfinite(mean) and np.isfinite(unit)):
        raise TableError(
            f"{table.name}: column {column.name!r} has numbers too large to scale (up "
            f"to {max(abs(low), abs(high)):.3g}); rescale it or leave it out "
            f"({as_option('--drop', column.name)})"
        )
    part_variance = len(facts.parts) - sum(m**2 for m in facts.part_means)
    spread = (moments.std(i) / unit) ** 2 + part_variance
    encoding |= {
        "how": facts.how,
        "shift": shift,
        "scale": unit / facts.weight**0.5,
        "mean": mean,
        "center": facts.center,
        "width": facts.width,
        "weight": facts.weight,
        "sentinels": list(facts.sentinels),
        "parts": list(facts.parts),
        "part_means": list(facts.part_means),
        "whole": facts.whole,
        "distance": 2 * facts.weight * spread,  # mean squared distance of two rows
    }
    if facts.form is None:
        return encoding
    if facts.form.role == "date":
        encoding["type"] = "timestamp[s]" if "%H" in facts.form.pattern else "date32"
        encoding["time"] = True
    return encoding | {
        "role": facts.form.role,
        "unit": facts.form.unit,
        "format": facts.form.as_dict(),
    }


def text_encoding(
    column: Column,
    counts: Counts,
    most_values: int,
    weight: float,
    as_text: bool,
    chosen: bool,
    table: Table,
) -> Encoding:
    """Return the encoding of a text column as one 0/1 column per value.

    With `as_text`, values of any type are read as text. `chosen` says whether the user
    asked for this; otherwise identifiers, free text and rare values are left out.
    """
    name, values = column.name, counts.values
    if not table.typed and not as_text:
        _require_text(name, counts, table)
    encoding = left_out(column, "text", "equal") | {"as_text": as_text, "pooled": False}
    if not chosen and (reason := counts.reason_to_leave_out):
        return encoding | {"reason": reason}
    if as_text and not chosen and looks_like_id(name) and len(values) > most_values:
        return encoding | {"reason": "id"}
    if len(values) < 2:
        return encoding
    encoding |= {"how": "one-hot", "weight": weight}
    n, by_count = values.total(), sorted(values, key=lambda v: (-values[v], v))
    kept = sorted(
        by_count if len(values) <= most_values else by_count[: most_values - 1]
    )
    shares = [values[value] / n for value in kept]
    pooled = 1 - sum(shares)
    if len(values) <= most_values:
        pooled = 0.0
    squares = sum(share**2 for share in shares) + pooled**2
    encoding["distance"] = 2 * weight * (1 - squares)
    if len(values) <= most_values:
        return encoding | {"values": kept}
    return encoding | {
        "values": [*(v for v in kept if v != "other"), "other"],
        "pooled": True,
        "distinct": len(values),
        "kept": len(kept),
        "share": pooled,
    }


def left_out(column: Column, kind: str, reason: str) -> Encoding:
    """Return the encoding of a column that is left out; other encodings extend it."""
    is_time = kind == "number" and column.is_time
    role = "category"
    if kind == "number":
        role = column.time_role or "number"
    elif column.type == "bool":
        role = "boolean"
    encoding: Encoding = {"name": column.name, "kind": kind, "how": "left out"}
    return encoding | {
        "reason": reason,
        "time": is_time,
        "type": column.type,
        "as_text": False,
        "role": role,
        "unit": "s" if role == "duration" else "",
        "format": None,
    }


def sparse_encoding(name: str, how: str) -> Encoding:
    """Return the encoding of all columns of a sparse table, for descriptions."""
    return left_out(Column(name, "number"), "number", "equal") | {"how": how}


def is_left_out(encoding: Encoding) -> bool:
    """Return whether a column is left out."""
    return bool(encoding["how"] == "left out")


def is_boolean(encoding: Encoding) -> bool:
    """Return whether a column was read as booleans."""
    return bool(encoding["type"] == "bool" and not encoding["as_text"])


def feature_names(encoding: Encoding) -> list[str]:
    """Return the names of the columns of X that encode a column of the table."""
    if is_left_out(encoding):
        return []
    name = encoding["name"]
    if encoding["kind"] == "number":
        parts = [
            f"{name} ({part}, {function})"
            for part in encoding.get("parts", ())
            for function in ("sin", "cos")
        ]
        return [name, *parts]
    if encoding["how"] == "words":
        return [f"{name} (words, {i})" for i in range(1, len(encoding["axes"]) + 1)]
    return [f"{name}={value}" for value in encoding["values"]]


def looks_like_codes(name: str) -> bool:
    """Return whether the name of a column suggests that its numbers are codes.

    Examples
    --------
    >>> from akkm.tables._columns import looks_like_codes
    >>> looks_like_codes("tax_code"), looks_like_codes("MSSubClass")
    (True, True)
    >>> looks_like_codes("income"), looks_like_codes("classified_ads")
    (False, False)
    """
    return bool({"code", "class", "type"} & _words(name))


def looks_like_id_number(name: str) -> bool:
    """Return whether the name of a column suggests numbers such as phone numbers.

    Examples
    --------
    >>> from akkm.tables._columns import looks_like_id_number
    >>> looks_like_id_number("customer_number"), looks_like_id_number("OrderNo")
    (True, True)
    >>> looks_like_id_number("nobility")
    False
    """
    numbers = {"no", "nr", "num", "number", "account", "phone", "mobile", "tel", "fax"}
    return bool(numbers & _words(name))


def looks_like_postcode(name: str) -> bool:
    """Return whether the name of a column suggests postcodes.

    Examples
    --------
    >>> from akkm.tables._columns import looks_like_postcode
    >>> looks_like_postcode("ZIP code"), looks_like_postcode("zipped")
    (True, False)
    """
    return bool({"zip", "zipcode", "postcode", "plz", "postal"} & _words(name))


def looks_like_id(name: str) -> bool:
    """Return whether the name of a column suggests identifiers.

    Examples
    --------
    >>> from akkm.tables._columns import looks_like_id
    >>> looks_like_id("PassengerId"), looks_like_id("order_id"), looks_like_id("width")
    (True, True, False)
    """
    return bool({"id", "uuid", "guid", "key", "pid"} & _words(name))


def _words(name: str) -> set[str]:
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {part.lower() for part in parts}


def _require_text(name: str, counts: Counts, table: Table) -> None:
    """Raise TableError if most values of a text column in CSV are numbers."""
    if unusual := unusual_numbers(name, counts, table, dates=True):
        raise unusual
    texts = {v: n for v, n in counts.values.items() if not is_number(v, table.decimal)}
    if texts and 1 - sum(texts.values()) / counts.n >= MOSTLY:
        value = max(texts, key=texts.__getitem__)
        place = f"{texts[value]:,} of {counts.n:,} rows"
        raise not_a_number(table, name, place, value)


def describe_columns(
    encodings: Sequence[Encoding],
    held_out: Sequence[str],
    ignored: Sequence[str],
    constant: Sequence[str] = (),
) -> list[str]:
    """Return one line per group of columns that are encoded in the same way.

    The other arguments name columns that are not used: `held_out` are ids and classes,
    `ignored` were left out by the user, and `constant` are constant columns of a sparse
    table.
    """
    unused: dict[str, list[str]] = {"held out": list(held_out)}
    for reason, text in REASONS.items():
        unused[text] = [
            e["name"] for e in encodings if is_left_out(e) and e["reason"] == reason
        ]
    unused[REASONS["equal"]] += constant
    requested = [name for name in ignored if name not in held_out]
    unused["left out, as requested"] = requested
    used = [e for e in encodings if not is_left_out(e)]
    texts = [e for e in used if e["kind"] == "text" and not is_boolean(e)]
    grouped: dict[str, list[Encoding]] = {}
    for encoding in texts:
        grouped.setdefault(describe_text(encoding), []).append(encoding)
    rest = [e for group in list(grouped.values())[_LINES:] for e in group]
    total = sum(len(e["values"]) for e in rest)
    flags = "true or false, encoded as text: one 0/1 column per value"
    numbers: dict[str, list[Encoding]] = {}
    for encoding in used:
        if encoding["kind"] == "number":
            numbers.setdefault(_describe_number(encoding), []).append(encoding)
    before = [
        *((group, text) for text, group in numbers.items()),
        ([e for e in used if is_boolean(e)], flags),
        *((group, text) for text, group in list(grouped.items())[:_LINES]),
        (rest, f"text, {total:,} values in total, one-hot encoded"),
    ]
    return [
        *(
            f"{_listed([e['name'] for e in group])}: {t}"
            for group, t in before
            if group
        ),
        *(f"{text}: {_listed(names)}" for text, names in unused.items() if names),
    ]


def _describe_number(encoding: Encoding) -> str:
    unit = encoding["unit"] if encoding["role"] in ("money", "number") else ""
    role = _ROLES[encoding["role"]] + (f" ({unit})" if unit else "")
    parts = " and ".join(encoding.get("parts", ()))
    with_parts = f"; also the {parts}, as sine and cosine" if parts else ""
    return f"{role}, {SCALES[encoding['how']]}{with_parts}"


def describe_text(encoding: Encoding) -> str:
    """Describe the encoding of a text column."""
    if encoding["how"] == "words":
        return (
            f"text, encoded by {len(encoding['words']):,} words (TF-IDF, "
            f"{len(encoding['axes'])} principal components)"
        )
    if not encoding["pooled"]:
        return f"text, {len(encoding['values']):,} values one-hot encoded"
    return (
        f"text, {encoding['distinct']:,} values, the {encoding['kept']:,} most "
        f"frequent one-hot encoded, {100 * encoding['share']:.2g} % of rows pooled as "
        "'other'"
    )


def _listed(names: Sequence[str]) -> str:
    """List the first few names; those with commas or odd characters get quotes."""
    odd = (quoted_names([n]) if "," in n or not n.isprintable() else n for n in names)
    return first_few(list(odd), _NAMES)
