"""The model that is inspected, with labels and embedding of the given rows."""

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from akkm.core.threads import Threads
from akkm.estimators import (
    DiffusionKernelKMeans,
    KernelClusterer,
    NystroemSpectralClustering,
    SparseKernelKMeans,
)
from akkm.inspect._sample import sample_rows
from akkm.kernels import Precomputed
from akkm.rows import is_dask, is_rows
from akkm.typing import Array, RowsLike

# Methods that run k-means in an embedding of the rows.
_EMBEDDING = (NystroemSpectralClustering, SparseKernelKMeans, DiffusionKernelKMeans)
# Number of rows whose labels are predicted to check whether labels_ belong to the given
# rows.
_PREDICTED = 1000
# Maximum number of rows that are read from files or from the workers of Dask.
_READ = 20_000


def require_fitted(model: Any) -> None:
    """Raise an error unless the model is a fitted estimator of akkm."""
    if not isinstance(model, KernelClusterer):
        inner = isinstance(getattr(model, "estimator", None), KernelClusterer)
        hint = " Give its attribute `estimator`." if inner else ""
        raise TypeError(
            f"model is a {type(model).__name__}; expected a fitted estimator of akkm, "
            f"such as ApproxKernelKMeans.{hint}"
        )
    check_is_fitted(model)


class Sampled(NamedTuple):
    """Which rows a sample consists of."""

    rows: Array  # (s,) row numbers
    n: int  # number of rows from which they were drawn


def read_sample(
    model: Any, X: Any, *, new_rows: bool
) -> tuple[Any, RowsLike, Sampled | None]:
    """Read rows from files or Dask workers; if there are many, read only a sample.

    Returns the model, the rows in memory, and which rows were sampled (None if all rows
    were read). The sample has rows of every cluster if the labels are known. The
    returned model accepts rows without column names, because sampled rows have none.
    """
    if not is_dask(X) and not is_rows(X):
        return model, X, None
    stored = model._new_rows(X)
    if not is_rows(stored):
        return model._without_names(), stored, None
    n, labels = stored.shape[0], getattr(model, "labels_", ())
    if new_rows:
        size = min(n, _READ)
        rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    elif n != len(labels):
        raise _wrong_length(n, len(labels))
    else:
        rows = sample_rows(np.asarray(labels), _READ).rows
    sampled = Sampled(rows, n) if len(rows) < n else None
    return model._without_names(), stored.gather(rows), sampled


def given_sample(model: Any, rows: Any) -> Sampled:
    """Validate the row numbers (s,) of a sample that the caller drew."""
    rows = np.asarray(rows)
    n = len(getattr(model, "labels_", ()))
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
        raise ValueError(
            f"rows has shape {rows.shape} and dtype {rows.dtype}; expected the row "
            "numbers of a sample, (s,)."
        )
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(
            f"rows has numbers from {rows.min()} to {rows.max()}; labels_ has rows 0 "
            f"to {n - 1}."
        )
    return Sampled(rows, n)


def at_rows(model: Any, rows: Array) -> Any:
    """A copy of the model whose labels_ and agreement_ are those of some rows (s,)."""
    if isinstance(model.kernel_, Precomputed):
        raise ValueError(
            "A sample of the rows can't be inspected with a precomputed kernel; pass "
            "the whole kernel matrix."
        )
    few = copy.copy(model)
    for name in {"labels_", "agreement_"} & vars(model).keys():
        setattr(few, name, np.asarray(getattr(model, name))[rows])
    return few


def _wrong_length(n: int, n_labels: int) -> ValueError:
    return ValueError(
        f"X has {n:,} rows, but the model was fitted to {n_labels:,}; give the rows "
        "that it was fitted to, or pass new_rows=True."
    )


def finest_layer(model: Any) -> Any:
    """A copy of the estimator inside `ClusterLayers`; other models are returned as is.

    The estimator fitted the finest layer. The copy gets the labels, the limit of the
    certainty and the column names of the model.
    """
    if not hasattr(model, "estimator_"):
        return model
    finest = copy.copy(model.estimator_)
    if hasattr(model, "feature_names_in_"):
        finest.feature_names_in_ = model.feature_names_in_
    labels = getattr(model, "labels_", None)
    if labels is None:  # a model that was read from a file
        finest.__dict__.pop("labels_", None)
    else:
        finest.labels_ = labels
    finest.coverage, finest.certainty_limit_ = model.coverage, model.certainty_limit_
    return finest


def fitted_to(model: Any, X: Any, *, new_rows: bool) -> tuple[Any, RowsLike]:
    """A copy of the model with labels_ of the rows X (n, d), and the validated rows.

    Labels of new rows are predicted, unless the model already has them.
    """
    X = model._new_rows(X)
    X = X[:] if is_rows(X) else X  # float16 rows
    n = X.shape[0]
    if new_rows:
        if isinstance(model.kernel_, Precomputed):
            raise ValueError(
                "New rows can't be inspected with a precomputed kernel; fit a model "
                "with a kernel function instead."
            )
    elif n != len(model.labels_):
        raise _wrong_length(n, len(model.labels_))
    seen = copy.copy(model)
    # Validated rows have no column names, so predict with a model that expects none.
    nameless = model._without_names()
    if new_rows and not _has_labels_of(nameless, X):
        if hasattr(model, "_votes"):
            votes = nameless._votes(X)
            seen.labels_, seen.agreement_ = votes.labels, votes.agreement
        else:
            seen.labels_ = nameless.predict(X)
    # A model read from a file has no embedding, even if labels_ was set afterwards.
    stale = new_rows or len(getattr(model, "embedding_", ())) != n
    if isinstance(model, _EMBEDDING) and stale:
        with Threads(model.n_jobs) as engine:
            seen.embedding_ = nameless._embed(X, engine)
    return seen, X


def _has_labels_of(model: Any, X: RowsLike) -> bool:
    """Whether labels_ belong to the rows X, judged by predictions for some rows."""
    n = X.shape[0]
    needed = ("labels_", "agreement_") if hasattr(model, "_votes") else ("labels_",)
    if any(len(getattr(model, name, ())) != n for name in needed):
        return False
    rows = np.unique(np.linspace(0, n - 1, _PREDICTED).astype(np.int64))
    return np.array_equal(model.predict(X[rows]), model.labels_[rows])
