"""Text that is numbers or dates, written in a way that is not read as such."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from akkm.tables._table import Table, TableError, advised, brief

# Different values that are looked at.
_LOOKED_AT = 2_000
# A column in CSV with a larger share of numbers is one of numbers.
NUMBERS = 0.9

_SIGNED = re.compile(r"[+-]?[$€£¥]?\s?\d[\d.,]*\s?[%$€£¥]?")
_SPACED = re.compile(r"[+-]?\d{1,3}(['’ \u00a0\u202f]\d{3})+([.,]\d+)?")
_DATE = re.compile(
    r"(\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}([/-])\d{1,2}\2\d{2,4}|\d{4}([/.])\d{1,2}\3\d{1,2})"
    r"([ T]\d{1,2}:.*)?"
)


def disguised(
    name: str, values: Counter[str], table: Table, *, dates: bool
) -> TableError | None:
    """What to say of a text column in CSV that seems to hold numbers, or `dates`.

    Examples
    --------
    >>> from akkm.tables._disguises import what_it_is
    >>> what_it_is("3,5", ".")[0], what_it_is("12 %", ".")[0]
    ('numbers with a decimal comma', 'numbers with a sign such as % or €')
    >>> what_it_is("31.12.2024", ".")[0], what_it_is("blue", ".")
    ('dates', None)
    """
    looked = dict(islice(values.items(), _LOOKED_AT))
    plain = Counter[str]()
    found: dict[str, Counter[str]] = {}
    cures: dict[str, set[str]] = {}
    for value, count in looked.items():
        if is_number(value, table.decimal):
            plain[value] = count
        elif seen := what_it_is(value, table.decimal):
            found.setdefault(seen[0], Counter())[value] = count
            cures.setdefault(seen[0], set()).add(seen[1])
    if not dates:
        found.pop("dates", None)
    if not found:
        return None
    share = plain.total() + sum(c.total() for c in found.values())
    if share < NUMBERS * sum(looked.values()):
        return None
    what, example = max(found.items(), key=lambda item: item[1].total())
    cure = min(cures[what], key=len)  # 1,065 may mean two things; 1,065,000 tells
    return TableError(
        f"{table.name}: column {name!r} looks like {what} ({brief(example, 2)}); "
        f"{cure}, or take it as text ({advised('--text', name)}) or leave it out "
        f"({advised('--drop', name)})"
    )


def what_it_is(value: str, decimal: str) -> tuple[str, str] | None:
    """What a text seems to be, and what to do about it; `decimal` is "." or ","."""
    value = value.strip()
    other, word = (",", "comma") if decimal == "." else (".", "point")
    say = "say --decimal ','" if decimal == "." else "leave out --decimal"
    here, there = re.escape(decimal), re.escape(other)
    if re.fullmatch(rf"[+-]?\d{{1,3}}({there}\d{{3}})+({here}\d+)?", value):
        cure = "write them without"
        if value.count(other) == 1 and decimal not in value:
            cure += f" (or, if it is a decimal {word}, {say})"
        return "numbers with thousands separators", cure
    if re.fullmatch(rf"[+-]?\d*{there}\d+([eE][+-]?\d+)?", value):
        return f"numbers with a decimal {word}", say
    if re.fullmatch(rf"[+-]?\d{{1,3}}({here}\d{{3}})+{there}\d+", value):
        cure = f"write them without {decimal!r} and {say}"
        return f"numbers with a decimal {word}", cure
    if _SPACED.fullmatch(value):
        return "numbers with thousands separators", "write them without"
    if _SIGNED.fullmatch(value) and set(value) & set("%$€£¥"):
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
