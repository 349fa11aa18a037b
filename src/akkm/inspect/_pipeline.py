"""A scikit-learn pipeline that ends in an estimator of akkm."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

Array = NDArray[Any]
# Rows by their numbers (b,): a dict name -> value each.
Records = Callable[[Array], list[dict[str, Any]]]


@dataclass(frozen=True)
class Unwrapped:
    """The last step, and what the steps before make of the rows."""

    model: Any
    X: Any  # (n, d) as clustered
    feature_names: Sequence[str] | None  # (d,)
    records: Records  # rows as they were given


def unwrap(
    pipeline: Pipeline, X: Any, feature_names: Sequence[str] | None
) -> Unwrapped:
    """Take a fitted pipeline apart; `feature_names` are of the columns of X."""
    check_is_fitted(pipeline)
    before, model = pipeline[:-1], pipeline[-1]
    rows = before.transform(X) if len(before.steps) else X
    given = getattr(X, "columns", None)
    if given is None:
        given = feature_names
    columns = None if given is None else [str(name) for name in given]
    names = columns
    if len(before.steps):
        names = _names_after(before, columns)
    return Unwrapped(model, rows, names, lambda which: _records(X, which, columns))


def _names_after(before: Pipeline, columns: list[str] | None) -> list[str] | None:
    """Names of the columns after some steps; None if these do not tell."""
    try:
        names = before.get_feature_names_out(columns)
    except (AttributeError, ValueError):
        return None
    if columns is not None:
        return [str(name) for name in names]
    # scikit-learn calls columns without names x0, x1 and so on.
    return [re.sub(r"(^|__)x(\d+)(?=$|_)", r"\1column \2", str(name)) for name in names]


def _records(X: Any, rows: Array, columns: list[str] | None) -> list[dict[str, Any]]:
    """Rows of an array, a sparse matrix or a data frame as dicts."""
    some = _safe_indexing(X, rows)
    if hasattr(some, "to_dicts"):  # polars
        return list(some.to_dicts())
    if hasattr(some, "iloc"):
        some = some.to_numpy(dtype=object)
    some = some.toarray() if sparse.issparse(some) else np.asarray(some)
    if columns is None:
        columns = [f"column {j}" for j in range(some.shape[1])]
    return [dict(zip(columns, row, strict=True)) for row in some.tolist()]
