"""Numbers and dates in CSV that are written in an unusual way."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from akkm.rows.formats import TableError
from akkm.tables._table import Table, as_option, quoted_names

# Distinct values that are examined.
_EXAMINED = 2_000
# A CSV column with at least this share of numbers should be one of numbers.
MOSTLY = 0.9

_WITH_SIGN = re.compile(r"[+-]?[$€£¥]?\s?\d[\d.,]*\s?[%$€£¥]?")
_WITH_SPACES = re.compile(r"[+-]?\d{1,3}(['’ \u00a0\u202f]\d{3})+([.,]\d+)?")
_DATE = re.compile(
    r"(\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}([/-])\d{1,2}\2\d{2,4}|\d{4}([/.])\d{1,2}\3\d{1,2})"
    r"([ T]\d{1,2}:.*)?"
)


def unusual_numbers(
    name: str, values: Counter[str], table: Table, *, dates: bool
) -> TableError | None:
    """The error for a text column in CSV that seems to hold numbers, or `dates`."""
    examined = list(islice(values, _EXAMINED))
    regular = 0
    rows: Counter[str] = Counter()  # by format
    examples: dict[str, dict[str, str]] = {}  # value -> what to do, by format
    for value in examined:
        if is_number(value, table.decimal):
            regular += values[value]
            continue
        what, cure = number_format(value, table.decimal) or ("", "")
        if what and (dates or what != "dates"):
            rows[what] += values[value]
            examples.setdefault(what, {})[value] = cure
    total = sum(values[value] for value in examined)
    if not rows or regular + rows.total() < MOSTLY * total:
        return None
    what = rows.most_common(1)[0][0]
    # 1,065 is ambiguous, 1,065,000 is not: the shortest advice is the most certain.
    cure = min(examples[what].values(), key=len)
    return TableError(
        f"{table.name}: column {name!r} looks like {what} "
        f"({quoted_names(examples[what], 2)}); {cure}, or read it as text "
        f"({as_option('--text', name)}) or leave it out ({as_option('--drop', name)})"
    )


def number_format(value: str, decimal: str) -> tuple[str, str] | None:
    """The format of a number or date that can't be parsed, and what to do about it.

    Examples
    --------
    >>> from akkm.tables._number_formats import number_format
    >>> number_format("3,5", ".")[0], number_format("12 %", ".")[0]
    ('numbers with a decimal comma', 'numbers with a sign such as % or €')
    >>> number_format("31.12.2024", ".")[0], number_format("blue", ".")
    ('dates', None)
    """
    value = value.strip()
    other, word = (",", "comma") if decimal == "." else (".", "point")
    switch = "add --decimal ','" if decimal == "." else "leave out --decimal"
    here, there = re.escape(decimal), re.escape(other)
    if re.fullmatch(rf"[+-]?\d{{1,3}}({there}\d{{3}})+({here}\d+)?", value):
        cure = "write them without"
        if value.count(other) == 1 and decimal not in value:
            cure += f" (or, if it is a decimal {word}, {switch})"
        return "numbers with thousands separators", cure
    if re.fullmatch(rf"[+-]?\d*{there}\d+([eE][+-]?\d+)?", value):
        return f"numbers with a decimal {word}", switch
    if re.fullmatch(rf"[+-]?\d{{1,3}}({here}\d{{3}})+{there}\d+", value):
        cure = f"write them without {decimal!r} and {switch}"
        return f"numbers with a decimal {word}", cure
    if _WITH_SPACES.fullmatch(value):
        return "numbers with thousands separators", "write them without"
    if _WITH_SIGN.fullmatch(value) and set(value) & set("%$€£¥"):
        return "numbers with a sign such as % or €", "write them without"
    if _DATE.fullmatch(value):
        return "dates", "write them as 2024-12-31"
    return None


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a cell can be read as a number."""
    if decimal != ".":
        if "." in text:
            return False
        text = text.replace(decimal, ".")
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
