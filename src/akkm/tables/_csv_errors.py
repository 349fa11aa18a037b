"""Error messages about CSV files that can't be parsed."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from akkm.rows.formats import TableError
from akkm.tables._summary import Counts
from akkm.tables._table import Table, as_option, quoted_names, row_text

_VALUE = re.compile(r"conversion error to (\w+).*?: invalid value '(.*)'", re.DOTALL)
_FIELDS = re.compile(r"Expected (\d+) columns, got (\d+)")
_ROW, _COLUMN = re.compile(r"Row #(\d+)"), re.compile(r"In CSV column #(\d+)")
# Largest number of distinct values per column that are examined.
_EXAMINED = 2_000
# A CSV column with at least this share of numbers is probably meant to be numeric.
MOSTLY = 0.9

_MONEY = r"(US)?\$|[€£¥₹]|USD|EUR|GBP|JPY|CHF|CNY|INR|AUD|CAD|kr"
_WITH_SIGN = rf"({_MONEY})\s?-?\d[\d.,]*|\d[\d.,]*\s?(%|{_MONEY})"
_DATE = (
    r"(\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}\.? (?:de )?[^\W\d]{3,10}\.? (?:de )?\d{4}"
    r"|\d{1,2}([/-])\d{1,2}\3\d{2,4}|\d{4}([/.])\d{1,2}\4\d{1,2})"
    r"([ T]\d{1,2}:.*)?"
)


def csv_error(
    error: str, table: Table, names: Sequence[str], block: int, before: int
) -> TableError:
    """Return a TableError for pyarrow's message; `before` lines precede row 0."""
    row, column = _ROW.search(error), _COLUMN.search(error)
    place = row_text(int(row[1]) - before - 1) if row else ""
    name = names[int(column[1])] if column else ""
    if row and column and (match := _VALUE.search(error)):
        return not_a_number(table, name, place, match[2], match[1])
    if row and (match := _FIELDS.search(error)):
        text = (
            f"{place} has {int(match[2]):,} fields, expected {int(match[1]):,} as in "
            "the first line; look for a missing or additional delimiter or quote"
        )
    elif "invalid UTF8" in error or "codec can't decode" in error:
        where = f" in {place}, column {name!r}" if row and column else ""
        text = f"not UTF-8 text{where}; convert it with iconv -f latin1 -t utf-8"
    elif "Empty CSV" in error:
        text = "there are no rows"
    elif "straddling" in error:
        text = (
            f'a line is longer than {block / 2**20:,.3g} MB; is there a quote (") that '
            "is not closed?"
        )
    elif re.search("Truncated|inflate|bz2|zstd", error, re.IGNORECASE):
        text = "the compressed file is cut off or damaged; copy or download it again"
    else:
        first = (error.strip() or "no reason given").splitlines()[0]
        text = f"can't be read as CSV ({first[:200]})"
    return TableError(f"{table.name}: {text}")


def not_a_number(
    table: Table, column: str, place: str, value: str, kind: str = "double"
) -> TableError:
    """Return the error for a cell that does not fit the type of its column."""
    what = {"double": "numbers", "bool": "true and false"}.get(kind, "dates or times")
    cure = f"if it means a missing value, add {as_option('--na', value[:60])}"
    if kind == "double" and (seen := number_format(value, table.decimal)):
        cure = f"it looks like {seen[0]}: {seen[1]}"
    return TableError(
        f"{table.name}: column {column!r} holds {what}, but there is "
        f"{quoted_names([value])} in {place}; {cure}, or read the column as text "
        f"({as_option('--text', column)}) or leave it out "
        f"({as_option('--drop', column)})"
    )


def count_fields(text: str, delimiter: str, most: int) -> int:
    r"""Return the number of fields in the first line of CSV, but at most `most`.

    Examples
    --------
    >>> from akkm.tables._csv_errors import count_fields
    >>> count_fields('a,"b,c",5"\n1,2,3', ",", 10), count_fields(",,,,,", ",", 3)
    (3, 3)
    """
    # A quote character is special only at the start of a field.
    field = re.compile(rf'(?:"(?:[^"]|"")*+"?)?[^{re.escape(delimiter)}\r\n]*+')
    end, count = -1, 0
    while count < most:
        match = field.match(text, end + 1)
        assert match is not None  # a field may be empty
        end, count = match.end(), count + 1
        if text[end : end + 1] != delimiter:
            break
    return count


def require_delimiter(lines: list[str], file: str, used: str, n_columns: int) -> None:
    """Raise TableError if the first lines seem to use another delimiter."""
    lines = [line.strip() for line in lines if line.strip()][:2]
    if not lines:  # the only line is blank
        return
    if lines[0].startswith("sep="):
        raise TableError(
            f"{file}: the first line, 'sep=', is meant for spreadsheets only; remove it"
        )
    if n_columns > 1:
        return
    seems = f"{file}: the fields seem to be separated by"
    for other, name in (("\t", "tab"), (";", ";"), (",", ","), ("|", "|")):
        if other in lines[0] and other != used:
            raise TableError(f"{seems} {name!r}; add --delimiter {name!r}")
    first, last = lines[0].split(), lines[-1].split()
    # Prose also contains spaces. But two lines of prose rarely have equally many words,
    # one of which is a number.
    if len(first) == len(last) > 1 and any(map(is_number, last)):
        cure = "add --delimiter ' '"
        if "  " in lines[0] + lines[-1]:
            cure = "replace each run of spaces by a comma, with tr -s ' ' ','"
        raise TableError(f"{seems} spaces; {cure}")


def unusual_numbers(
    name: str, counts: Counts, table: Table, *, dates: bool
) -> TableError | None:
    """Return the error for a text column that seems to hold numbers, or None.

    With `dates`, a column that seems to hold dates is an error, too.
    """
    numbers = total = 0
    rows: Counter[str] = Counter()  # number of rows by format
    examples: dict[str, dict[str, str]] = {}  # format -> value -> advice
    for value, count in islice(counts.values.items(), _EXAMINED):
        total += count
        what, cure = number_format(value, table.decimal) or ("", "")
        if is_number(value, table.decimal):
            numbers += count
        elif what and (dates or what != "dates"):
            rows[what] += count
            examples.setdefault(what, {})[value] = cure
    if not rows or numbers + rows.total() < MOSTLY * total:
        return None
    what = rows.most_common(1)[0][0]
    # Some values are ambiguous (1,065), and some are clear (1,065,000). The advice for
    # clear values is the shortest.
    cure = min(examples[what].values(), key=len)
    if table.typed:
        cure = f"convert them to {what.split()[0]}"
    as_text = ""
    if not counts.is_identifier:
        as_text = f"read it as text ({as_option('--text', name)}) "
    return TableError(
        f"{table.name}: column {name!r} looks like {what} "
        f"({quoted_names(examples[what], 2)}); {cure}, {as_text}or leave it out "
        f"({as_option('--drop', name)})"
    )


def number_format(value: str, decimal: str) -> tuple[str, str] | None:
    """Return the format of a number or date that can't be parsed, and advice.

    The result is None if the value is neither a number nor a date.

    Examples
    --------
    >>> from akkm.tables._csv_errors import number_format
    >>> number_format("3,5", ".")[0], number_format("12 %", ".")[0]
    ('numbers with a decimal comma', 'numbers with a sign such as % or €')
    >>> number_format("31.12.2024", ".")[0], number_format("blue", ".")
    ('dates', None)
    """
    other, word = (",", "comma") if decimal == "." else (".", "point")
    switch = "add --decimal ','" if decimal == "." else "leave out --decimal"
    here, there = re.escape(decimal), re.escape(other)
    start, group = r"\d{1,3}", r"\d{3}"
    grouped, pointed = "numbers with thousands separators", f"a decimal {word}"
    bare = "write them without separators"
    unclear = f"{bare} (or, if {other!r} is {pointed}, {switch})"
    both = f"write them without {decimal!r} and {switch}"
    for pattern, what, cure in (
        (rf"{start}{there}{group}", grouped, unclear),
        (rf"{start}({there}{group})+({here}\d+)?", grouped, bare),
        (rf"{start}(['’ \u00a0\u202f]{group})+([.,]\d+)?", grouped, bare),
        (rf"\d*{there}\d+([eE][+-]?\d+)?", f"numbers with {pointed}", switch),
        (rf"{start}({here}{group})+{there}\d+", f"numbers with {pointed}", both),
        (_WITH_SIGN, "numbers with a sign such as % or €", "write them without signs"),
        (_DATE, "dates", "write them as 2024-12-31"),
    ):
        if re.fullmatch(rf"[+-]?({pattern})|\(({pattern})\)", value.strip()):
            return what, cure
    return None


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a cell can be read as a number."""
    if decimal != ".":
        text = text.translate({ord("."): "_", ord(decimal): "."})
    with suppress(ValueError):
        float(text)
        return "_" not in text
    return False
