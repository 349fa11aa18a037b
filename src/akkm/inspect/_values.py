"""Values of single rows in a few columns, before encoding if possible."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from akkm.inspect._columns import ColumnDifferences, readable_name
from akkm.typing import Array, RowsLike

# Function that takes row numbers (b,) and returns one dict of values per row.
Records = Callable[[Array], list[dict[str, Any]]]


@dataclass(frozen=True)
class RowValues:
    """Reads the values of single rows in a few columns.

    Parameters
    ----------
    names : tuple of str
        Names of the f columns.
    original : bool
        Whether values are those before encoding and scaling.
    of : callable
        Function that takes row numbers of shape (b,) and returns b lists of f values.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> found = Inspection(model, X, feature_names=["age"]).row_values()
    >>> found.names, [float(value) for value in found.of([2])[0]]
    (('age',), [10.0])
    """

    names: tuple[str, ...]
    original: bool
    of: Callable[[Array], list[list[Any]]]


def encoded_values(X: RowsLike, found: ColumnDifferences, n_columns: int) -> RowValues:
    """Values in the columns of X that differ most between clusters."""
    columns = found.columns[:n_columns]

    def values(rows: Array) -> list[list[Any]]:
        block = X[rows][:, columns]
        block = block.toarray() if sparse.issparse(block) else np.asarray(block)
        return [list(row) for row in block]

    return RowValues(found.names[:n_columns], False, values)


def original_values(
    records: Records, found: ColumnDifferences, n_columns: int
) -> RowValues:
    """Values in the original columns, from which the columns in `found` were made."""
    available = [str(name) for name in records(np.arange(1))[0]]
    names = _original_columns(found.names, available)[:n_columns]

    def values(rows: Array) -> list[list[Any]]:
        named = ({str(k): v for k, v in record.items()} for record in records(rows))
        return [[record.get(name) for name in names] for record in named]

    return RowValues(tuple(map(readable_name, names)), True, values)


def encoded_columns(
    X: RowsLike, rows: Array, found: ColumnDifferences, n_columns: int
) -> dict[str, Any]:
    """Values (b,) of rows in the columns of X that differ most between clusters."""
    block = X[rows][:, found.columns[:n_columns]]
    block = block.toarray() if sparse.issparse(block) else np.asarray(block)
    return dict(zip(found.names[:n_columns], block.T, strict=True))


def columns_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Values (b,) of rows in each column; None where a row lacks the column."""
    names = {str(name): name for record in records[:1] for name in record}
    return {text: [r.get(name) for r in records] for text, name in names.items()}


def texts_of(texts: Mapping[str, Any], rows: Array) -> dict[str, list[Any]]:
    """Values (b,) of rows in columns of text; a column has a method `take`."""
    found = {name: column.take(rows) for name, column in texts.items()}
    return {
        name: column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        for name, column in found.items()
    }


def with_texts(
    records: list[dict[str, Any]], texts: Mapping[str, Any], rows: Array
) -> list[dict[str, Any]]:
    """Add columns of text to one dict per row (b,)."""
    columns = texts_of(texts, rows)
    return [
        {**record, **{name: column[i] for name, column in columns.items()}}
        for i, record in enumerate(records)
    ]


def most_different(
    columns: dict[str, Any], found: ColumnDifferences, n_columns: int
) -> dict[str, Any]:
    """The columns that differ most between clusters, most different first."""
    names = _original_columns(found.names, list(columns))[:n_columns]
    return {readable_name(name): columns[name] for name in names}


def _original_columns(encoded: Sequence[str], columns: list[str]) -> list[str]:
    """All original columns; first those from which the encoded columns were made."""
    original = {readable_name(column): column for column in columns}
    found: dict[str, None] = {}
    for name in encoded:
        # "town=Ulm" was made from "town", and scikit-learn's "num__age" from "age".
        exact = [c for c in (name, name.partition("=")[0]) if c in original]
        inside = [c for c in original if _contains_word(name, c)]
        if exact or inside:
            found.setdefault(original[exact[0] if exact else max(inside, key=len)])
    return [*found, *(column for column in columns if column not in found)]


def _contains_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text) is not None


def records_of(X: Any, columns: list[str] | None) -> Records:
    """A function that returns rows of an array, sparse matrix or data frame as dicts.

    X may also be a list, a 1-D array or a Series, for example of texts. Then each row
    has one value.
    """

    def records(rows: Array) -> list[dict[str, Any]]:
        block = _safe_indexing(X, rows)
        if hasattr(block, "to_dicts"):  # polars
            return list(block.to_dicts())
        if hasattr(block, "iloc"):  # pandas
            block = block.to_numpy(dtype=object)
        block = block.toarray() if sparse.issparse(block) else np.asarray(block)
        if block.ndim == 1:
            name = columns[0] if columns else getattr(X, "name", None) or "text"
            return [{str(name): value} for value in block.tolist()]
        names = columns or [f"column {j}" for j in range(block.shape[1])]
        return [dict(zip(names, row, strict=True)) for row in block.tolist()]

    return records
