"""Sparse tables: SciPy's .npz and LIBSVM. These are read as a whole."""

from __future__ import annotations

import bz2
import gzip
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from akkm.tables._table import Column, Table, TableError

_FAILURES = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


class SparseTable(Table):
    """A CSR matrix; its columns are called "0", "1", ...

    In LIBSVM that is as they are written. Files that begin at 1 have no column 0.
    """

    def __init__(self, path: str, X: Any, target: NDArray[Any] | None = None):
        self.name = path
        if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
            raise TableError(
                f"{path}: expected a sparse matrix of numbers, found one of shape "
                f"{X.shape} and type {X.dtype}"
            )
        self.matrix = sparse.csr_array(X)
        self.matrix.sum_duplicates()
        self.target = target
        self.ragged = target is not None
        self.n_rows = X.shape[0]
        kind = str(X.dtype)
        first = int(self.ragged and X.shape[1] > 1 and not self.matrix[:, [0]].nnz)
        self.columns = tuple(
            Column(str(i), "number", kind) for i in range(first, X.shape[1])
        )

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, some at a time."""
        raise TableError(f"{self.name}: a sparse table is read through its matrix")


def open_sparse(path: str) -> Table:
    """What `scipy.sparse.save_npz` wrote."""
    try:
        X = sparse.csr_array(sparse.load_npz(path))
        X.check_format(full_check=True)
    except (*_FAILURES, AttributeError, TypeError, NotImplementedError) as error:
        raise _unreadable(path, "a sparse matrix of SciPy", error) from None
    return SparseTable(path, X)


def open_libsvm(path: str) -> Table:
    """A LIBSVM file: `label index:value index:value ...` in each line."""
    opener: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    extension = path[path.rfind(".") :].lower()
    try:
        with opener.get(extension, open)(path, "rb") as file:
            # Left to guess, files that begin at 0 and at 1 would differ by a column.
            X, y = load_svmlight_file(file, dtype=np.float64, zero_based=True)
    except _FAILURES as error:
        raise _unreadable(path, "LIBSVM (label index:value ...)", error) from None
    return SparseTable(path, X, y)


def _unreadable(path: str, what: str, error: Exception) -> TableError:
    reason = " ".join(str(error).split())[:200] or "it ends early"
    return TableError(f"{path}: can't be read as {what} ({reason})")
