"""Open a table in the format that the extension of its file name indicates."""

import os
import sys
from collections.abc import Sequence

from akkm.rows.formats import TableError
from akkm.tables._csv import BLOCK, KEPT, MISSING, CsvTable
from akkm.tables._files import OPENERS, open_columns, temporary_copy
from akkm.tables._sparse import open_libsvm
from akkm.tables._table import Table, did_you_mean

_CSV = (".csv", ".tsv", ".tab", ".txt", ".data")
_LIBSVM = (".svm", ".libsvm", ".svmlight")
_COMPRESSED = (".gz", ".bz2", ".zst")


def open_table(
    path: str,
    *,
    header: bool = True,
    delimiter: str = ",",
    decimal: str = ".",
    missing: Sequence[str] = MISSING,
    block: int = BLOCK,
    kept: int = KEPT,
) -> Table:
    r"""Open a table in the format that the extension of its file name indicates.

    Parameters
    ----------
    path : str
        CSV (.csv, .tsv, .txt, .data; also with .gz, .bz2 or .zst appended), Parquet
        (.parquet), Arrow or Feather (.arrow, .feather, .ipc), a folder of Parquet or
        of Arrow files, a 2-D NumPy array (.npy, .npz), a sparse SciPy matrix (.npz),
        LIBSVM (.svm, .libsvm; also .gz, .bz2), or "-" for CSV on standard input.
    header : bool, default=True
        Whether the first line of a CSV file contains the names of the columns. Columns
        without names are named by their position: "0", "1", ...
    delimiter : str, default=","
        The character between the fields of a CSV file. In .tsv and .tab files, the
        default is a tab.
    decimal : {".", ","}, default="."
        The decimal separator in a CSV file.
    missing : sequence of str, optional
        Cells of a CSV file that count as missing; by default the empty cell, NA, N/A,
        n/a, NaN, NULL, null, None and similar ones.
    block : int, default=4 MiB
        Bytes of a CSV file that are parsed at a time. The first block determines which
        columns are numeric. Text in a numeric column of a later block is an error.
    kept : int, default=512 MiB
        Largest number of bytes of parsed CSV rows that are kept in memory for a second
        pass. If the rows need more, the file is parsed again.

    Returns
    -------
    Table
        The opened table.

    Raises
    ------
    TableError
        If the file can't be read. The message is one line and says what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from akkm.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("name,age\nEva,31\nIda,\n")
    ...     table = open_table(str(path))
    ...     [(column.name, column.kind) for column in table.columns]
    [('name', 'text'), ('age', 'number')]
    """
    path = str(path)
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n' or ord(delimiter) > 127:
        raise TableError(
            f"delimiter {delimiter!r} is not valid; expected one character such as "
            "',', ';' or 'tab'"
        )
    if decimal not in (".", ",") or decimal == delimiter:
        raise TableError(
            f"decimal {decimal!r} is not valid; expected '.' or ',', and not the "
            "delimiter"
        )
    inner = path.lower()
    if compressed := inner.endswith(_COMPRESSED):
        inner = inner.rpartition(".")[0]
    if inner.endswith((".tsv", ".tab")) and delimiter == ",":
        delimiter = "\t"
    options = (header, delimiter, decimal, tuple(missing), block, kept)
    if path == "-":
        return CsvTable(_copy_standard_input(), "standard input", *options)
    if os.path.isdir(path):
        return open_columns(path)
    _require_readable(path)
    if inner.endswith(_LIBSVM):
        return open_libsvm(path)
    if compressed and inner.endswith(tuple(OPENERS)):
        raise TableError(f"{path}: can't be read compressed; decompress it first")
    if compressed or inner.endswith(_CSV):
        return CsvTable(path, path, *options)
    extension = os.path.splitext(inner)[1]
    if extension not in OPENERS:
        raise TableError(
            f"{path}: unknown file format ({extension or 'no extension'}); expected "
            ".csv, .tsv, .txt (also .gz), .parquet, .arrow, .feather, .ipc, .npy, "
            ".npz, .svm or .libsvm"
        )
    return OPENERS[extension](path)


def _require_readable(path: str) -> None:
    """Raise TableError unless the path is a file that can be read and is not empty."""
    try:
        with open(path, "rb") as file:
            if not file.read(1):
                raise TableError(f"{path}: the file is empty")
    except FileNotFoundError:
        folder, name = os.path.split(path)
        there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        similar = did_you_mean(name, there)
        raise TableError(f"{path}: there is no such file{similar}") from None
    except OSError as error:
        raise TableError(f"{path}: can't be read ({error.strerror})") from None


def _copy_standard_input() -> str:
    """Copy standard input to a temporary file, because CSV is read twice."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise TableError("standard input: nothing is piped into it; expected CSV")
    copy = temporary_copy(sys.stdin.buffer)
    if os.path.getsize(copy) == 0:
        raise TableError("standard input: it is empty")
    return copy
