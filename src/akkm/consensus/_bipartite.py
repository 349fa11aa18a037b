"""The bipartite graph of rows and clusters, and its normalised cut.

Each row is joined to the clusters that contain it, one per member. A random walk goes
from a cluster to one of its rows and on to a cluster of that row. The walk between
clusters therefore depends only on the total weight of the rows that each pair of
clusters shares. The matrix of these weights is enough to cut the graph (Huang et al.
2020).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from akkm.consensus._mcla import Consensus, combine
from akkm.consensus._partition import MetaGraph
from akkm.core.threads import thread_pools
from akkm.diffusion.diffusion_time import unit_rows
from akkm.diffusion.spectrum import leading_eigenpairs
from akkm.silence import ignore_warnings
from akkm.typing import Array

_RESTARTS = 30


def bipartite_cut(
    labelings: Sequence[ArrayLike] | Array,
    n_clusters: int,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Consensus:
    """Combine partitions that have more clusters than the consensus.

    The clusters of all members form a graph, whose edges join clusters that share rows.
    The graph is cut along its top eigenvectors. Each row is assigned to the part that
    contains most of its clusters.

    Parameters
    ----------
    labelings : list of r arrays of shape (n,), or array of shape (r, n)
        The labels that each member gives, of any sortable type. Members may have
        different numbers of clusters.
    n_clusters : int
        The number of parts.
    sample_weight : array of shape (n,), optional
        The weight of each row, as in `mcla`.
    random_state : int, RandomState instance or None, default=None
        The seed of the k-means that cuts the graph; it also decides ties.
    n_jobs : int, optional
        The number of threads; all by default. It does not change the result.

    Returns
    -------
    Consensus
        The consensus. Its agreement is the share of a row's clusters that are in the
        part that the row is assigned to.

    See Also
    --------
    mcla : For members with about as many clusters as the consensus.

    Examples
    --------
    Two clusters; each member splits both of them:

    >>> from akkm.consensus import bipartite_cut
    >>> members = [[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 1, 2, 2, 2, 3]]
    >>> bipartite_cut(members, 2, random_state=0).labels
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32)
    """
    return combine(
        labelings, n_clusters, _bipartite, True, sample_weight, random_state, n_jobs
    )


def _bipartite(graph: MetaGraph, n_clusters: int, rng: np.random.Generator) -> Array:
    """Meta-clusters (V,) by a cut of the graph of rows and clusters."""
    A = sparse.csr_array(shared_weight(graph))
    _, component = connected_components(A, directed=False)
    points = unit_rows(leading_eigenpairs(A, component, n_clusters, rng)[1])
    seed = int(rng.integers(2**31 - 1))
    k_means = KMeans(n_clusters, n_init=_RESTARTS, random_state=seed)
    # k-means warns if some of its clusters stay empty.
    one_thread = thread_pools().limit(limits=1, user_api="openmp")
    with one_thread, ignore_warnings(ConvergenceWarning):
        return k_means.fit(points, sample_weight=graph.weight).labels_.astype(np.intp)


def shared_weight(graph: MetaGraph) -> Array:
    """The weight (V, V) of the rows that each pair of the graph's clusters shares.

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
