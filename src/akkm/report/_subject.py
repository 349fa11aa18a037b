"""What is looked at: a fitted model, and rows that it has labels for."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from akkm.estimators import EnsembleKernelKMeans, NystroemSpectralClustering
from akkm.estimators._base import KernelClusterer
from akkm.kernels import Precomputed
from akkm.sources import Rows

Array = NDArray[Any]

# Rows whose clusters tell whether labels are theirs.
_ASKED = 1000


def checked_model(model: Any) -> Any:
    """A fitted estimator of akkm."""
    if not isinstance(model, KernelClusterer):
        raise TypeError(
            f"model is a {type(model).__name__}; expected a fitted estimator of akkm, "
            "such as ApproxKernelKMeans."
        )
    check_is_fitted(model)
    return model


def subject(model: Any, X: Any, *, new_rows: bool = False) -> tuple[Any, Rows]:
    """The model as if fitted to the rows X (n, d), which are checked.

    They are those of the fit, unless `new_rows`. New rows, and any rows for a model
    that was read from a file, get their labels here, unless the model has them already.
    """
    checked_model(model)
    # Of spectral clustering too: its own would embed the rows.
    X = KernelClusterer._new_rows(model, X)
    labels = getattr(model, "labels_", None)
    if labels is None or new_rows:
        if isinstance(model.kernel_, Precomputed):
            raise ValueError(
                "Rows that the model was not fitted to can't be looked at through a "
                "precomputed kernel; fit rows and a kernel function."
            )
        return _as_if_fitted(model, X), X
    if X.shape[0] != len(labels):
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but the model was fitted to {len(labels):,}; "
            "give the rows that it was fitted to, or say that they are new "
            "(akkm.report(..., new_rows=True))."
        )
    return model, X


def _as_if_fitted(model: Any, X: Rows) -> Any:
    """A copy with labels, agreement and embedding of the rows X (n, d)."""
    seen = copy.copy(model)
    names = seen.__dict__.pop("feature_names_in_", None)  # X has none any more
    if isinstance(seen, EnsembleKernelKMeans):
        if not _has_labels(seen, X):
            votes = seen._votes(X)
            seen.labels_, seen.agreement_ = votes.labels, votes.agreement
    elif not _has_labels(seen, X):
        seen.labels_ = seen.predict(X)
    if isinstance(seen, NystroemSpectralClustering):
        seen.embedding_ = seen._new_rows(X)
    if names is not None:
        seen.feature_names_in_ = names
    return seen


def _has_labels(model: Any, X: Rows) -> bool:
    """Whether the labels of a model are those of X, by what some of its rows say."""
    n = X.shape[0]
    if len(getattr(model, "labels_", ())) != n:
        return False
    some = np.unique(np.linspace(0, n - 1, _ASKED).astype(np.int64))
    return np.array_equal(model.predict(X[some]), model.labels_[some])
