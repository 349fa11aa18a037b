"""Sparse tables: which columns are used, their units, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from akkm.tables._blocks import counted, missing_error, missing_notes, no_rows_error
from akkm.tables._sheet import LARGEST
from akkm.tables._table import Table, TableError, brief

Array = NDArray[Any]


def learn(
    table: Table, names: list[str], scale: str, missing: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """How these columns are encoded, and what to say of missing values."""
    X = chosen(table.matrix, [int(name) for name in names])
    X, kept, counts = complete(X, names, table, missing)
    means = column_means(X)
    fill(X, means)
    low, high = (m.toarray().ravel() for m in (X.min(axis=0), X.max(axis=0)))
    largest = np.maximum(abs(low), abs(high))
    keep = np.flatnonzero(low < high)
    fitted = {
        "width": table.matrix.shape[1],
        "columns": np.array([int(names[i]) for i in keep], dtype=np.int64),
        "scale": np.ones(len(keep)) if scale == "none" else largest[keep],
        "mean": means[keep],
        "constant": [names[i] for i in np.flatnonzero(~(low < high))],
    }
    n = table.matrix.shape[0]
    return fitted, missing_notes(missing, counts, n, len(kept))


def encode(
    table: Table, fitted: dict[str, Any], names: list[str], missing: str
) -> tuple[Any, Any, Array, tuple[str, ...]]:
    """X (n, d), the matrix as wide as the model's, the rows used, and what to say."""
    wide, note = as_wide(table, fitted["width"])
    X = chosen(wide, fitted["columns"].tolist())
    X, kept, counts = complete(X, names, table, missing)
    fill(X, fitted["mean"])
    X.data /= fitted["scale"][X.indices]
    if X.nnz and abs(X.data).max() > LARGEST:
        raise TableError(f"{table.name}: numbers too large for single precision")
    notes = missing_notes(missing, counts, wide.shape[0], len(kept))
    return X.astype(np.float32), wide, kept, (*notes, *([note] if note else []))


def chosen(X: Any, columns: list[int]) -> Any:
    """These columns of a CSR matrix, in float64."""
    if columns != list(range(X.shape[1])):
        X = X[:, columns]
    return X.astype(np.float64)


def as_wide(table: Table, width: int) -> tuple[Any, str | None]:
    """The matrix of a table with as many columns as the model has; what to say of it.

    A LIBSVM file does not tell of columns that are zero at its end, and may have
    columns that the training rows did not have.
    """
    X = table.matrix
    here = X.shape[1]
    if here == width:
        return X, None
    if not table.ragged:
        names = brief(range(min(here, width), max(here, width)))
        what = "missing are" if here < width else "unknown are"
        raise TableError(f"{table.name}: not the columns of the model: {what} {names}")
    if here < width:
        parts = (X.data, X.indices, X.indptr)
        return sparse.csr_array(parts, shape=(X.shape[0], width)), None
    names = brief(range(width, here))
    return X[:, :width], f"columns {names} are not in the model and were left out"


def complete(
    X: Any, names: list[str], table: Table, missing: str
) -> tuple[Any, Array, Counter[str]]:
    """The rows of X that are used, their numbers (n,), and what is missing.

    As in `Blocks`, `missing` is "error", "drop" or "mean".
    """
    counts = _missing_entries(X, names, table)
    kept = np.arange(X.shape[0])
    if counts and missing == "error":
        raise missing_error(table, counts, X.shape[0])
    if counts and missing == "drop":
        kept = np.setdiff1d(kept, _rows_of(X, np.isnan(X.data)))
        if not len(kept):
            raise no_rows_error(table, counts, X.shape[0])
        X = X[kept]
    return X, kept, counts


def whole(values: Array) -> pa.Array:
    """Numbers, as integers if that is what they are."""
    if np.isfinite(values).all() and (values == np.floor(values)).all():
        return pa.array(values.astype(np.int64))
    return pa.array(values)


def _missing_entries(X: Any, names: list[str], table: Table) -> Counter[str]:
    """How many values are missing in each column; a `TableError` for infinite ones."""
    there = np.isinf(X.data)
    if there.any():
        first = table.place(int(_rows_of(X, there)[0]))
        raise TableError(
            f"{table.name}: infinite values: {counted(_count(X, there, names))} (first "
            f"in {first}); replace them"
        )
    return _count(X, np.isnan(X.data), names)


def column_means(X: Any) -> Array:
    """Means of the values that are not missing, zeros included: (d,)."""
    missing, d = np.isnan(X.data), X.shape[1]
    sums = np.bincount(X.indices[~missing], X.data[~missing], minlength=d)
    absent = np.bincount(X.indices[missing], minlength=d)
    return sums / np.maximum(X.shape[0] - absent, 1)


def fill(X: Any, means: Array) -> None:
    """Put means in the place of missing values."""
    missing = np.isnan(X.data)
    X.data[missing] = means[X.indices[missing]]


def _rows_of(X: Any, there: Array) -> Array:
    """The rows of some of the stored values."""
    return np.searchsorted(X.indptr, np.flatnonzero(there), side="right") - 1


def _count(X: Any, there: Array, names: list[str]) -> Counter[str]:
    counts = np.bincount(X.indices[there], minlength=len(names))
    return Counter({names[i]: int(counts[i]) for i in np.flatnonzero(counts)})
