"""What a table is, whatever file it comes from."""

from __future__ import annotations

import difflib
import shlex
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

# Cells in a batch: some 30 MB of numbers.
_CELLS = 1 << 22
# Units of dates and times, per second.
_BYTES = ("binary", "large_binary", "fixed_size_binary")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class TableError(ValueError):
    """A table that can't be used; the message is one line for people.

    Examples
    --------
    >>> from akkm.tables import open_table
    >>> open_table("data.xlsx")
    Traceback (most recent call last):
    ...
    akkm.tables._table.TableError: data.xlsx: there is no such file
    """


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "other"}
        Booleans are text, "true" or "false". Dates and times are numbers: seconds
        since 1970, or since midnight. Columns of kind "other", lists for instance,
        can't be read.
    type : str
        The type that the file gives it, for messages.

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
        """Whether its numbers are seconds."""
        return self.type.startswith(("date", "time", "duration"))

    @property
    def is_value(self) -> bool:
        """Whether a cell is one value, which can name a row or say what it is."""
        return self.kind != "other" or self.type.startswith(_BYTES)


class Table(ABC):
    """An opened file. Opening it reads little; `batches` reads all of it.

    Attributes
    ----------
    name : str
        For messages: the path as given, or "standard input".
    columns : tuple of Column
    notes : tuple of str
        Sentences on what was taken for what.
    n_rows : int or None
        The number of rows; None as long as it is not known.
    typed : bool
        Whether the file gives its columns types. In CSV all can be read as text.
    decimal : str
        What is between the digits of a number in CSV: "." or ",".
    blanks : tuple of str
        What was written where values are missing, in CSV.
    matrix : CSR array of shape (n, d) or None
        All of a sparse table; `batches` is for the others.
    target : array of shape (n,) or None
        What LIBSVM files have before the columns.
    ragged : bool
        Whether the file leaves open how many columns there are, as LIBSVM does.

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
    typed: bool = True
    decimal: str = "."
    blanks: tuple[str, ...] = ()
    matrix: Any = None
    target: NDArray[Any] | None = None
    ragged: bool = False

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, some at a time; may be called again.

        Parameters
        ----------
        names : sequence of str
            The columns to read, in the order in which they are wanted. They have the
            types of the file; in CSV, numbers are float64 and text is dictionaries of
            strings.
        """

    def read_as_text(self, names: Collection[str]) -> None:  # noqa: B027
        """From now on, read just these columns as they are written, in CSV.

        Files that give types to their columns do so already.
        """

    def place(self, row: int) -> str:
        """Where row 0, 1, ... is, as people say it."""
        return f"row {row + 1:,}"

    @property
    def share(self) -> float | None:
        """How much of the file was read, where that can be told before its end."""
        return None

    def release(self) -> None:  # noqa: B027 (most tables keep nothing)
        """Let go of what was kept for a further pass."""


def batch_rows(n_columns: int) -> int:
    """How many rows a batch should have."""
    return min(max(_CELLS // max(n_columns, 1), 256), 1 << 16)


def kind_of(kind: pa.DataType) -> str:
    """Whether an Arrow type is a "number", "text" or something "other"."""
    is_a = pa.types
    if is_a.is_dictionary(kind):
        return kind_of(kind.value_type)
    if is_a.is_interval(kind):
        return "other"
    if is_a.is_null(kind) or is_a.is_temporal(kind):
        return "number"
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind):
        return "number"
    if is_a.is_string(kind) or is_a.is_large_string(kind) or is_a.is_string_view(kind):
        return "text"
    if is_a.is_boolean(kind):  # weighs as much as "yes" and "no" do
        return "text"
    return "other"


def as_number(array: pa.Array) -> pa.Array:
    """Numbers, dates and times (in seconds) as float64."""
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
    return pa.compute.divide(seconds, float(_PER_SECOND[unit]))


def as_text(array: pa.Array) -> pa.DictionaryArray:
    """Text and booleans as indices into the distinct values, none of which is null."""
    if pa.types.is_dictionary(array.type):
        plain = array.type == pa.dictionary(pa.int32(), pa.string())
        if plain and not array.dictionary.null_count:
            return array
        array = array.dictionary_decode()
    return array.cast(pa.string()).dictionary_encode()


def columns_of(schema: pa.Schema, name: str) -> tuple[Column, ...]:
    """The columns of a file that knows their types."""
    require_distinct(schema.names, name)
    return tuple(Column(f.name, kind_of(f.type), str(f.type)) for f in schema)


def require_distinct(names: Sequence[str], where: str, hint: str = "") -> None:
    """A `TableError` if two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{where}: duplicate column names: {brief(twice)}; rename them{hint}"
        )


def brief(names: Iterable[Any], most: int = 5) -> str:
    """A list that stays readable: the first few, each in quotes, and how many more."""
    names = [str(name) for name in names]
    shown = [repr(n if len(n) <= 60 else f"{n[:57]}...") for n in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return ", ".join(shown)


def advised(option: str, name: str) -> str:
    """An option with the name of a column, to be copied to a shell.

    Examples
    --------
    >>> from akkm.tables._table import advised
    >>> print(advised("--drop", "age"), advised("--drop", "size, cm"))
    --drop age --drop '"size, cm"'
    >>> print(advised("--id", "size, cm"))
    --id 'size, cm'
    """
    several = option not in ("--id", "--label")
    if several and (set(name) & set(',"') or name != name.strip()):
        name = '"' + name.replace('"', '""') + '"'
    return f"{option} {shlex.quote(name)}"


def near(name: str, known: Iterable[str]) -> str:
    """A question that suggests the known names most like this one, or nothing."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    return f"; did you mean {brief(by_lower[c] for c in close)}?" if close else ""
