"""Open a file by its extension."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akkm.tables._arrow import IpcTable, ParquetTable
from akkm.tables._csv import MISSING, CsvTable
from akkm.tables._numpy import open_npy, open_npz
from akkm.tables._sparse import open_libsvm
from akkm.tables._table import Table, TableError, near

_CSV = (".csv", ".tsv", ".tab", ".txt", ".data")
_ARROW = (".arrow", ".feather", ".ipc")
_LIBSVM = (".svm", ".libsvm", ".svmlight")
_PACKED = (".gz", ".bz2", ".zst")
_KNOWN = (
    ".csv, .tsv, .txt (also .gz), .parquet, .arrow, .feather, .ipc, .npy, .npz, "
    ".svm, .libsvm"
)


def open_table(
    path: str,
    *,
    header: bool = True,
    delimiter: str = ",",
    decimal: str = ".",
    missing: Sequence[str] = MISSING,
) -> Table:
    r"""Open a table; what it is follows from the extension of its name.

    Parameters
    ----------
    path : str
        CSV (.csv, .tsv, .txt, .data; .gz, .bz2 or .zst after it, or any other name that
        ends so), Parquet (.parquet), Arrow or Feather (.arrow, .feather, .ipc), a 2-D
        NumPy array (.npy, .npz), a sparse matrix of SciPy (.npz), LIBSVM (.svm,
        .libsvm; .gz, .bz2), or "-" for CSV on standard input.
    header : bool, default=True
        Whether the first line of a CSV file holds the names of the columns. Columns
        without names are called by their position: "0", "1", ...
    delimiter : str, default=","
        Between the fields of a CSV file; a tab in .tsv files.
    decimal : {".", ","}, default="."
        Between the digits of a number in a CSV file.
    missing : sequence of str
        What stands for a missing value in a CSV file: an empty cell, NA, N/A, n/a, NaN,
        NULL, null, None and the like.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file can't be read; the message says what to do.

    Notes
    -----
    The first block of a CSV file (4 MB) decides which columns are numbers; text in one
    of these further down is a `TableError` with the row and the value.

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
    delimiter = _one_character(delimiter)
    if decimal not in (".", ",") or decimal == delimiter:
        raise TableError(
            f"decimal {decimal!r} is not valid; expected '.' or ',', and not the "
            "delimiter"
        )
    read: dict[str, Any] = {"header": header, "decimal": decimal, "missing": missing}
    if path == "-":
        return _standard_input(delimiter=delimiter, **read)
    _require_file(path)
    lower = path.lower()
    packed = lower.endswith(_PACKED)
    inner = lower.rpartition(".")[0] if packed else lower
    if inner.endswith(_LIBSVM):
        return open_libsvm(path)
    if packed and inner.endswith((".parquet", ".npy", ".npz", *_ARROW)):
        raise TableError(f"{path}: unpack this file first; only CSV is read packed")
    if packed or inner.endswith(_CSV):
        tabs = inner.endswith((".tsv", ".tab")) and delimiter == ","
        return CsvTable(path, path, delimiter="\t" if tabs else delimiter, **read)
    if lower.endswith(".parquet"):
        return ParquetTable(path)
    if lower.endswith(_ARROW):
        return IpcTable(path)
    if lower.endswith(".npy"):
        return open_npy(path)
    if lower.endswith(".npz"):
        return open_npz(path)
    extension = Path(path).suffix or "no extension"
    raise TableError(f"{path}: unknown kind of file ({extension}); known are {_KNOWN}")


def _one_character(delimiter: str) -> str:
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n' or ord(delimiter) > 127:
        raise TableError(
            f"delimiter {delimiter!r} is not valid; expected one character such as "
            "',', ';' or 'tab'"
        )
    return delimiter


def _require_file(path: str) -> None:
    """A file that is there, is not empty, and may be read."""
    file = Path(path)
    try:
        if file.is_dir():
            raise TableError(f"{path}: this is a folder; expected a file in it")
        if not file.exists():
            folder = file.parent
            there = [f.name for f in folder.iterdir()] if folder.is_dir() else []
            raise TableError(f"{path}: there is no such file{near(file.name, there)}")
        if not file.is_file():
            raise TableError(f"{path}: not a plain file; CSV can be piped to '-'")
        if file.stat().st_size == 0:
            raise TableError(f"{path}: the file is empty")
        with file.open("rb"):
            pass
    except PermissionError:
        raise TableError(f"{path}: no permission to read it") from None
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{path}: can't be opened ({error})") from None


def _standard_input(**read: Any) -> Table:
    """Standard input, copied to a temporary file, as it has to be read twice."""
    name = "standard input"
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise TableError(f"{name}: nothing is piped into it; expected CSV")
    # Held by the table: the file goes when the table goes.
    spool = tempfile.NamedTemporaryFile(prefix="akkm-")  # noqa: SIM115
    try:
        shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        spool.flush()
    except OSError as error:
        raise TableError(
            f"{name}: can't be copied to {tempfile.gettempdir()} ({error.strerror}); "
            "TMPDIR can name another folder"
        ) from None
    if spool.tell() == 0:
        raise TableError(f"{name}: it is empty")
    return CsvTable(spool.name, name, owner=spool, **read)
