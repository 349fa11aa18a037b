"""`Table`: the interface of tables in files of any format."""

import difflib
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from akkm.rows.column_files import Pieces
from akkm.rows.formats import TableError
from akkm.typing import Array

_TIMES = ("date", "time", "duration")
_BYTES = ("binary", "large_binary", "fixed_size_binary")
# Names of Arrow types that are read as numbers. Booleans are read as text.
_NUMBERS = ("null", "int", "uint", "halffloat", "float", "double", "decimal", *_TIMES)
_TEXTS = ("bool", "string", "large_string", "string_view")
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        The name of the column.
    kind : {"number", "text", "other"}
        How values are read. Booleans are read as the texts "true" and "false". Dates
        and times are read as numbers of seconds, since 1970 or since midnight. Columns
        of kind "other", such as lists, can't be encoded.
    type : str
        The name of the type in the file, such as "date32[day]".

    Examples
    --------
    >>> from akkm.tables import Column
    >>> Column("born", "number", "date32[day]").is_time
    True
    """

    name: str
    kind: str
    type: str = ""

    @property
    def is_time(self) -> bool:
        """Whether the column holds dates, times or durations, read as seconds."""
        return self.type.startswith(_TIMES)

    @property
    def time_role(self) -> str:
        """The role of a column of times: "date", "time" or "duration"; else ""."""
        if self.type.startswith(("date", "timestamp")):
            return "date"
        return (
            "duration"
            if self.type.startswith("duration")
            else ("time" if self.is_time else "")
        )

    @property
    def is_value(self) -> bool:
        """Whether a cell is a single value, so that it can be an id or a label."""
        return self.kind != "other" or self.type.startswith(_BYTES)


class Table:
    """A table in an opened file.

    Opening reads only a small part of the file; `batches` reads all rows.

    Attributes
    ----------
    name : str
        The path as given, or "standard input"; used in messages.
    columns : tuple of Column
        The columns in the order of the file.
    notes : tuple of str
        Assumptions that the user should know about.
    n_rows : int or None
        The number of rows; None until it is known.
    pieces : akkm.rows.column_files.Pieces or None
        The rows in pieces that can be read in any order; None for formats that can
        only be read from start to end.
    typed : bool
        Whether the file states the types of its columns. CSV does not: any column can
        be read as text.
    decimal : str
        The decimal separator of a CSV file: "." or ",".
    blanks : tuple of str
        Cells of a CSV file that count as missing.
    matrix : CSR array of shape (n, d) or None
        All rows of a sparse table, which has no `batches`.
    target : array of shape (n,) or None
        The labels of a LIBSVM file.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from akkm.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", [[1, 2], [3, 4]])
    ...     table = open_table(f"{folder}/x.npy")
    ...     [batch.to_pydict() for batch in table.batches(["1"])]
    [{'1': [2, 4]}]
    """

    name: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    n_rows: int | None = None
    pieces: Pieces | None = None
    typed: bool = True
    decimal: str = "."
    blanks: tuple[str, ...] = ()
    matrix: Any = None
    target: Array | None = None

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read all rows in order; this method may be called repeatedly.

        Parameters
        ----------
        names : sequence of str
            The columns to read, in the order in which batches contain them.

        Yields
        ------
        pyarrow.RecordBatch
            Consecutive rows. Columns have the types of the file; in CSV, numbers are
            float64 and text is dictionary-encoded.

        Raises
        ------
        TableError
            If the table is sparse.
        """
        raise TableError(f"{self.name}: a sparse table is read through its matrix")

    def read_as_text(self, names: Collection[str]) -> None:
        """Read exactly these columns of a CSV file as text from now on.

        Calls have no effect on files that state the types of their columns.

        Parameters
        ----------
        names : collection of str
            The names of the columns.
        """

    @property
    def share(self) -> float | None:
        """The share of the file that was read so far; None if this is unknown."""
        return None


def kind_of(kind: pa.DataType) -> str:
    """Return "number", "text" or "other" for an Arrow type."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if str(kind).startswith(_NUMBERS):
        return "number"
    return "text" if str(kind) in _TEXTS else "other"


def as_number(array: pa.Array) -> pa.Array:
    """Convert numbers to float64, and dates and times to seconds in float64."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return as_number(array.dictionary_decode())
    if not pa.types.is_temporal(kind):
        return array.cast(pa.float64(), safe=False)
    if pa.types.is_date32(kind):
        return as_number(array.cast(pa.timestamp("s")))
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    whole = array.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
    seconds = whole.cast(pa.float64(), safe=False)
    return pa.compute.divide(seconds, float(PER_SECOND[unit]))


def as_text(array: pa.Array) -> pa.DictionaryArray:
    """Dictionary-encode text and booleans, without null in the dictionary."""
    if pa.types.is_dictionary(array.type):
        plain = array.type == pa.dictionary(pa.int32(), pa.string())
        if plain and not array.dictionary.null_count:
            return array
        array = array.dictionary_decode()
    return array.cast(pa.string()).dictionary_encode()


def quoted_names(names: Iterable[Any], most: int = 5) -> str:
    """List the first few names in quotes, and count the remaining names.

    Parameters
    ----------
    names : iterable
        Names, or values that are shown as text.
    most : int, default=5
        The largest number of names that are listed.

    Returns
    -------
    str
        The list.

    Examples
    --------
    >>> from akkm.tables import quoted_names
    >>> quoted_names("abc", most=2)
    "'a', 'b' and 1 more"
    """
    names = [str(name) for name in names]
    return first_few([repr(n if len(n) <= 60 else f"{n[:57]}...") for n in names], most)


def first_few(items: Sequence[str], most: int = 5) -> str:
    """List the first few items, and count the remaining items."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def row_text(row: int) -> str:
    """Describe a row (from 0) for messages; its line number in the file may differ."""
    return f"row {row + 1:,} of the data"


def as_option(option: str, name: str) -> str:
    """Return an option with the name of a column, quoted for a shell.

    Examples
    --------
    >>> from akkm.tables._table import as_option
    >>> print(as_option("--drop", "age"), as_option("--drop", "size, cm"))
    --drop age --drop '"size, cm"'
    >>> print(as_option("--id", "size, cm"))
    --id 'size, cm'
    """
    takes_list = option not in ("--id", "--label")
    if takes_list and (set(name) & set(',"') or name != name.strip()):
        name = '"' + name.replace('"', '""') + '"'
    return f"{option} {shlex.quote(name)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of known names similar to `name`, or ""."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    if not close:
        return ""
    return f"; did you mean {quoted_names(by_lower[c] for c in close)}?"
