"""What is looked at: a fitted model, and rows that it has labels for."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from akkm.core.strip import Rows
from akkm.estimators import (
    ConsensusKernelKMeans,
    DiffusionKernelKMeans,
    EnsembleKernelKMeans,
    NystroemSpectralClustering,
    SparseKernelKMeans,
)
from akkm.estimators._base import KernelClusterer
from akkm.kernels import Precomputed

Array = NDArray[Any]

# Methods whose members vote, and those that run k-means in a space of their own.
_VOTE = (EnsembleKernelKMeans, ConsensusKernelKMeans)
_EMBED = (NystroemSpectralClustering, SparseKernelKMeans, DiffusionKernelKMeans)
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
    if _lacks_embedding(model, X):
        model = copy.copy(model)
        model.embedding_ = _embedded(model, X)
    return model, X


def _as_if_fitted(model: Any, X: Rows) -> Any:
    """A copy with labels, agreement and embedding of the rows X (n, d)."""
    seen = copy.copy(model)
    bare = _nameless(model)
    if not _has_labels(bare, X):
        if isinstance(model, _VOTE):
            votes = bare._votes(X)
            seen.labels_, seen.agreement_ = votes.labels, votes.agreement
        else:
            seen.labels_ = bare.predict(X)
    if isinstance(model, _EMBED):
        seen.embedding_ = _embedded(model, X)
    return seen


def _nameless(model: Any) -> Any:
    """A copy that does not ask checked rows for the names of their columns."""
    bare = copy.copy(model)
    bare.__dict__.pop("feature_names_in_", None)
    return bare


def _embedded(model: Any, X: Rows) -> Array:
    """Rows (n, q) in the space in which a spectral method runs k-means."""
    embedding: Array = _nameless(model)._new_rows(X)
    return embedding


def _lacks_embedding(model: Any, X: Rows) -> bool:
    """Whether labels came back to a model that was read from a file, but no more."""
    there = len(getattr(model, "embedding_", ()))
    return isinstance(model, _EMBED) and there != X.shape[0]


def _has_labels(model: Any, X: Rows) -> bool:
    """Whether the labels of a model are those of X, by what some of its rows say."""
    n = X.shape[0]
    voted = isinstance(model, _VOTE)
    for name in ("labels_", "agreement_") if voted else ("labels_",):
        if len(getattr(model, name, ())) != n:
            return False
    some = np.unique(np.linspace(0, n - 1, _ASKED).astype(np.int64))
    return np.array_equal(model.predict(X[some]), model.labels_[some])
