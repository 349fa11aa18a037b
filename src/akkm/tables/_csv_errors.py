"""What is wrong with a CSV file, in words for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from akkm.tables._disguises import is_number, what_it_is
from akkm.tables._table import TableError, advised, brief

_VALUE = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+).*?: "
    r"invalid value '(.*)'",
    re.DOTALL,
)
_FIELDS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_ENCODING = re.compile(r"In CSV column #(\d+): Row #(\d+):.*invalid UTF8")
# What other kinds of files begin with.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy array",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an Excel file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


def explain(
    error: str, file: str, names: Sequence[str], block: int, before: int, decimal: str
) -> TableError:
    """One line for what pyarrow says of a file; `before` lines are before the rows."""
    if found := _VALUE.search(error):
        column, row, kind, value = found.groups()
        place = place_of(int(row) - before)
        return not_a_number(file, names[int(column)], place, value, kind, decimal)
    if found := _FIELDS.search(error):
        row, expected, got = (int(number) for number in found.groups())
        return TableError(
            f"{file}: {place_of(row - before)} has {got:,} fields, expected "
            f"{expected:,} as in the first line; look for a missing or an additional "
            "delimiter or quote"
        )
    if "invalid UTF8" in error or "codec can't decode" in error:
        where = ""
        if found := _ENCODING.search(error):
            place = place_of(int(found[2]) - before)
            where = f" in {place}, column {names[int(found[1])]!r}"
        return TableError(
            f"{file}: not UTF-8 text{where}; convert it, for instance with "
            "iconv -f latin1 -t utf-8"
        )
    if "straddling" in error:
        return TableError(
            f"{file}: a line is longer than {block / 2**20:,.3g} MB; is there a quote "
            '(") that is not closed?'
        )
    if "Truncated" in error:
        return TableError(
            f"{file}: the packed file is cut off; copy or download it again"
        )
    if "inflate" in error or "bz2" in error.lower() or "zstd" in error.lower():
        return TableError(
            f"{file}: the packed file is damaged; copy or download it again"
        )
    first = error.strip().splitlines()[0] if error.strip() else "no reason given"
    return TableError(f"{file}: can't be read as CSV ({first[:200]})")


def place_of(row: int) -> str:
    """Where row 1, 2, ... is; lines may be blank, and cells may have several lines."""
    return f"row {row:,} of the data"


def not_a_number(
    file: str,
    column: str,
    place: str,
    value: str,
    kind: str = "double",
    decimal: str = ".",
) -> TableError:
    """What is said of text in a column of numbers."""
    what = {"double": "numbers", "bool": "true and false"}.get(kind, "dates or times")
    seen = what_it_is(value, decimal) if kind == "double" else None
    cure = f"if it means a missing value, say {advised('--na', value[:60])}"
    if seen:
        cure = f"it looks like {seen[0]}: {seen[1]}"
    return TableError(
        f"{file}: column {column!r} holds {what}, but {brief([value])} in {place}; "
        f"{cure}, or take the column as text ({advised('--text', column)}) or leave it "
        f"out ({advised('--drop', column)})"
    )


def require_text(start: bytes, file: str) -> None:
    """A `TableError` if a file is not text."""
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise TableError(f"{file}: this is {what}; expected CSV in UTF-8")
    if b"\0" in start:
        raise TableError(f"{file}: not text (it has NUL bytes); expected CSV in UTF-8")


def require_delimiter(rows: Sequence[Sequence[str]], file: str, used: str) -> None:
    """A `TableError` if another delimiter than `used` would give more columns.

    `rows` are the first ones.
    """
    if rows[0][0].startswith("sep="):
        raise TableError(
            f"{file}: the first line, 'sep=', is meant for spreadsheets only; remove it"
        )
    if len(rows[0]) > 1:
        return
    for other, name in (("\t", "tab"), (";", ";"), (",", ","), ("|", "|")):
        if other in rows[0][0] and other != used:
            raise TableError(
                f"{file}: looks like it is separated by {name!r}; say "
                f"--delimiter {name!r}"
            )
    lines = [row[0].strip() for row in rows if row]
    first, last = lines[0].split(), lines[-1].split()
    # One column of words has spaces too, but hardly as many in each line, and numbers.
    if len(first) == len(last) > 1 and any(map(is_number, last)):
        cure = "say --delimiter ' '"
        if any("  " in line for line in lines):
            cure = "put one comma for each run of them, with tr -s ' ' ',' for instance"
        raise TableError(f"{file}: looks like it is separated by spaces; {cure}")
