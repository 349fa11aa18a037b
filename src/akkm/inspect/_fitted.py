"""The model that is inspected, with labels and embedding of the given rows."""

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from akkm.core.threads import Threads
from akkm.estimators import (
    DiffusionKernelKMeans,
    KernelClusterer,
    NystroemSpectralClustering,
    SparseKernelKMeans,
)
from akkm.kernels import Precomputed
from akkm.typing import RowsLike

# Methods that run k-means in an embedding of the rows.
_EMBEDDING = (NystroemSpectralClustering, SparseKernelKMeans, DiffusionKernelKMeans)
# Number of rows predicted to check whether labels_ belong to the given rows.
_PREDICTED = 1000


def require_fitted(model: Any) -> None:
    """Raise an error unless the model is a fitted estimator of akkm."""
    if not isinstance(model, KernelClusterer):
        raise TypeError(
            f"model is a {type(model).__name__}; expected a fitted estimator of akkm, "
            "such as ApproxKernelKMeans."
        )
    check_is_fitted(model)


def fitted_to(model: Any, X: Any, *, new_rows: bool) -> tuple[Any, RowsLike]:
    """A copy of the model with labels_ of the rows X (n, d), and the validated rows.

    Labels of new rows are predicted, unless the model already has them.
    """
    X = model._new_rows(X)
    n = X.shape[0]
    if new_rows:
        if isinstance(model.kernel_, Precomputed):
            raise ValueError(
                "New rows can't be inspected with a precomputed kernel; fit a model "
                "with a kernel function instead."
            )
    elif n != len(model.labels_):
        raise ValueError(
            f"X has {n:,} rows, but the model was fitted to {len(model.labels_):,}; "
            "give the rows that it was fitted to, or pass new_rows=True."
        )
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
