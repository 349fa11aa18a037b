"""Certainty and soft memberships, computed from distances to centers."""

import numpy as np
from scipy import sparse

from akkm.typing import Array

# Factor and power of the memberships. They were chosen so that memberships of diffusion
# fits are calibrated on seven data sets (`python -m experiments bench memberships`).
_FACTOR, _POWER = 4.5, 1.5
# With coverage="auto", certainties below this share of the median are too low.
_LOW = 1 / 3
# Certainties of n rows count as equal if they differ by at most _SAME / n.
_SAME = 0.01


def certainty_of(own: Array, other: Array) -> Array:
    """Return how certain labels are: (d2 - d1) / (d2 + d1), or 0 if this is negative.

    All methods use this formula, except that ensembles count votes. In a graph of
    neighbours, the result is multiplied by the share of walks that stay in the row's
    cluster (`diffusion.staying_walks`).

    Parameters
    ----------
    own : array of shape (n,)
        Distance d1 of each row to the center of its cluster.
    other : array of shape (n,)
        Distance d2 of each row to the nearest other center; inf if there is none.

    Returns
    -------
    float array of shape (n,)
        0 on the border between two clusters, and 1 at a center. It is 1 if there is no
        other center, and 0 if both distances are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import certainty_of
    >>> certainty_of(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, np.inf]))
    array([0.5, 0. , 1. ])
    """
    own, other = np.asarray(own, np.float64), np.asarray(other, np.float64)
    alone = np.isinf(other)
    total, gap = own + other, np.where(alone, 0.0, other) - own
    share = np.divide(gap, total, out=np.zeros_like(gap), where=total > 0)
    return np.where(alone, 1.0, share.clip(0))


def own_and_other(distances: Array, clusters: Array) -> tuple[Array, Array]:
    """Distances (n,) to the center of each row's cluster, and to the nearest other one.

    Parameters
    ----------
    distances : array of shape (n, C)
        Distances to the centers. This array is changed.
    clusters : int array of shape (n,)
        The cluster of each row.

    Returns
    -------
    own : array of shape (n,)
        Distance to the center of the row's cluster.
    other : array of shape (n,)
        Distance to the nearest other center; inf if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import own_and_other
    >>> own_and_other(np.array([[1.0, 3.0, 5.0], [2.0, 4.0, 9.0]]), np.array([0, 1]))
    (array([1., 4.]), array([3., 2.]))
    """
    rows = np.arange(len(distances))
    own = distances[rows, clusters].copy()
    distances[rows, clusters] = np.inf
    return own, distances.min(axis=1)


def certainty_limit(certainty: Array, coverage: float | str) -> float:
    """The certainty below which rows get no label.

    Parameters
    ----------
    certainty : float array of shape (n,)
        Certainties of the rows.
    coverage : float or "auto"
        Share of the rows that get a label. "auto" leaves out the rows with less than a
        third of the median certainty.

    Returns
    -------
    float
        The limit. It lies inside a gap between the certainties of two rows, so that
        rounding errors don't decide which rows reach it. The share of the rows that
        reach it differs from `coverage` by at most one row, or is larger if many rows
        have the same certainty.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import certainty_limit
    >>> certainty = np.array([0.9, 0.1, 0.5, 0.8])
    >>> round(certainty_limit(certainty, 0.75), 2), certainty_limit(certainty, 1.0)
    (0.3, 0.0)
    """
    ascending = np.sort(certainty)
    n = len(ascending)
    if coverage == "auto":
        n_left_out = int(np.searchsorted(ascending, _LOW * np.median(ascending)))
    else:
        n_left_out = n - max(1, round(float(coverage) * n))
    if n_left_out == 0:
        return 0.0
    gaps = np.diff(ascending, prepend=ascending[0])  # below each row
    near = np.arange(max(1, n_left_out - 1), min(n_left_out + 2, n))
    at = int(near[gaps[near].argmax()]) if len(near) else 0
    # Rows with equal certainties, up to rounding errors, stay together.
    while at and gaps[at] <= _SAME / n:
        at -= 1
    return float((ascending[at - 1] + ascending[at]) / 2) if at else 0.0


def most_certain(
    labels: Array, certainty: Array, n_clusters: int, top: int = 5
) -> list[Array]:
    """The most certain rows of each cluster.

    Parameters
    ----------
    labels : int array of shape (n,)
        The cluster of each row.
    certainty : float array of shape (n,)
        The certainty of each row.
    n_clusters : int
        Number of clusters.
    top : int, default=5
        Maximum number of rows of each cluster.

    Returns
    -------
    list of int arrays
        For each cluster, row numbers; the most certain row comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import most_certain
    >>> most_certain(np.array([0, 1, 0]), np.array([0.2, 0.5, 0.9]), 2)
    [array([2, 0]), array([1])]
    """
    order = np.argsort(-certainty, kind="stable")
    return [order[labels[order] == c][:top] for c in range(n_clusters)]


def memberships_of(distances: Array, top: int) -> sparse.csr_array:
    """Soft memberships (n, C) with at most `top` entries per row.

    Let d_c be the distances of a row to the centers, d_1 the smallest of them, and s
    the mean of d_c² over all centers. The membership in cluster c is proportional to
    exp(-(4.5 (d_c² - d_1²) / s)^1.5).

    Parameters
    ----------
    distances : array of shape (n, C)
        Distances to the centers.
    top : int
        Number of nearest centers that get a membership.

    Returns
    -------
    CSR array of shape (n, C)
        The memberships. Each row sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.core.membership import memberships_of
    >>> memberships_of(np.array([[1.0, 1.0, 9.0]]), top=2).toarray()
    array([[0.5, 0.5, 0. ]])
    """
    n, C = distances.shape
    p = min(top, C)
    columns = np.argsort(distances, axis=1, kind="stable")[:, :p]
    distances = distances.astype(np.float64)
    # Relative to the largest distance, so that no square overflows.
    scale = np.maximum(distances.max(axis=1, keepdims=True), 1e-300)
    squared = (distances / scale) ** 2
    mean = squared.mean(axis=1, keepdims=True)
    near = np.take_along_axis(squared, columns, axis=1)
    farther = (near - near[:, :1]) / np.maximum(mean, 1e-300)
    weights = np.exp(-((_FACTOR * farther) ** _POWER))
    weights /= weights.sum(axis=1, keepdims=True)
    return sparse.csr_array(
        (weights.ravel(), columns.ravel(), np.arange(n + 1) * p), shape=(n, C)
    )
