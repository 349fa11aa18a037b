"""Columns of original values, and what kind of values they hold."""

import datetime
import decimal
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from akkm.typing import Array

Kind = Literal["number", "date", "time", "duration", "boolean", "category", "text"]

_YES = (
    *(("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0")),
    *(("ja", "nein"), ("j", "n"), ("oui", "non"), ("sí", "no"), ("si", "no")),
    *(("sì", "no"), ("sim", "não"), ("ja", "nee"), ("ja", "nej"), ("tak", "nie")),
)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?)?")
_MEANING = {
    text: yes for pair in _YES for text, yes in zip(pair, (True, False), strict=True)
}
# A column of texts that hardly repeat is prose if the texts have at least this many
# words on average. Otherwise the texts are identifiers.
_PROSE = 4
# Values hardly repeat if more than this share of them are distinct.
_DISTINCT = 0.5
# A column with at most this many distinct texts is a category, even if none repeats.
_FEW = 20
_DAY = 86_400
# A column of dates with times yields a second column, the time of day. Its name is
# the name of the first, with this suffix.
TIME_OF_DAY = " (time of day)"
_EPOCH = datetime.datetime(1970, 1, 1)


def is_yes(value: Any) -> bool | None:
    """Return whether a value of a yes/no column means yes.

    Parameters
    ----------
    value : object
        A boolean, 0 or 1, or a text such as "yes", "nein" or "t".

    Returns
    -------
    bool or None
        Whether the value means yes; None if it means neither yes nor no.

    Examples
    --------
    >>> from akkm.inspect import is_yes
    >>> is_yes("ja"), is_yes(0.0), is_yes("blue")
    (True, False, None)
    """
    text = f"{value + 0.0:g}" if isinstance(value, float) else str(value)
    return _MEANING.get(text.lower())


@dataclass(frozen=True)
class TypedColumn:
    """A column of s rows.

    `numbers` holds the values, with NaN for missing ones. Dates are in seconds since
    1970, times in seconds since midnight, and durations in seconds. Yes is 1, and no is
    0. `texts` holds the values of categories and texts, with "" for missing ones.
    """

    name: str
    kind: Kind
    numbers: Array | None = None  # (s,)
    texts: Array | None = None  # (s,) of str
    unit: str = ""


def typed_columns(
    columns: Mapping[str, Sequence[Any]],
    roles: Mapping[str, tuple[str, str]] | None = None,
) -> list[TypedColumn]:
    """Infer the kinds of columns; leave out identifiers and unsupported types.

    `roles` maps names of columns to known roles and units, such as ("money", "$").

    Examples
    --------
    >>> from akkm.inspect._typed import typed_columns
    >>> found = typed_columns({"age": [31, 35], "town": ["Ulm", "Bonn"]})
    >>> [(column.name, column.kind) for column in found]
    [('age', 'number'), ('town', 'category')]
    """
    alone = len(columns) == 1
    found = (_typed(name, values, alone=alone) for name, values in columns.items())
    known = roles or {}
    with_roles = [
        _with_role(column, *known.get(column.name, ("", "")))
        for column in found
        if column is not None
    ]
    columns_and_times = [c for column in with_roles for c in _with_time(column)]
    return _without_complements(_merge_one_hot(columns_and_times))


def _with_time(column: TypedColumn) -> list[TypedColumn]:
    """The column; if it holds dates with times, also a column of the times of day."""
    if column.kind != "date" or column.numbers is None:
        return [column]
    times = column.numbers % _DAY
    if not np.nanmax(times, initial=0) > 0:
        return [column]
    return [column, TypedColumn(f"{column.name}{TIME_OF_DAY}", "time", times)]


def _with_role(column: TypedColumn, role: str, unit: str) -> TypedColumn:
    if role == "duration" and column.kind == "number":
        return replace(column, kind="duration")
    return replace(column, unit=unit if column.kind == "number" else "")


def _typed(name: str, values: Any, *, alone: bool) -> TypedColumn | None:
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return _of_numbers(name, values.astype(np.float64), values.dtype.kind == "b")
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    present = [v for v in plain if not _is_missing(v)]
    kinds = {type(v) for v in present}
    if not kinds:
        return None
    if kinds <= {int, float, bool, decimal.Decimal}:
        numbers = [math.nan if _is_missing(v) else float(v) for v in plain]
        return _of_numbers(name, np.array(numbers), kinds == {bool})
    if all(isinstance(v, datetime.date) for v in present):
        return TypedColumn(name, "date", _map(plain, _seconds))
    if kinds == {datetime.time}:
        return TypedColumn(name, "time", _map(plain, _seconds_of_day))
    if all(isinstance(v, datetime.timedelta) for v in present):
        return TypedColumn(name, "duration", _map(plain, lambda v: v.total_seconds()))
    if kinds != {str}:
        return None
    if all(_ISO.fullmatch(v) for v in present):
        parse = datetime.datetime.fromisoformat
        with suppress(ValueError):  # such as 2020-02-31
            return TypedColumn(name, "date", _map(plain, lambda v: _seconds(parse(v))))
    return _of_texts(name, plain, present, alone=alone)


def _of_numbers(name: str, numbers: Array, is_bool: bool) -> TypedColumn | None:
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return None
    if is_bool or _two_values(known) == {0, 1}:
        return TypedColumn(name, "boolean", numbers)
    codes = _two_values(known)
    if len(codes) == 2 and len(known) > _FEW:  # such as 1 and 2
        words = {code: f"{code:g}" for code in codes}
        texts = np.array([words.get(v, "") for v in numbers.tolist()], dtype=object)
        return TypedColumn(name, "category", texts=texts)
    return TypedColumn(name, "number", numbers)


def _two_values(numbers: Array) -> set[float]:
    """The distinct values, if these are whole and at most two; else an empty set."""
    first = set(np.unique(numbers[:100]).tolist())
    if len(first) > 2:
        return set()
    values = set(np.unique(numbers).tolist())
    whole = all(value.is_integer() for value in values)
    if values <= {0, 1}:
        return {0, 1}
    return values if len(values) <= 2 and whole else set()


def _of_texts(
    name: str, plain: list[Any], present: list[str], *, alone: bool
) -> TypedColumn | None:
    texts = np.array(["" if _is_missing(v) else v for v in plain], dtype=object)
    distinct = set(present)
    if len(distinct) == 2:
        for yes, no in _YES:
            if {v.lower() for v in distinct} == {yes, no}:
                numbers = _map(plain, lambda v, yes=yes: float(v.lower() == yes))
                return TypedColumn(name, "boolean", numbers)
    if len(distinct) > max(_FEW, _DISTINCT * len(present)) or (
        alone and len(distinct) > _FEW
    ):
        words = sum(len(v.split()) for v in present) / len(present)
        if words < _PROSE and not alone:
            return None
        return TypedColumn(name, "text", texts=texts)
    return TypedColumn(name, "category", texts=texts)


def _merge_one_hot(columns: list[TypedColumn]) -> list[TypedColumn]:
    """Replace 0/1 columns such as "town=Ulm" and "town=Bonn" by one column "town"."""
    groups: dict[str, list[TypedColumn]] = {}
    for column in columns:
        name, equals, _ = column.name.partition("=")
        if equals and column.kind == "boolean":
            groups.setdefault(name, []).append(column)
    merged: dict[str, TypedColumn | None] = {}
    for name, group in groups.items():
        hot = np.stack([c.numbers for c in group if c.numbers is not None])
        if len(group) < 2 or not (hot.sum(axis=0) <= 1).all():
            continue
        values = [*(c.name.partition("=")[2] for c in group), ""]
        at = np.where(hot.any(axis=0), hot.argmax(axis=0), len(group))
        texts = [values[i] for i in at]
        merged[name] = _of_texts(name, texts, [t for t in texts if t], alone=False)
    found: dict[str, TypedColumn | None] = {}
    for column in columns:
        name = column.name.partition("=")[0]
        if column.kind == "boolean" and "=" in column.name and name in merged:
            found[name] = merged[name]
        else:
            found[column.name] = column
    return [column for column in found.values() if column is not None]


def _without_complements(columns: list[TypedColumn]) -> list[TypedColumn]:
    """Leave out a yes/no column that is "no" exactly where an earlier one is "yes"."""
    kept: list[TypedColumn] = []
    for column in columns:
        opposite = column.kind == "boolean" and any(
            other.kind == "boolean"
            and np.array_equal(
                1 - np.asarray(other.numbers), np.asarray(column.numbers)
            )
            for other in kept
        )
        if not opposite:
            kept.append(column)
    return kept


def _is_missing(value: Any) -> bool:
    return value is None or value != value or str(value) == "NaT"


def _map(values: list[Any], convert: Any) -> Array:
    return np.array([math.nan if _is_missing(v) else float(convert(v)) for v in values])


def _seconds(value: datetime.date) -> float:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return (value - _EPOCH).total_seconds()


def _seconds_of_day(value: datetime.time) -> float:
    return value.hour * 3600 + value.minute * 60 + value.second
