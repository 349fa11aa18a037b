"""Columns of numbers that are not quantities: codes, identifiers, dates as digits."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from akkm.tables._columns import looks_like_id, looks_like_postcode
from akkm.tables._table import Column, Table
from akkm.tables._text_numbers import TextFormat

_WHOLE = r"^\s*[+-]?\d+(\.0*)?\s*$"
_DAY = r"^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
_MONTH = r"^(19|20)\d\d(0[1-9]|1[0-2])$"
# Numbers such as 20241231 count as dates if at least this many of them are distinct.
_DATES = 5
# Number of first rows that are examined.
FIRST_ROWS = 10_000
# Dates written as digits are numbers between these.
_LOW, _HIGH = 190_001, 20_991_231


@dataclass
class Codes:
    """Columns of numbers to read in another way, and notes about them."""

    categories: list[str] = field(default_factory=list)
    dates: dict[str, TextFormat] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_codes(table: Table, used: Sequence[Column], chosen: Collection[str]) -> Codes:
    """Examine the first rows of columns of numbers, except those that the user chose.

    Whole numbers are codes if some have leading zeros, or if the name of the column
    suggests identifiers or postcodes. Numbers such as 20241231 or 202412 are dates if
    all of them are valid dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from akkm.tables._codes import find_codes
    >>> from akkm.tables._frame import as_table
    >>> frame = pd.DataFrame({"store_id": [3, 7, 7], "age": [31, 35, 40]})
    >>> table = as_table(frame)
    >>> find_codes(table, table.columns, []).categories
    ['store_id']
    """
    codes = Codes()
    names = [
        c.name
        for c in used
        if c.kind == "number" and not c.is_time and c.name not in chosen
    ]
    for name, values in _first_values(table, names).items():
        if len(values) < 2 or not _all_match(values, _WHOLE):
            continue
        digits = pc.replace_substring_regex(values, r"\.0*\s*$|\s", "")
        form = _date_format(digits)
        if form is not None:
            codes.dates[name] = form
            codes.notes.append(
                f"{name}: numbers such as {digits[0]} are read as dates; to use "
                "numbers instead, name the column in --columns"
            )
        elif _any_matches(digits, r"^0\d") or (
            (looks_like_id(name) or looks_like_postcode(name))
            and not _all_match(digits, r"^[01]$")
        ):
            codes.categories.append(name)
    return codes


def _first_values(table: Table, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return distinct values, as text, of columns in the first rows of a table.

    If the file states the types of columns, only columns that may be codes are
    returned.
    """
    if not names:
        return {}
    table.read_as_text(names)
    batches, left = [], FIRST_ROWS
    for batch in table.batches(names):
        batches.append(batch.slice(0, left))
        left -= batch.num_rows
        if left <= 0:
            break
    table.read_as_text([])
    found = {}
    for i, name in enumerate(names):
        column = pa.chunked_array([batch.column(i) for batch in batches])
        if table.typed:
            may_be = looks_like_id(name) or looks_like_postcode(name)
            column = _digits(column, all_values=may_be)
        if column is not None:
            found[name] = pc.drop_null(pc.unique(column.cast(pa.string())))
    return found


def _digits(column: Any, *, all_values: bool) -> Any:
    """Return whole numbers as text; None if they are not whole.

    Unless `all_values`, the result is also None if the numbers can't be dates.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowException:
        return None
    bounds = pc.min_max(whole).as_py()
    low, high = bounds["min"], bounds["max"]
    if low is None or not (all_values or (low >= _LOW and high <= _HIGH)):
        return None
    return whole


def _date_format(values: pa.Array) -> TextFormat | None:
    if len(values) < _DATES:
        return None
    for pattern, form in ((_DAY, "%Y%m%d"), (_MONTH, "%Y%m")):
        if _all_match(values, pattern):
            dates = pc.strptime(values, form, "s", error_is_null=True)
            return None if dates.null_count else TextFormat("date", pattern=form)
    return None


def _all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def _any_matches(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())
