"""A sample that contains rows of every cluster."""

from dataclasses import dataclass

import numpy as np

from akkm.typing import Array


@dataclass(frozen=True)
class RowSample:
    """Rows sampled from each cluster separately.

    Parameters
    ----------
    rows : int array of shape (s,)
        Row numbers in ascending order.
    weights : float array of shape (s,)
        How many rows of its cluster each sampled row represents.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import sample_rows
    >>> sample_rows(np.zeros(1000, dtype=int), 4).weights
    array([250., 250., 250., 250.])
    """

    rows: Array
    weights: Array


def sample_rows(labels: Array, n_rows: int, *, n_per_cluster: int = 20) -> RowSample:
    """Sample rows so that every cluster is represented.

    First, `n_per_cluster` rows are drawn from each cluster. More rows are then drawn
    from the clusters in proportion to the number of rows that each has left. The same
    labels always give the same sample.

    Parameters
    ----------
    labels : int array of shape (n,)
        Cluster of each row. Outliers, with label -1, are not sampled.
    n_rows : int
        Size of the sample; if there are fewer rows than this, all are taken.
    n_per_cluster : int, default=20
        Minimum number of rows of each cluster. Clusters with fewer rows are taken
        whole. The minimum is lowered if `n_rows` is too small for all clusters.

    Returns
    -------
    RowSample
        The sampled rows and their weights, which sum to the number of rows in
        clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import sample_rows
    >>> sample = sample_rows(np.repeat([0, 1], [990, 10]), 100, n_per_cluster=5)
    >>> len(sample.rows), sample.weights.sum().round()
    (100, np.float64(1000.0))
    """
    inside = np.flatnonzero(labels >= 0)
    if len(inside) < len(labels):
        inner = sample_rows(labels[inside], n_rows, n_per_cluster=n_per_cluster)
        return RowSample(inside[inner.rows], inner.weights)
    n = len(labels)
    if n <= n_rows:
        return RowSample(np.arange(n), np.ones(n))
    sizes = np.bincount(labels)
    n_per_cluster = min(n_per_cluster, n_rows // int(np.count_nonzero(sizes)))
    first = np.minimum(sizes, n_per_cluster)
    rest = sizes - first
    quota = first + rest * (n_rows - first.sum()) // rest.sum()
    # Rounding down makes the sample a few rows too small. The missing rows come from
    # the clusters with most rows left.
    largest = np.argsort(-(sizes - quota), kind="stable")[: n_rows - quota.sum()]
    quota[largest] += quota[largest] < sizes[largest]
    rng = np.random.default_rng(0)
    by_cluster = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    rows = np.concatenate(
        [
            rng.choice(members, size, replace=False)
            for members, size in zip(by_cluster, quota, strict=True)
            if size
        ]
    )
    rows.sort()
    return RowSample(rows, (sizes / quota.clip(1))[labels[rows]])
