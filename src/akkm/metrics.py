"""Measures of a clustering, as in the paper.

This module contains functions of labels, or of rows and labels. Facts about a fitted
model are in `akkm.inspect`.
"""

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import entr
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from akkm.core.products import KernelProduct
from akkm.core.threads import Threads
from akkm.kernels import KernelSettings
from akkm.typing import Array
from akkm.validation import validate_rows

__all__ = [
    "adjusted_rand_index",
    "clustering_error",
    "error_reduction",
    "nmi",
    "nmi_from_counts",
]


def __dir__() -> list[str]:
    """Public names only; otherwise, imported names would be listed."""
    return __all__


def error_reduction(initial: float, final: float) -> float:
    """Relative decrease of the clustering error: (initial - final) / initial.

    Parameters
    ----------
    initial : float
        The clustering error (`inertia_` or `clustering_error`) of the initial labels.
    final : float
        The clustering error of the final labels.

    Returns
    -------
    float
        The error reduction. It is 1 if the final error is 0.

    Examples
    --------
    >>> from akkm.metrics import error_reduction
    >>> error_reduction(200.0, 150.0)
    0.25
    """
    if not initial > 0:
        raise ValueError(
            f"initial={initial} is not valid; expected a positive clustering error."
        )
    return (initial - final) / initial


def nmi(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Normalised mutual information: I(a, b) / sqrt(H(a) H(b)), as in the paper.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        One labeling of the rows. Labels may be of any type.
    labels_pred : array-like of shape (n,)
        Another labeling of the same rows.

    Returns
    -------
    float
        The score: from 0 for independent labelings to 1 for equal partitions.

    Examples
    --------
    >>> from akkm.metrics import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8165
    """
    first, second = column_or_1d(labels_true), column_or_1d(labels_pred)
    check_consistent_length(first, second)
    if not len(first):
        return 1.0
    return nmi_from_counts(contingency_matrix(first, second, sparse=True))


def nmi_from_counts(counts: Any) -> float:
    """Normalised mutual information of two labelings, from their contingency table.

    Parameters
    ----------
    counts : array or sparse matrix of shape (C_a, C_b)
        The number, or total weight, of the rows in each pair of clusters.

    Returns
    -------
    float
        The value that `nmi` returns for the two labelings.

    Notes
    -----
    The value is I(a, b) / sqrt(H(a) H(b)), where H is the entropy and
    I(a, b) = H(a) + H(b) - H(a, b).

    Examples
    --------
    >>> from akkm.metrics import nmi_from_counts
    >>> round(nmi_from_counts([[2, 0, 0], [0, 1, 1]]), 4)
    0.8165
    """
    table = sparse.coo_array(counts)
    a, b = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    if a == b == 0:
        return 1.0  # both labelings have one cluster; scikit-learn also returns 1
    information = a + b - _entropy(table.data)
    if information <= np.finfo(float).eps:
        return 0.0
    return min(1.0, float(information / np.sqrt(a * b)))


def _entropy(counts: Array) -> float:
    """Entropy of a distribution given by counts; exactly 0 for a single cluster."""
    if np.count_nonzero(counts) == 1:
        return 0.0
    return float(entr(counts / counts.sum()).sum())


def adjusted_rand_index(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Rand index adjusted for chance.

    Parameters
    ----------
    labels_true : array-like of shape (n,)
        One labeling of the rows. Labels may be of any type.
    labels_pred : array-like of shape (n,)
        Another labeling of the same rows.

    Returns
    -------
    float
        The index: 1 for equal partitions, near 0 for independent labelings.

    Examples
    --------
    >>> from akkm.metrics import adjusted_rand_index
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return float(adjusted_rand_score(labels_true, labels_pred))


def clustering_error(
    X: Any,
    labels: ArrayLike,
    kernel: Any = "rbf",
    *,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    **kernel_settings: Unpack[KernelSettings],
) -> float:
    """Exact kernel k-means error of any labels under any kernel.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows, or the square kernel matrix for `kernel="precomputed"`.
    labels : array of shape (n,)
        Labels of any type; each distinct value is a cluster.
    kernel : str, Kernel or callable, default="rbf"
        The kernel, as in `akkm.ApproxKernelKMeans`. To use the kernel of a fitted
        model, pass its `kernel_`: the gamma rules "median" and "neighbors" would draw
        another sample here.
    sample_weight : array of shape (n,), optional
        The weight of each row; one by default.
    n_jobs : int, optional
        The number of threads; all by default.
    **kernel_settings : KernelSettings
        `gamma`, `degree`, `coef0` and `kernel_params`, as in `akkm.kernels.resolve`.

    Returns
    -------
    float
        The sum of squared distances of the rows to the means of their clusters.

    Notes
    -----
    The error is tr(K) - tr(Ũ K Ũᵀ) (the paper's eq. 2), where the rows of Ũ are the
    indicator vectors of the clusters, scaled to unit length. The kernel values of all
    pairs of rows with the same label are computed, in tiles and in float64, with O(n)
    memory.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.metrics import clustering_error
    >>> X = np.array([[0.0], [2.0], [10.0]])
    >>> clustering_error(X, [0, 0, 1], "linear")  # 1² + 1²
    2.0
    """
    X, kernel = validate_rows(X, kernel, **kernel_settings)
    labels = np.asarray(labels)
    w = np.ones(X.shape[0])
    if sample_weight is not None:
        w = np.asarray(sample_weight, dtype=np.float64)
    check_consistent_length(X, labels, w)
    total = float(w @ kernel.diag(X))
    with Threads(n_jobs) as engine:
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            weight = w[rows].sum()
            if weight > 0:
                product = KernelProduct(
                    kernel, kernel.select(X, rows), w[rows, None], np.float64
                )
                similarity = np.zeros((len(rows), 1))
                product.add_to(similarity, X[rows], np.arange(len(rows)), engine)
                total -= float(w[rows] @ similarity[:, 0]) / weight
    return float(total)
