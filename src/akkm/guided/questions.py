"""The rows whose classes would help most, if a user gave them."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from akkm.core.membership import certainty_of, own_and_other
from akkm.silence import ignore_warnings
from akkm.typing import Array

# Maximum number of rows that are considered.
_CANDIDATES = 20_000
# The weight of a row with certainty 1, if a row with certainty 0 has weight 1.
_LEAST = 0.1
# Maximum number of regions.
_MOST_REGIONS = 1_000


def candidate_rows(n: int, known: Array) -> Array:
    """Return the rows (c,), ascending, among which questions are chosen.

    These are at most 20,000 of n rows, and the rows `known` (k,), whose classes are
    known.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.guided.questions import candidate_rows
    >>> candidate_rows(3, np.array([1])).tolist()
    [0, 1, 2]
    """
    every = np.unique(np.linspace(0, n - 1, _CANDIDATES).astype(np.int64))
    return np.union1d(every, known)


def choose_questions(distances: Array, points: Array, n: int, known: Array) -> Array:
    """Choose rows that are typical of uncertain regions, spread over all rows.

    k-means divides the rows into regions. Uncertain rows have larger weights in
    k-means. There are as many regions as questions and known rows together. A region
    with a known row needs no question. In each other region, the row nearest to its
    center is chosen, because it is typical of many rows. Regions of large weight come
    first.

    Parameters
    ----------
    distances : array of shape (c, C)
        Distances of the candidate rows to the centers of the clusters.
    points : array of shape (c, q)
        Coordinates of the rows, for the division into regions.
    n : int
        Number of questions.
    known : int array of shape (k,)
        The candidates whose class is known already, as positions from 0 to c - 1.

    Returns
    -------
    int array of shape (n,)
        Positions among the candidates, the most useful first. There are fewer than n if
        fewer candidates have an unknown class.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.guided.questions import choose_questions
    >>> points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> distances = np.abs(points - [0.1, 5.1])
    >>> sorted(choose_questions(distances, points, 2, np.array([], dtype=int)).tolist())
    [1, 4]
    """
    own, other = own_and_other(distances.copy(), distances.argmin(axis=1))
    weights = 1 - (1 - _LEAST) * certainty_of(own, other)
    X = np.asarray(points, dtype=np.float64)
    is_known = np.zeros(len(X), dtype=bool)
    is_known[known] = True
    free = np.flatnonzero(~is_known)
    if len(free) <= n:
        return free[np.argsort(-weights[free], kind="stable")]
    regions = min(n + len(known), max(n, _MOST_REGIONS), len(X))
    with threadpool_limits(1, user_api="openmp"), ignore_warnings(ConvergenceWarning):
        found = KMeans(regions, n_init=1, random_state=0).fit(X, sample_weight=weights)
    label = found.labels_
    squared = ((X - found.cluster_centers_[label]) ** 2).sum(axis=1)
    total = np.bincount(label, weights, regions)
    total[label[is_known]] = -1
    order = free[np.lexsort((squared[free], -total[label[free]]))]
    # The first row of each region, in this order; then all other rows.
    _, first = np.unique(label[order], return_index=True)
    typical = order[np.sort(first)]
    rest = order[np.argsort(-weights[order], kind="stable")]
    chosen = list(dict.fromkeys([*typical[total[label[typical]] >= 0], *rest]))
    return np.array(chosen[:n])
