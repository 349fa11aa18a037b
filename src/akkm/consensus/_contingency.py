"""The number of rows that clusters of different members share."""

from dataclasses import dataclass
from itertools import combinations
from math import isqrt, prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from akkm.consensus._labelings import Labeling, smallest_dtype
from akkm.metrics import nmi_from_counts
from akkm.typing import Array

# The maximum number of bins of a table is the number of rows, within these limits.
# Counting into many more bins than rows would be slower. The upper limit lets tables
# fit into the processor's cache.
_FEWEST_BINS, _MOST_BINS = 2**12, 2**20
# Number of rows that are counted at a time.
_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class Group:
    """Members that are counted together: their codes are the digits of one number."""

    shape: tuple[int, ...]  # number of clusters of each member
    codes: Array  # (n,) below the product of `shape`

    @property
    def size(self) -> int:
        """The number of possible codes."""
        return prod(self.shape)

    @property
    def clusters(self) -> Any:
        """The clusters of each code: a sparse indicator matrix (size, sum of shape).

        Counts per code times this matrix are counts per cluster.
        """
        first = np.cumsum([0, *self.shape[:-1]])
        columns = np.transpose(np.unravel_index(np.arange(self.size), self.shape))
        starts = np.arange(self.size + 1) * len(self.shape)
        return csr_array(
            (np.ones(columns.size), (columns + first).ravel(), starts),
            (self.size, sum(self.shape)),
        )


def fuse(labelings: list[Labeling]) -> list[Group]:
    """Put members into groups that are counted together.

    One table counts the pairs of codes that two groups give to the rows. For two groups
    of two members each, it contains the counts of all pairs of the four members. Groups
    grow as long as the table has at most the maximum number of bins.
    """
    n = len(labelings[0].codes)
    most = isqrt(min(max(n, _FEWEST_BINS), _MOST_BINS))
    groups: list[Group] = []
    for labeling in labelings:
        new = Group((len(labeling.values),), labeling.codes)
        if groups and groups[-1].size * new.size <= most:
            last = groups.pop()
            codes = last.codes.astype(smallest_dtype(last.size * new.size)) * new.size
            new = Group(last.shape + new.shape, codes + new.codes)
        groups.append(new)
    return groups


def contingency(groups: list[Group], weights: Array | None) -> Array:
    """The weight of the rows that any two clusters share: (V, V) for V clusters.

    Clusters are in the order of their members. The diagonal has the clusters' weights.
    """
    widths = [sum(group.shape) for group in groups]
    shared = np.zeros((sum(widths), sum(widths)))
    ends = np.cumsum(widths)
    places = [slice(end - w, end) for end, w in zip(ends, widths, strict=True)]
    clusters = [group.clusters for group in groups]
    for group, place, own in zip(groups, places, clusters, strict=True):
        shared[place, place] = ((own.T * _count([group], weights)) @ own).toarray()
    for i, j in combinations(range(len(groups)), 2):
        counts = _count([groups[i], groups[j]], weights)
        across = clusters[i].T @ (counts @ clusters[j])
        shared[places[i], places[j]] = across
        shared[places[j], places[i]] = across.T
    return shared


def _count(groups: list[Group], weights: Array | None) -> Array:
    """The total weight of the rows with each code, or with each pair of codes.

    If `groups` has one group, its codes are counted. If it has two groups, pairs of
    their codes are counted.
    """
    sizes = [group.size for group in groups]
    counts = np.zeros(prod(sizes))  # float64 is exact up to 2^53 rows
    for start in range(0, len(groups[0].codes), _ROWS):
        rows = slice(start, start + _ROWS)
        codes = groups[0].codes[rows].astype(np.intp)
        for group in groups[1:]:
            codes = codes * group.size + group.codes[rows]
        weight = None if weights is None else weights[rows]
        counts += np.bincount(codes, weight, minlength=len(counts))
    return counts.reshape(sizes)


def jaccard(shared: Array) -> Array:
    """Jaccard similarities (V, V) of clusters, zero on the diagonal.

    The similarity of clusters i and j is u_i·u_j / (|u_i|² + |u_j|² - u_i·u_j), where
    u_i is the indicator vector of cluster i, and `shared` has the products u_i·u_j.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.consensus._contingency import jaccard
    >>> jaccard(np.array([[2.0, 1.0], [1.0, 3.0]]))
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """
    weight = shared.diagonal()
    union = weight[:, None] + weight - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    np.fill_diagonal(similarity, 0)
    return similarity


def average_nmi(
    labels: Array, n_clusters: int, groups: list[Group], weights: Array | None
) -> float:
    """The mean NMI of labels (n,) in 0 .. n_clusters - 1 and each member (ANMI)."""
    consensus = Group((n_clusters,), labels)
    values = []
    for group in groups:
        counts = _count([consensus, group], weights) @ group.clusters
        members = np.split(counts, np.cumsum(group.shape)[:-1], axis=1)
        values += [nmi_from_counts(member) for member in members]
    return float(np.mean(values))
