"""Comparison of two clusterings of the same rows: what split, merged and moved."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from akkm.metrics import adjusted_rand_index, nmi
from akkm.typing import Array

# Cluster j of the second fit continues cluster i of the first if they share more than
# this part of the rows of i or of the rows of j.
_MOST = 0.5


@dataclass(frozen=True)
class ClusterChange:
    """What became of one cluster of the first fit, or where a new cluster comes from.

    Parameters
    ----------
    cluster : str
        Name of the cluster.
    kind : {"same", "changed", "split", "merged", "dissolved", "new"}
        "same": the cluster has the same rows. "changed": it lost or got some rows.
        "split": several clusters of the second fit get most of their rows from it.
        "merged": most of its rows are now in one cluster, with most rows of another
        cluster. "dissolved": no cluster of the second fit continues it. "new": it is a
        cluster of the second fit, and continues no cluster of the first fit.
    size : int
        Number of rows of the cluster.
    targets : tuple of str
        Clusters of the second fit that continue it. If it dissolved, all clusters that
        have its rows. For a new cluster, the clusters that its rows come from.
    counts : tuple of int
        Number of its rows in each of these clusters.
    others : tuple of str
        The clusters that it merged with.
    n_left, n_joined : int
        `n_left` is the number of its rows that are in no target. `n_joined` is the
        number of rows that joined the targets from other clusters. Rows that a target
        got from a cluster that it also continues do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import compare_fits
    >>> found = compare_fits(np.array([0, 0, 0, 0, 1]), np.array([0, 0, 2, 2, 1]))
    >>> found.changes[0].kind, found.changes[0].targets
    ('split', ('0', '2'))
    """

    cluster: str
    kind: Literal["same", "changed", "split", "merged", "dissolved", "new"]
    size: int
    targets: tuple[str, ...]
    counts: tuple[int, ...]
    others: tuple[str, ...] = ()
    n_left: int = 0
    n_joined: int = 0


@dataclass(frozen=True, eq=False)
class FitComparison:
    """Two clusterings of the same rows, compared.

    Parameters
    ----------
    first, second : tuple of str
        Names of the clusters of each fit.
    table : int array of shape (n_first, n_second)
        Number of rows in each pair of clusters.
    nmi, ari : float
        Normalised mutual information and adjusted Rand index.
    changes : tuple of ClusterChange
        What became of each cluster of the first fit.
    new : tuple of ClusterChange
        Clusters of the second fit that continue no cluster of the first.
    moved : bool array of shape (n,)
        Whether a row moved: its cluster in the second fit does not continue its cluster
        in the first fit.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import compare_fits
    >>> found = compare_fits(np.array([0, 0, 0, 1, 1]), np.array([5, 5, 7, 7, 7]))
    >>> found.moved
    array([False, False,  True, False, False])
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    table: Array
    nmi: float
    ari: float
    changes: tuple[ClusterChange, ...]
    new: tuple[ClusterChange, ...]
    moved: Array


def compare_fits(first: Any, second: Any) -> FitComparison:
    """Compare two clusterings of the same rows, cluster by cluster.

    Cluster numbers have no meaning: only the rows are compared.

    Parameters
    ----------
    first, second : arrays of shape (n,)
        The cluster of each row in the two fits, as numbers or names.

    Returns
    -------
    FitComparison
        What became of each cluster, and which rows moved.

    Raises
    ------
    ValueError
        If the lengths differ or are zero.

    Notes
    -----
    Cluster j of the second fit continues cluster i of the first if more than half of
    the rows of i are in j, or more than half of the rows of j come from i.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.inspect import compare_fits
    >>> found = compare_fits(np.array([0, 0, 1, 1, 2]), np.array([4, 4, 4, 4, 6]))
    >>> [(change.cluster, change.kind) for change in found.changes]
    [('0', 'merged'), ('1', 'merged'), ('2', 'same')]
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(
            f"first has {len(first)} labels, but second has {len(second)}; give the "
            "clusters of the same rows in the same order."
        )
    names, left = _codes(first)
    other_names, right = _codes(second)
    table = np.zeros((len(names), len(other_names)), dtype=np.int64)
    np.add.at(table, (left, right), 1)
    sizes, other_sizes = table.sum(axis=1), table.sum(axis=0)
    forward = table > _MOST * sizes[:, None]
    backward = table > _MOST * other_sizes
    continues = forward | backward
    changes = tuple(
        _change(i, table, forward, backward, names, other_names)
        for i in range(len(names))
    )
    new = tuple(
        ClusterChange(
            other_names[j], "new", int(other_sizes[j]), *_parts(table[:, j], names)
        )
        for j in np.flatnonzero(~continues.any(axis=0))
    )
    return FitComparison(
        names,
        other_names,
        table,
        nmi(left, right),
        adjusted_rand_index(left, right),
        changes,
        new,
        ~continues[left, right],
    )


def _change(
    i: int,
    table: Array,
    forward: Array,
    backward: Array,
    names: tuple[str, ...],
    other_names: tuple[str, ...],
) -> ClusterChange:
    """What became of cluster i."""
    continues = forward | backward
    row, size = table[i], int(table[i].sum())
    targets = np.flatnonzero(continues[i])
    if not len(targets):
        return ClusterChange(names[i], "dissolved", size, *_parts(row, other_names))
    # Rows that came to the targets from clusters that the targets do not continue.
    joined = int(np.where(continues[:, targets], 0, table[:, targets]).sum())
    left = size - int(row[targets].sum())
    others: tuple[str, ...] = ()
    kind: Any = "changed" if left or joined else "same"
    if backward[i].sum() > 1:
        kind = "split"
    elif forward[i].any():
        j = int(forward[i].argmax())
        with_others = np.flatnonzero(forward[:, j] & (np.arange(len(names)) != i))
        if len(with_others):
            kind, others = "merged", tuple(names[k] for k in with_others)
    shown, counts = _parts(np.where(continues[i], row, 0), other_names)
    return ClusterChange(names[i], kind, size, shown, counts, others, left, joined)


def _parts(
    row: Array, names: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and counts of the clusters that have rows, the largest count first."""
    order = [int(j) for j in np.argsort(-row, kind="stable") if row[j]]
    return tuple(names[j] for j in order), tuple(int(row[j]) for j in order)


def _codes(labels: Any) -> tuple[tuple[str, ...], Array]:
    """Names of the clusters in ascending order, and the cluster of each row (n,)."""
    values, codes = np.unique(np.asarray(labels), return_inverse=True)
    return tuple(str(value) for value in values.tolist()), codes
