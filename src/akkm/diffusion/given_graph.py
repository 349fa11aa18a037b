"""Embed the rows of a given graph: a sparse matrix of distances or similarities.

A missing entry of a matrix of distances means that the distance is unknown and large. A
missing entry of a matrix of similarities means that the similarity is zero.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra

from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.diffusion_time import unit_rows
from akkm.diffusion.graph_embedding import GraphSettings, embed_graph, limit_neighbours
from akkm.diffusion.row_hashes import row_hashes
from akkm.diffusion.spectrum import DiffusionKernel
from akkm.typing import Array

# Values of `metric` that say that X is a matrix of distances or of similarities.
DISTANCES, SIMILARITIES = "precomputed", "precomputed_similarity"
# Entries (i, j) and (j, i) may differ by this share of the larger one.
_ASYMMETRY = 1e-4


@dataclass(frozen=True)
class GivenGraphEmbedding:
    """The embedding of the rows of a given matrix, and the data to place new rows.

    Rows at distance zero from each other are one node of the graph.
    """

    keys: Array  # (v,) hashes of the rows of the matrix, ascending
    places: Array  # (v,) node of the row with each hash
    # CSR (n, u): 1 in the column of the row's node; a row without a node has no entry
    nodes: Any
    edges: Any  # directed graph of the nodes, CSR (u, u); None for similarities
    reach: Array  # (u,) largest distance to a neighbour; zeros for similarities
    n_neighbors: int  # 0 for similarities
    embedding: Array  # (u, q) of unit length
    outlying: Array  # (u,) whether the node's component is small
    hub: int  # the best-connected node: its similarities have the largest sum
    kernel: DiffusionKernel
    n_components: int  # number of large components

    def __call__(self, X: Any, engine: Threads) -> tuple[Array, Array]:
        """Return the embedding (b, q) of rows X (b, n), and which rows are outlying.

        X is CSR, and contains distances or similarities to the n training rows. A row
        that equals a row of the training matrix gets the point of its node. Any other
        row gets the mean point of its neighbours, weighted by similarity. A row without
        neighbours is outlying and gets the point of the hub.
        """
        keys = _hashes(X, keep_zeros=self.edges is not None)
        place = np.searchsorted(self.keys[:-1], keys)
        node = self.places[place]
        embedded, outlying = self.embedding[node], self.outlying[node]
        new = np.flatnonzero(self.keys[place] != keys)
        if len(new):
            W = self._similarities(X[new])
            total = np.asarray(W.sum(axis=1)).ravel()
            embedded[new] = unit_rows(W @ self.embedding)
            outlying[new] = W @ self.outlying > total / 2
            lost = new[total == 0]
            embedded[lost], outlying[lost] = self.embedding[self.hub], True
        return embedded, outlying

    def _similarities(self, X: Any) -> Any:
        """Similarities (b, u) of new rows to the nodes."""
        if self.edges is None:
            return sparse.csr_array(X @ self.nodes)
        D = _keep_nearest(_distances_to_nodes(X, self.nodes), self.n_neighbors)
        return graph.similarity_of_new_edges(self.edges, self.reach, D)


def fit_given_graph(
    X: Any,
    weights: Array | None,
    settings: GraphSettings,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> tuple[GivenGraphEmbedding, int]:
    """Embed the rows of a valid matrix X (n, n), see `require_graph`.

    Also return the number of rows without a path to a large component. These rows get
    the point of the hub.
    """
    of_distances = settings.metric == DISTANCES
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    nodes = _nodes(X, rows, merge_equal=of_distances)
    n, u = nodes.shape
    D, edges, reach, k = None, None, np.zeros(u, dtype=X.dtype), 0
    if of_distances:
        k = limit_neighbours(settings.n_neighbors, u, settings.n_clusters)
        say(f"the {k} nearest neighbours of {u:,} nodes")
        D = _distances_between_nodes(X, nodes)
        near = _keep_nearest(D, k)
        reach[:] = near.max(axis=1).toarray().ravel()
        edges = near.astype(np.float32)
        edges.data[:] = 1
        say("counting shared neighbours")
        W = graph.similarity_of_edges(edges)
    else:
        W = sparse.csr_array(X[rows][:, rows])
    say(f"{n:,} rows, {u:,} nodes and {W.nnz:,} similarities in the graph")
    _require_edges(W)
    first = rows[np.unique(nodes.indices, return_index=True)[1]]  # (u,) row of a node
    if settings.edit is not None:
        W = settings.edit(W, first)
    walks = embed_graph(W, settings, X.dtype, engine, rng, say)
    kernel, inside = walks.kernel, walks.inside
    if of_distances and k < settings.n_neighbors:
        why = f"there are only {u} distinct rows"
        kernel = replace(kernel, evidence=replace(kernel.evidence, sure=False, why=why))
    points = walks.embedding
    if settings.edit is not None:
        inner = W[inside][:, inside]
        points = settings.edit.extend(
            points, inner, first[inside], kernel.n_clusters, engine, rng
        )
    degree = np.asarray(W.sum(axis=1)).ravel() * inside
    hub = int(degree.argmax())
    target = _nearest_inside(D, inside)
    unlinked = target < 0
    target[unlinked] = hub
    keys = _hashes(X[rows], keep_zeros=of_distances)
    keys, unique = np.unique(keys, return_index=True)
    embedding = GivenGraphEmbedding(
        keys,
        nodes[rows].indices[unique],
        nodes,
        edges,
        reach,
        k,
        points[(np.cumsum(inside) - 1)[target]],
        ~inside,
        hub,
        kernel,
        walks.n_components,
    )
    return embedding, int(nodes.sum(axis=0)[unlinked].sum())


def _nodes(X: Any, rows: Array, *, merge_equal: bool) -> Any:
    """The node of each of the given rows, CSR (n, u); other rows have no node.

    With `merge_equal`, rows are one node if they are joined by distances of zero.
    """
    n, node = X.shape[0], np.arange(len(rows))
    if merge_equal:
        zero = X.tocoo()
        pairs = (zero.data == 0) & (zero.row != zero.col)
        ends = zero.row[pairs], zero.col[pairs]
        links = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
        node = connected_components(links[rows][:, rows], directed=False)[1]
    starts = np.zeros(n + 1, dtype=np.int64)
    starts[rows + 1] = 1
    ones = np.ones(len(rows), dtype=X.dtype)
    shape = (n, int(node.max()) + 1)
    return sparse.csr_array((ones, node.astype(np.int64), starts.cumsum()), shape=shape)


def _hashes(X: Any, *, keep_zeros: bool) -> Array:
    """The hashes (b,) of rows; with `keep_zeros`, explicit zeros change a hash."""
    if keep_zeros:
        X = X.copy()
        X.data[X.data == 0] = -1  # hashes of rows ignore zeros, but not this value
    return row_hashes(X)


def _node_of(nodes: Any) -> Array:
    """The node of each row (n,), or -1."""
    node = np.full(nodes.shape[0], -1, dtype=np.int64)
    node[np.diff(nodes.indptr) > 0] = nodes.indices
    return node


def _distances_to_nodes(X: Any, nodes: Any) -> Any:
    """The smallest distance in X (b, n) to the rows of each node: CSR (b, u)."""
    D = X.tocoo()
    return smallest_entries(
        D.row, _node_of(nodes)[D.col], D.data, (X.shape[0], nodes.shape[1])
    )


def _distances_between_nodes(X: Any, nodes: Any) -> Any:
    """The smallest distance in X (n, n) between rows of two nodes: CSR (u, u)."""
    if nodes.nnz == nodes.shape[1]:  # each node is one row
        rows = np.flatnonzero(np.diff(nodes.indptr))
        D = sparse.csr_array(X[rows][:, rows])
        D.eliminate_zeros()  # on the diagonal
        return D
    D, node, u = X.tocoo(), _node_of(nodes), nodes.shape[1]
    first, second = node[D.row], node[D.col]
    other = (first >= 0) & (first != second)
    return smallest_entries(first[other], second[other], D.data[other], (u, u))


def smallest_entries(
    row: Array, column: Array, data: Array, shape: tuple[int, int]
) -> Any:
    """Return a CSR matrix in which an entry with several values gets the smallest.

    Entries in column -1 are left out. Values of zero are stored.
    """
    kept = np.flatnonzero(column >= 0)
    kept = kept[np.lexsort((data[kept], column[kept], row[kept]))]
    row, column, data = row[kept], column[kept], data[kept]
    first = np.ones(len(row), dtype=bool)
    first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    starts = np.searchsorted(row[first], np.arange(shape[0] + 1))
    return sparse.csr_array((data[first], column[first], starts), shape=shape)


def _keep_nearest(D: Any, k: int) -> Any:
    """The k smallest stored entries of each row; of equal entries, the leftmost."""
    row = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    order = np.lexsort((D.indices, D.data, row))
    kept = np.sort(order[np.arange(len(order)) - D.indptr[row] < k])
    starts = np.searchsorted(row[kept], np.arange(D.shape[0] + 1))
    return sparse.csr_array((D.data[kept], D.indices[kept], starts), shape=D.shape)


def _nearest_inside(D: Any, inside: Array) -> Array:
    """The nearest node of a large component for each node; -1 if there is no path.

    `inside` (u,) marks the nodes of large components. D (u, u) contains distances
    between nodes; D is None if distances are not known.
    """
    target = np.where(inside, np.arange(len(inside)), -1)
    if D is not None and not inside.all():
        sources = dijkstra(
            D,
            directed=False,
            indices=np.flatnonzero(inside),
            min_only=True,
            return_predecessors=True,
        )[2]
        target = np.where(inside | (sources < 0), target, sources)
    return target


def require_graph(X: Any, metric: str) -> Any:
    """Return X (n, n) as a valid matrix for the metric, or raise ValueError.

    In a matrix of similarities, explicit zeros are dropped, and entries (i, j) and
    (j, i) that differ slightly are made equal. The user's matrix is not changed.
    """
    what = "distances" if metric == DISTANCES else "similarities"
    X = canonical(X, metric)
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric={metric!r} with X of shape {X.shape}; expected a square matrix of "
            f"{what} between all rows. For new rows, call predict."
        )
    if X.nnz and X.data.min() < 0:
        raise ValueError(
            f"X has negative entries, down to {X.data.min():g}; expected {what} of "
            "zero or more."
        )
    difference = abs(X - X.T)
    excess = (difference - _ASYMMETRY * X.maximum(X.T)).tocoo()
    if excess.nnz and excess.data.max() > 0:
        i, j = (ends[excess.data.argmax()] for ends in (excess.row, excess.col))
        raise ValueError(
            f"X is not symmetric: entry ({i}, {j}) is {X[i, j]:g}, and entry "
            f"({j}, {i}) is {X[j, i]:g}. X.maximum(X.T) makes a graph of nearest "
            "neighbours symmetric."
        )
    if metric == SIMILARITIES:
        X = sparse.csr_array(X.maximum(X.T))
        X.eliminate_zeros()
        return X
    if X.diagonal().any():
        raise ValueError(
            "The diagonal of X is not zero, so X does not contain distances; for "
            f"similarities, use metric={SIMILARITIES!r}."
        )
    largest = X.max(axis=1).toarray().ravel()
    if (largest == 1).all():
        raise ValueError(
            "The largest entry of every row of X is 1, as in a matrix of similarities "
            f"or connections; use metric={SIMILARITIES!r}. If X does contain "
            "distances, pass 2 * X."
        )
    return X


def canonical(X: Any, metric: str) -> Any:
    """A copy of X with sorted indices and without repeated entries.

    Raises ValueError unless X is sparse.
    """
    if not sparse.issparse(X):
        advice = (
            "akkm.neighbor_graph, or sklearn.neighbors.kneighbors_graph with "
            "mode='distance', and X.maximum(X.T)"
            if metric == DISTANCES
            else "scipy.sparse.csr_array(X), after setting small entries to zero"
        )
        raise ValueError(
            f"metric={metric!r} with a dense array of shape {X.shape}; expected a "
            f"sparse matrix. Use {advice}."
        )
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    return X


def _require_edges(W: Any) -> None:
    if not (W - sparse.diags_array(W.diagonal())).count_nonzero():
        raise ValueError(
            "No row of X is similar to another row: the graph has no edges. Give X "
            "more entries per row."
        )
