"""Checks of rows, landmarks and initial labels, in addition to scikit-learn's."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import validate_data

from akkm.kernels import Kernel, Precomputed, PrecomputedStrip, narrow_indices
from akkm.rows import Rows, as_rows
from akkm.typing import Array, RowsLike

# Number of float16 rows that are converted at a time to check whether they are finite.
_CHECK_ROWS = 4096


def require_enough_rows(n: int, n_clusters: int, weights: Array | None) -> None:
    """Raise ValueError if there are fewer rows of positive weight than clusters."""
    if n < n_clusters:
        raise ValueError(
            f"n_samples={n} should be >= n_clusters={n_clusters}; lower n_clusters."
        )
    if weights is not None and (count := int((weights > 0).sum())) < n_clusters:
        raise ValueError(
            f"Only {count} of n_samples={n} rows have a positive sample_weight, fewer "
            f"than n_clusters={n_clusters}; lower n_clusters."
        )


def allowed_by(kernel: Kernel, X: RowsLike) -> RowsLike:
    """Return the rows if the kernel accepts them; else raise ValueError.

    Rows in files and on workers are checked when they are read.
    """
    checked = as_rows(X).checked_by(kernel.check)
    return X if checked.in_memory else checked


def require_stored_rows_fit(estimator: Any, X: Rows, reset: bool) -> None:
    """Raise an error if the estimator can't use rows in files or on workers.

    With `reset`, set the estimator's number and names of columns from X. Without it,
    check that X has the columns of the fit.
    """
    name = type(estimator).__name__
    if not estimator._takes_stored:
        raise TypeError(
            f"{name} got {X}, but needs its rows in memory; use ApproxKernelKMeans or "
            "DiffusionKernelKMeans, or pass rows[:] to read them all."
        )
    if estimator._is_precomputed():
        raise ValueError(
            f"Got {X}; kernel='precomputed' needs the kernel matrix in memory."
        )
    if reset:
        estimator.n_features_in_ = X.shape[1]
        if X.names is not None:
            estimator.feature_names_in_ = np.array(X.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    require_columns(estimator, X.shape[1], X.names)


def validated_array(estimator: Any, X: Any, reset: bool) -> RowsLike:
    """Return valid rows in memory: an array, a CSR matrix, or float16 rows as `Rows`.

    The arguments are those of scikit-learn's `validate_data`. If the estimator takes
    rows in files, float16 rows are not copied: blocks of them are converted to float32
    when they are read. Other estimators get a float32 copy.
    """
    half = isinstance(X, np.ndarray) and X.dtype == np.float16
    precomputed = estimator._is_precomputed()
    if half and estimator._takes_stored and not precomputed:
        X = validate_data(
            estimator, X, reset=reset, dtype=np.float16, ensure_all_finite=False
        )
        rows, name = as_rows(X), type(estimator).__name__
        for block in rows.map_blocks(lambda block, _: block, block_rows=_CHECK_ROWS):
            assert_all_finite(block, estimator_name=name, input_name="X")
        return rows
    return narrow_indices(
        validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=False if precomputed else "csr",
            dtype=np.float32 if half else [np.float64, np.float32],
        )
    )


def require_columns(
    estimator: Any, n_columns: int, names: tuple[str, ...] | None
) -> None:
    """Raise ValueError unless the columns are those of the fit, in the same order."""
    model = type(estimator).__name__
    if n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_columns} features, but {model} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        raise ValueError(
            f"X has the columns {', '.join(names)}; {model} was fitted to "
            f"{', '.join(known)}. Select the columns of the fit, in the same order "
            "(for files: open_rows(columns=...))."
        )


def precomputed(X: RowsLike, landmarks: Any) -> Kernel:
    """Return the kernel for precomputed values X, a square matrix or a strip."""
    n, columns = X.shape
    if not isinstance(landmarks, str) and n != columns:
        given = np.asarray(landmarks)
        if given.ndim == 1 and len(given) == columns:
            strip = PrecomputedStrip()
            strip.check_matrix(X[landmark_array(given, X, strip, 1)])
            return strip
        raise ValueError(
            f"The precomputed kernel has shape {X.shape} and landmarks has shape "
            f"{given.shape}; for an n x m strip, landmarks must contain the row index "
            "of each of the m columns."
        )
    kernel = Precomputed()
    kernel.check_matrix(X)
    return kernel


def landmark_array(
    landmarks: Any, X: RowsLike, kernel: Kernel, n_clusters: int
) -> RowsLike:
    """Return valid landmarks: row indices (m,) or points (m, d)."""
    if not sparse.issparse(landmarks):
        landmarks = np.asarray(landmarks)
    m = landmarks.shape[0] if landmarks.ndim else 0
    if m < n_clusters:
        raise ValueError(
            f"{m} landmarks are fewer than n_clusters={n_clusters}; give more."
        )
    n = X.shape[0]
    if landmarks.ndim == 1:
        if landmarks.dtype.kind not in "iu":
            raise ValueError(
                f"landmarks is an array of {landmarks.dtype} with shape "
                f"{landmarks.shape}; expected integer row indices (m,) or points "
                "(m, d)."
            )
        if landmarks.min() < 0 or landmarks.max() >= n:
            raise ValueError(
                f"landmarks has row indices from {landmarks.min()} to "
                f"{landmarks.max()}; X has rows 0 to {n - 1}."
            )
        if len(np.unique(landmarks)) < m:
            raise ValueError("landmarks has repeated row indices; give distinct ones.")
        return landmarks.astype(np.intp)
    if isinstance(kernel, Precomputed):
        raise ValueError(
            f"landmarks has shape {landmarks.shape}; with a precomputed kernel, give "
            "row indices instead of points."
        )
    points = check_array(
        landmarks, accept_sparse="csr", dtype=X.dtype, input_name="landmarks"
    )
    if points.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmarks has {points.shape[1]} columns, X has {X.shape[1]}; both need "
            "the same columns."
        )
    kernel.check(points)
    if sparse.issparse(X):
        return sparse.csr_array(points)
    return points.toarray() if sparse.issparse(points) else points


def initial_labels(init: Any, n: int, n_clusters: int) -> Array:
    """Return valid initial labels (n,) from 0 to C - 1."""
    labels = np.asarray(init)
    if labels.shape != (n,):
        raise ValueError(
            f"init has shape {labels.shape}; expected one label for each of the "
            f"n_samples={n} rows, 'k-means++' or 'random'."
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"init has dtype {labels.dtype}; labels must be integers.")
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise ValueError(
            f"init has labels from {labels.min()} to {labels.max()}; expected 0 to "
            f"n_clusters - 1 = {n_clusters - 1}."
        )
    return labels
