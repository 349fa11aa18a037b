"""The graph of nearest neighbours: shared-neighbour similarities and components.

Let A be the directed graph of the k nearest neighbours. The similarity of two rows is
their number of shared neighbours times the weight of the edge between them. This weight
is 1.05 if there are edges in both directions, and 0.05 if there is an edge in one
direction. So rows of the same cluster are mostly similar, and rows between clusters are
similar to few others.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances

from akkm.core.threads import Threads
from akkm.diffusion.neighbour_search import PointSearch, search_for
from akkm.typing import Array, RowsLike

# The weight of an edge that exists in one direction only.
_EITHER = 0.05
# The weight of an edge that exists in both directions. No edge has a larger weight.
STRONGEST = 1 + _EITHER
# Rows of A Aᵀ that are computed at a time.
_BLOCK = 65536
# Number of new rows whose lists of neighbours are compared at a time.
_NEW_ROWS = 1024
# A component is linked to other components through at most this many sampled rows.
_SCOUTS = 30


@dataclass(frozen=True)
class Neighbours:
    """The k nearest other points of each point."""

    indices: Array  # (n, k)
    reach: Array  # (n,) distance to the farthest of these k points


def similarity_graph(
    X: RowsLike, k: int, metric: str, engine: Threads, rng: np.random.Generator
) -> tuple[Any, Array]:
    """Return the similarities of distinct rows X (n, d), and the order of the nodes.

    The similarities are a CSR array (n, n). Node i is row order[i] of X. The graph has
    the `k` nearest neighbours of each row.
    """
    search, order = search_for(X, metric, engine, rng)
    found = search.neighbours(k, engine, rng, lambda text: None)
    return shared_neighbour_similarity(Neighbours(*found)), order


def shared_neighbour_similarity(neighbours: Neighbours) -> Any:
    """The similarity matrix W (n, n), symmetric CSR."""
    n = len(neighbours.indices)
    return similarity_of_edges(adjacency(neighbours.indices, n))


def similarity_of_edges(A: Any) -> Any:
    """The similarity matrix W (n, n) of the directed graph A (n, n), both CSR.

    A has an entry 1 for each edge, and rows may have different numbers of edges.
    """
    n = A.shape[0]
    transposed = A.T.tocsr()
    both = A.minimum(transposed) + _EITHER * A.maximum(transposed)
    # A Aᵀ is never stored as a whole: most pairs of rows that share neighbours are not
    # joined by an edge.
    starts = range(0, n, _BLOCK)
    blocks = [
        (A[a : a + _BLOCK] @ transposed).multiply(both[a : a + _BLOCK]) for a in starts
    ]
    return sparse.csr_array(sparse.vstack(blocks))


def new_row_similarity(neighbours: Neighbours, indices: Array, distances: Array) -> Any:
    """Similarities of b new rows to the n points: CSR (b, n).

    `indices` and `distances` (b, k) are those of the new rows' neighbours among the
    points. An edge exists in both directions if the new row is within the point's
    reach.
    """
    shared = np.empty(indices.shape, dtype=np.float32)
    for start in range(0, len(indices), _NEW_ROWS):
        rows = slice(start, start + _NEW_ROWS)
        shared[rows] = _count_shared(neighbours.indices, indices[rows])
    # A neighbour without any shared neighbour still has some similarity.
    mutual = (distances <= neighbours.reach[indices]) + np.float32(_EITHER)
    return adjacency(indices, len(neighbours.reach), mutual * (shared + _EITHER))


def _count_shared(lists: Array, indices: Array) -> Array:
    """Count the neighbours that a new row shares with each of its neighbours: (b, k).

    `indices` (b, k) are the neighbours of the new rows. `lists` (n, K) are the
    neighbours of the points, of which only the first k count.
    """
    own = np.ascontiguousarray(indices.T)  # (k, b)
    listed = lists[own, : len(own)].transpose(2, 0, 1).copy()  # (k, k, b)
    shared = np.zeros(own.shape, dtype=np.uint8)  # k is below 256
    for one in own:
        for other in listed:
            shared += (other == one).view(np.uint8)
    return shared.T


def similarity_of_new_edges(A: Any, reach: Array, D: Any) -> Any:
    """Similarities (b, n) of b new rows, as in `new_row_similarity`.

    A (n, n) is the directed graph of the points. D (b, n) has the distance of each new
    row to its neighbours. All matrices are CSR, and rows may have different numbers of
    entries.
    """
    edges = D.copy()
    edges.data = np.ones_like(D.data)
    shared = (edges @ A.T).multiply(edges) + _EITHER * edges
    shared.data *= (D.data <= reach[D.indices]) + _EITHER
    return shared


def adjacency(indices: Array, n: int, values: Array | None = None) -> Any:
    """Edges from each row to its neighbours (b, k), with values (b, k) or ones."""
    if values is None:
        values = np.ones(indices.shape, dtype=np.float32)
    starts = np.arange(len(indices) + 1) * indices.shape[1]
    return sparse.csr_array(
        (values.ravel(), indices.ravel(), starts), shape=(len(indices), n)
    )


def label_components(W: Any) -> tuple[Array, Array]:
    """The component of each row (n,), and the sizes of components, largest first."""
    _, label = connected_components(W, directed=False)
    sizes = np.bincount(label)
    order = np.argsort(-sizes, kind="stable")
    return np.argsort(order)[label], sizes[order]


def attach_small_components(
    rows: RowsLike, search: PointSearch, inside: Array, label: Array, engine: Threads
) -> Array:
    """Map the points of small components to points of large components: (n,).

    `inside` (n,) marks the points of large components, which are mapped to themselves.
    All points of a small component are mapped to the same point: the inside point that
    is nearest to the component. `label` (n,) is the component of each point, and `rows`
    (b, d) are the rows of the points of small components.
    """
    target = np.arange(len(inside))
    outside = np.flatnonzero(~inside)
    if len(outside):
        nearest, distances = search.nearest_kept(rows, inside, engine)
        own = label[outside]
        order = np.lexsort((distances, own))
        _, first = np.unique(own[order], return_index=True)
        group = np.unique(own, return_inverse=True)[1]
        target[outside] = nearest[order[first]][group]
    return target


def link_components(
    X: RowsLike, W: Any, label: Array, k: int, metric: str, rng: np.random.Generator
) -> Any:
    """Add edges to W from sampled rows to the nearest sampled rows of other components.

    Large components remain nearly separate. In small components, a larger share of the
    rows is sampled, so these components are joined to near components.
    """
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    starts = np.searchsorted(label[order], np.arange(label.max() + 2))
    scouts = np.concatenate(
        [order[a : min(a + _SCOUTS, b)] for a, b in itertools.pairwise(starts)]
    )
    own = label[scouts]
    columns = []
    for a in range(0, len(scouts), 1024):
        block = slice(a, a + 1024)
        D = pairwise_distances(X[scouts[block]], X[scouts], metric=metric)
        D[own[block, None] == own] = np.inf
        columns.append(scouts[np.argpartition(D, k, axis=1)[:, :k]].ravel())
    ends = np.repeat(scouts, k), np.concatenate(columns)
    weight = np.full(len(ends[0]), _EITHER * k)
    edges = sparse.csr_array((weight, ends), shape=W.shape)
    return W + edges.maximum(edges.T).astype(W.dtype)
