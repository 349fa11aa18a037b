"""How much clusters of different members overlap: counts, never an indicator matrix."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from akkm.consensus._labelings import Labeling, smallest
from akkm.metrics import nmi_from_counts

Array = NDArray[Any]

# Bins of one table, which is to stay near the processor; rows counted at a time.
_FEWEST, _BINS, _ROWS = 2**12, 2**20, 2**20


@dataclass(frozen=True, eq=False)
class Group:
    """Some members that are counted as one: their codes are digits of one number."""

    shape: tuple[int, ...]  # clusters of each of these members
    codes: Array  # (n,) below the product of `shape`

    @property
    def size(self) -> int:
        """The number of codes."""
        return prod(self.shape)

    @property
    def clusters(self) -> Any:
        """Which of the members' clusters each code is in: sparse (size, sum of shape).

        What is counted per code, times this, is counted per cluster.
        """
        first = np.cumsum([0, *self.shape[:-1]])
        columns = np.transpose(np.unravel_index(np.arange(self.size), self.shape))
        ends = np.arange(self.size + 1) * len(self.shape)
        ones = np.ones(columns.size)
        return csr_array(
            (ones, (columns + first).ravel(), ends), (self.size, sum(self.shape))
        )


def fuse(labelings: list[Labeling]) -> list[Group]:
    """Members put together while two groups' codes make a table of at most 2^20 bins.

    One table of two groups of two holds the counts of all pairs of four members.
    """
    n = len(labelings[0].codes)
    most = isqrt(min(max(n, _FEWEST), _BINS))  # many more than rows would take longer
    groups: list[Group] = []
    for labeling in labelings:
        new = Group((len(labeling.values),), labeling.codes)
        if groups and groups[-1].size * new.size <= most:
            groups[-1] = _join(groups[-1], new)
        else:
            groups.append(new)
    return groups


def _join(a: Group, b: Group) -> Group:
    codes = a.codes.astype(smallest(a.size * b.size)) * b.size + b.codes
    return Group(a.shape + b.shape, codes)


def contingency(groups: list[Group], weights: Array | None) -> Array:
    """The weight of the rows that any two clusters share: (V, V), V clusters in all.

    Clusters are in the order of their members. The diagonal has their own weights.
    """
    ends = np.cumsum([sum(group.shape) for group in groups])
    shared = np.zeros((ends[-1], ends[-1]))
    places = [
        slice(end - sum(g.shape), end) for end, g in zip(ends, groups, strict=True)
    ]
    clusters = [group.clusters for group in groups]
    for i, group in enumerate(groups):
        counts = _count([group], weights)
        inside = (clusters[i].T * counts) @ clusters[i]
        shared[places[i], places[i]] = inside.toarray()
    for i, j in combinations(range(len(groups)), 2):
        counts = _count([groups[i], groups[j]], weights)
        across = clusters[i].T @ (counts @ clusters[j])
        shared[places[i], places[j]] = across
        shared[places[j], places[i]] = across.T
    return shared


def _count(groups: list[Group], weights: Array | None) -> Array:
    """The weight of the rows with each code, or each pair of codes: an axis each."""
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
    """s_ij = u_i·u_j / (|u_i|² + |u_j|² - u_i·u_j), zero on the diagonal.

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
    """Mean NMI of labels (n,) in 0 .. n_clusters - 1 with every member (eq. ANMI)."""
    consensus = Group((n_clusters,), labels)
    values = []
    for group in groups:
        counts = _count([consensus, group], weights) @ group.clusters
        members = np.split(counts, np.cumsum(group.shape)[:-1], axis=1)
        values += [nmi_from_counts(member) for member in members]
    return float(np.mean(values))
