"""The graph of rows and clusters, and its normalised cut.

A row is joined to the r clusters that contain it. Walks go from a cluster to one of
its rows and on to a cluster of that row, so on the side of the clusters the graph is
the table of the weights that they share, and its cut takes no more than that (Huang et
al. 2020). The top C eigenvectors count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from akkm.consensus._mcla import Consensus, combine
from akkm.consensus._partition import MetaGraph
from akkm.diffusion.diffusion_time import unit_rows
from akkm.diffusion.spectrum import leading_eigenpairs
from akkm.silence import ignore_warnings

Array = NDArray[Any]

_RESTARTS = 30


def bipartite_cut(
    labelings: Sequence[ArrayLike] | Array,
    n_clusters: int,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Consensus:
    """Combine partitions that have more clusters than are wanted, and not equally many.

    Clusters of all members are joined by the rows they share. The graph is cut by its
    top eigenvectors, and each row goes to the part that most of its clusters are in.
    `mcla` is for members with about as many clusters as are wanted.

    Parameters
    ----------
    labelings : list of r arrays of shape (n,), or array of shape (r, n)
        Labels of any sortable kind.
    n_clusters : int
    sample_weight, random_state, n_jobs
        As in `mcla`.

    Returns
    -------
    Consensus
        `agreement` is the share of a row's clusters that are in the same part.

    Examples
    --------
    Two clusters, seen in two and in three parts:

    >>> from akkm.consensus import bipartite_cut
    >>> members = [[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 1, 2, 2, 2, 3]]
    >>> bipartite_cut(members, 2, random_state=0).labels
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32)
    """
    return combine(
        labelings,
        n_clusters,
        bipartite,
        majority=True,
        sample_weight=sample_weight,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def bipartite(graph: MetaGraph, n_clusters: int, rng: np.random.Generator) -> Array:
    """Meta-clusters (V,) by a cut of the graph of rows and clusters."""
    shared = shared_weight(graph)
    A = sparse.csr_array(shared)
    _, component = connected_components(A, directed=False)
    points = unit_rows(leading_eigenpairs(A, component, n_clusters, rng)[1])
    fit = KMeans(
        n_clusters, n_init=_RESTARTS, random_state=int(rng.integers(2**31 - 1))
    )
    few = len(np.unique(points.round(9), axis=0)) < n_clusters
    silence = ignore_warnings(ConvergenceWarning) if few else nullcontext()
    with threadpool_limits(1, "openmp"), silence:
        return fit.fit(points, sample_weight=graph.weight).labels_.astype(np.intp)


def shared_weight(graph: MetaGraph) -> Array:
    """The weight of rows that clusters have in common (V, V), from their Jaccard.

    Examples
    --------
    >>> import numpy as np
    >>> from akkm.consensus._bipartite import shared_weight
    >>> from akkm.consensus._partition import MetaGraph
    >>> similarity = np.array([[0.0, 0.25], [0.25, 0.0]])
    >>> shared_weight(MetaGraph(similarity, np.array([2.0, 3.0]), np.array([0, 1])))
    array([[2., 1.],
           [1., 3.]])
    """
    s, w = graph.similarity, graph.weight
    shared = s * (w[:, None] + w) / (1 + s)
    np.fill_diagonal(shared, w)
    return shared
