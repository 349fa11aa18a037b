"""Sparse tables (.npz of SciPy, LIBSVM), which are read and encoded as a whole."""

import os
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from akkm.limits import SPARSE_COLUMNS, require_ratio
from akkm.rows.formats import TableError, reading
from akkm.tables._blocks import counts_by_column, missing_notes
from akkm.tables._columns import LARGEST
from akkm.tables._compressed import open_unpacked
from akkm.tables._table import Column, Table, quoted_names, row_text
from akkm.typing import Array


class SparseTable(Table):
    """A CSR matrix as a table; its columns are named "0", "1", ...

    Columns of LIBSVM files are named by their index in the file. If the indices begin
    at 1, there is no column "0".
    """

    def __init__(self, path: str, X: Any, target: Array | None = None):
        if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
            raise TableError(
                f"{path}: expected a sparse matrix of numbers, found shape {X.shape} "
                f"of type {X.dtype}"
            )
        SPARSE_COLUMNS.require(X.shape[1], path, TableError)
        self.name, self.target, self.n_rows = path, target, X.shape[0]
        self.matrix = sparse.csr_array(X)
        self.matrix.sum_duplicates()
        is_libsvm = target is not None and X.shape[1] > 1
        first = int(is_libsvm and not self.matrix[:, [0]].nnz)
        dtype = str(X.dtype)
        self.columns = tuple(
            Column(str(i), "number", dtype) for i in range(first, X.shape[1])
        )


def open_sparse(path: str) -> Table:
    """Open a matrix that was saved by `scipy.sparse.save_npz`."""
    with reading(path, "a sparse matrix of SciPy"):
        X = sparse.load_npz(path)
        if X.ndim == 2:
            # In formats other than CSR, empty rows take no space in the file. So a
            # small file could claim a huge number of rows.
            require_ratio(8 * X.shape[0], os.path.getsize(path), path, TableError)
            SPARSE_COLUMNS.require(X.shape[1], path, TableError)
            if hasattr(X, "check_format"):
                # The conversion to CSR assumes that indices are in range.
                X.check_format(full_check=True)
            X = sparse.csr_array(X)
            X.check_format(full_check=True)
    return SparseTable(path, X)


def open_libsvm(path: str) -> Table:
    """Open a LIBSVM file with a line `label index:value index:value ...` per row."""
    libsvm = reading(path, "LIBSVM (label index:value ...)")
    with libsvm, open_unpacked(path) as file:
        # zero_based="auto" would shift the columns of files whose indices begin at 1.
        X, y = load_svmlight_file(file, dtype=np.float64, zero_based=True)
    return SparseTable(path, X, y)


def learn_sparse(
    table: Table, names: list[str], scale: str, missing: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the encoding of the columns `names`, and notes on missing values."""
    columns = np.array([int(name) for name in names], dtype=np.int64)
    X, _, means, notes = _complete(table.matrix, columns, table, missing)
    low, high = (m.toarray().ravel() for m in (X.min(axis=0), X.max(axis=0)))
    largest, used = np.maximum(abs(low), abs(high)), low < high
    fitted = {
        "width": table.matrix.shape[1],
        "columns": columns[used],
        "scale": np.ones(used.sum()) if scale == "none" else largest[used],
        "mean": means[used],
        "constant": [names[i] for i in np.flatnonzero(~used)],
    }
    return fitted, notes


def encode_sparse(
    table: Table, fitted: dict[str, Any], missing: str
) -> tuple[Any, Any, Array, tuple[str, ...]]:
    """Return X (n, d), the unencoded matrix, row numbers (n,) and notes.

    The matrix has as many columns as the matrix that was fitted.
    """
    matrix, width_notes = _with_width(table, fitted["width"])
    X, rows, _, notes = _complete(
        matrix, fitted["columns"], table, missing, fitted["mean"]
    )
    X.data /= fitted["scale"][X.indices]
    if X.nnz and abs(X.data).max() > LARGEST:
        raise TableError(
            f"{table.name}: some numbers are too large for single precision; rescale "
            "their columns"
        )
    return X.astype(np.float32), matrix, rows, (*notes, *width_notes)


def require_valid_matrix(fitted: dict[str, Any], held_out: list[str]) -> list[str]:
    """Return the names of all features; raise an error if the encoding is not valid.

    `held_out` contains the names of columns that are not features.
    """
    width, columns = fitted["width"], np.asarray(fitted["columns"])
    ascending = columns.ndim == 1 and (columns[1:] > columns[:-1]).all()
    if columns.dtype.kind != "i" or not ascending:
        raise ValueError("The columns of a sparse table are not in order.")
    if not (len(columns) and columns[0] >= 0 and columns[-1] < width):
        raise ValueError(f"Not all column numbers are from 0 to {width - 1}.")
    for name in ("scale", "mean"):
        numbers = fitted[name]
        if numbers.shape != columns.shape or numbers.dtype != np.float64:
            raise ValueError(f"{name} does not have a number per column.")
        if not np.isfinite(numbers).all() or (name == "scale" and (numbers <= 0).any()):
            expected = "finite" if name == "mean" else "finite and positive"
            raise ValueError(f"Not all numbers of {name} are {expected}.")
    if not all(isinstance(name, str) for name in fitted["constant"]):
        raise ValueError("The names of constant columns are not text.")
    if not all(0 <= int(name) < width for name in held_out):
        raise ValueError(f"Not all of the columns {held_out} are below {width}.")
    return [str(i) for i in columns]


def as_integers(values: Array) -> pa.Array:
    """Return numbers (n,) as an Arrow array, of integers if all are whole."""
    if np.isfinite(values).all() and (values == np.floor(values)).all():
        return pa.array(values.astype(np.int64))
    return pa.array(values)


def _with_width(table: Table, width: int) -> tuple[Any, tuple[str, ...]]:
    """Return the matrix of a table, cut or extended to `width` columns, and notes.

    `width` is the model's number of columns. A LIBSVM file may have fewer columns,
    because it does not store zeros. It may also have more columns.
    """
    X, here = table.matrix, table.matrix.shape[1]
    if here == width:
        return X, ()
    names = quoted_names(range(min(here, width), max(here, width)))
    if table.target is None:
        what = "missing" if here < width else "unknown"
        raise TableError(
            f"{table.name}: the columns are not those of the model; {what}: {names}"
        )
    X = X.copy()
    X.resize((X.shape[0], width))
    note = f"columns {names} are not in the model and were left out"
    return X, (note,) if here > width else ()


def _complete(
    matrix: Any, columns: Array, table: Table, missing: str, means: Array | None = None
) -> tuple[Any, Array, Array, tuple[str, ...]]:
    """Return columns (n, d) of a matrix in float64, without missing values.

    Also return the numbers of the rows (n,), the means (d,) with which missing values
    are filled, and notes. As in `Blocks`, `missing` is "error", "drop" or "mean".
    """
    n, width = matrix.shape
    X = (matrix if len(columns) == width else matrix[:, columns]).astype(np.float64)
    entries = X.tocoo()
    infinite, absent = np.isinf(X.data), np.isnan(X.data)
    if infinite.any():
        counts = counts_by_column(_count(columns[entries.col[infinite]]))
        raise TableError(
            f"{table.name}: infinite values: {counts} (first in "
            f"{row_text(int(entries.row[infinite][0]))}); replace them"
        )
    absences = _count(columns[entries.col[absent]])
    rows = np.setdiff1d(np.arange(n), entries.row[absent])
    notes = missing_notes(table, missing, absences, n, len(rows))
    if missing != "drop":
        rows = np.arange(n)
    if len(rows) < n:
        X = X[rows]
        absent = np.isnan(X.data)
    if means is None:  # means include zeros, but not missing values
        d = len(columns)
        sums = np.bincount(X.indices[~absent], X.data[~absent], minlength=d)
        there = X.shape[0] - np.bincount(X.indices[absent], minlength=d)
        means = sums / np.maximum(there, 1)
    X.data[absent] = means[X.indices[absent]]
    return X, rows, means, notes


def _count(columns: Array) -> Counter[str]:
    """Count how often each column number occurs, in the order of the columns."""
    return Counter(map(str, np.sort(columns)))
