"""Messages about CSV files that can't be parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from akkm.rows.formats import TableError
from akkm.tables._number_formats import is_number, number_format
from akkm.tables._table import as_option, quoted_names

_VALUE = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+).*?: "
    r"invalid value '(.*)'",
    re.DOTALL,
)
_FIELDS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_ENCODING = re.compile(r"In CSV column #(\d+): Row #(\d+):.*invalid UTF8")
# First bytes of other formats.
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


def csv_error(
    error: str, file: str, names: Sequence[str], block: int, before: int, decimal: str
) -> TableError:
    """Translate a message of pyarrow; `before` lines precede the first row."""
    if match := _VALUE.search(error):
        column, row, kind, value = match.groups()
        place = place_in_csv(int(row) - before)
        return not_a_number(file, names[int(column)], place, value, kind, decimal)
    if match := _FIELDS.search(error):
        row, expected, got = (int(number) for number in match.groups())
        text = (
            f"{place_in_csv(row - before)} has {got:,} fields, expected {expected:,} "
            "as in the first line; look for a missing or additional delimiter or quote"
        )
    elif "invalid UTF8" in error or "codec can't decode" in error:
        where = ""
        if match := _ENCODING.search(error):
            place = place_in_csv(int(match[2]) - before)
            where = f" in {place}, column {names[int(match[1])]!r}"
        text = f"not UTF-8 text{where}; convert it, with iconv -f latin1 -t utf-8"
    elif "straddling" in error:
        text = (
            f'a line is longer than {block / 2**20:,.3g} MB; is there a quote (") that '
            "is not closed?"
        )
    elif "Truncated" in error:
        text = "the compressed file is cut off; copy or download it again"
    elif re.search("inflate|bz2|zstd", error, re.IGNORECASE):
        text = "the compressed file is damaged; copy or download it again"
    else:
        first = (error.strip() or "no reason given").splitlines()[0]
        text = f"can't be read as CSV ({first[:200]})"
    return TableError(f"{file}: {text}")


def place_in_csv(row: int) -> str:
    """Position of row 1, 2, ...; not a line: cells may span lines."""
    return f"row {row:,} of the data"


def not_a_number(
    file: str,
    column: str,
    place: str,
    value: str,
    kind: str = "double",
    decimal: str = ".",
) -> TableError:
    """The error for text in a column of numbers."""
    what = {"double": "numbers", "bool": "true and false"}.get(kind, "dates or times")
    cure = f"if it means a missing value, add {as_option('--na', value[:60])}"
    if kind == "double" and (seen := number_format(value, decimal)):
        cure = f"it looks like {seen[0]}: {seen[1]}"
    return TableError(
        f"{file}: column {column!r} holds {what}, but {quoted_names([value])} in "
        f"{place}; {cure}, or read the column as text ({as_option('--text', column)}) "
        f"or leave it out ({as_option('--drop', column)})"
    )


def require_text_file(start: bytes, file: str) -> None:
    """Raise TableError if the first bytes of a file are not text."""
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise TableError(f"{file}: this is {what}; expected CSV in UTF-8")
    if b"\0" in start:
        raise TableError(f"{file}: not text (it has NUL bytes); expected CSV in UTF-8")


def require_delimiter(rows: Sequence[Sequence[str]], file: str, used: str) -> None:
    """Raise TableError if another delimiter would cut the first rows into columns."""
    cell = rows[0][0]
    if cell.startswith("sep="):
        raise TableError(
            f"{file}: the first line, 'sep=', is meant for spreadsheets only; remove it"
        )
    if len(rows[0]) > 1:
        return
    for other, name in (("\t", "tab"), (";", ";"), (",", ","), ("|", "|")):
        if other in cell and other != used:
            raise TableError(
                f"{file}: the fields seem to be separated by {name!r}; add --delimiter "
                f"{name!r}"
            )
    lines = [row[0].strip() for row in rows if row]
    first, last = lines[0].split(), lines[-1].split()
    # A column of phrases has spaces too, but rarely as many per line, and numbers.
    if len(first) == len(last) > 1 and any(map(is_number, last)):
        cure = "add --delimiter ' '"
        if any("  " in line for line in lines):
            cure = "replace each run of them by a comma, with tr -s ' ' ','"
        raise TableError(f"{file}: the fields seem to be separated by spaces; {cure}")
