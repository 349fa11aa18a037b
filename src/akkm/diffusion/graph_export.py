"""The neighbour graph of rows as a sparse matrix, for other tools."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from akkm.core.threads import Threads
from akkm.diffusion.given_graph import DISTANCES, SIMILARITIES, smallest_entries
from akkm.diffusion.graph_sample import distinct_rows
from akkm.diffusion.neighbour_graph import (
    STRONGEST,
    Neighbours,
    shared_neighbour_similarity,
)
from akkm.diffusion.neighbour_search import search_for
from akkm.diffusion.prepared_rows import ANGULAR, EUCLIDEAN
from akkm.diffusion.row_hashes import row_hashes
from akkm.kernels import narrow_indices
from akkm.typing import Array, RowsLike
from akkm.validation import generator, require_count

# Rows whose distances to their neighbours are computed at a time.
_BLOCK = 4096


def neighbor_graph(
    X: Any,
    *,
    n_neighbors: int = 15,
    metric: str = "euclidean",
    mode: str = "similarity",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """Build the graph of nearest neighbours that `DiffusionKernelKMeans` clusters.

    Parameters
    ----------
    X : array, data frame or CSR matrix of shape (n, d)
        The rows.
    n_neighbors : int, default=15
        Number of neighbours of each row.
    metric : str, default="euclidean"
        A metric of scikit-learn's `pairwise_distances`.
    mode : {"similarity", "distance"}, default="similarity"
        What the matrix contains for two rows if at least one of them is a neighbour of
        the other. "distance" is the distance between the rows. "similarity" is the
        number of neighbours that the rows share, times 1.05 if each row is a neighbour
        of the other, or else times 0.05.
    random_state : int, RandomState instance or None, default=None
        Seed of the search for neighbours. The search is approximate for more than
        20,000 rows of more than 15 columns.
    n_jobs : int or None, default=None
        Number of threads, as in `ApproxKernelKMeans`.

    Returns
    -------
    CSR matrix of shape (n, n)
        A symmetric matrix with a zero diagonal.

    Notes
    -----
    Pass similarities to `DiffusionKernelKMeans(metric="precomputed_similarity")`,
    scikit-learn's `SpectralClustering(affinity="precomputed")`, or igraph. Pass
    distances to `DiffusionKernelKMeans(metric="precomputed")`, or to DBSCAN, HDBSCAN
    and others with `metric="precomputed"`.

    Fitting this graph gives the same clusters as fitting the rows with the same
    `n_neighbors`, except for effects of rounding.

    Of equal rows, only the first has neighbours. The others are linked to it: by a
    stored distance of zero, or by the largest possible similarity.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import akkm
    >>> X, y = make_moons(500, noise=0.05, random_state=0)
    >>> W = akkm.neighbor_graph(X, mode="similarity")
    >>> model = akkm.DiffusionKernelKMeans(
    ...     2, metric="precomputed_similarity", random_state=0
    ... ).fit(W)
    >>> rows = akkm.DiffusionKernelKMeans(2, random_state=0).fit(X)
    >>> model.labels_.tolist() == rows.labels_.tolist()
    True
    """
    if mode not in ("similarity", "distance"):
        raise ValueError(f"mode={mode!r}; expected 'similarity' or 'distance'.")
    if metric in (DISTANCES, SIMILARITIES):
        raise ValueError(
            f"metric={metric!r}, but this function computes the graph of rows; give "
            "the metric of the rows, such as 'euclidean'."
        )
    k = require_count("n_neighbors", n_neighbors)
    dtypes = [np.float64, np.float32]
    X = narrow_indices(check_array(X, accept_sparse="csr", dtype=dtypes))
    rows = distinct_rows(X, None)
    if k >= len(rows):
        raise ValueError(
            f"n_neighbors={k} with {len(rows)} distinct rows; expected fewer "
            "neighbours than distinct rows."
        )
    points, rng = X[rows], generator(random_state)
    with Threads(n_jobs) as engine:
        search, order = search_for(points, metric, engine, rng)
        found = search.neighbours(k, engine, rng, lambda text: None)
    rows = rows[order]
    if mode == "similarity":
        W = shared_neighbour_similarity(Neighbours(*found)).tocoo()
        ends, values = (rows[W.row], rows[W.col]), W.data.astype(X.dtype)
    else:
        ends = np.repeat(rows, k), rows[found[0]].ravel()
        values = _distances(points[order], found[0], metric).astype(X.dtype).ravel()
    first, repeated = _first_equal_rows(X)
    tie = 0.0 if mode == "distance" else STRONGEST * k
    one = np.concatenate([ends[0], repeated])
    other = np.concatenate([ends[1], first[repeated]])
    values = np.append(values, np.full(len(repeated), tie, dtype=X.dtype))
    n = X.shape[0]
    both = np.append(one, other), np.append(other, one), np.append(values, values)
    return sparse.csr_matrix(smallest_entries(*both, (n, n)))


def _first_equal_rows(X: RowsLike) -> tuple[Array, Array]:
    """The first row that equals each row (n,), and the rows that repeat another."""
    _, first, which = np.unique(row_hashes(X), return_index=True, return_inverse=True)
    first = first[which.ravel()]
    return first, np.flatnonzero(first != np.arange(len(first)))


def _distances(X: RowsLike, indices: Array, metric: str) -> Array:
    """Distances of rows X (n, d) to the rows `indices` (n, k), in float64."""
    out = np.empty(indices.shape)
    for start in range(0, len(indices), _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part] = _block_distances(X[part], X, indices[part], metric)
    return out


def _block_distances(X: RowsLike, Y: RowsLike, indices: Array, metric: str) -> Array:
    """Distances of rows X (b, d) to the rows `indices` (b, k) of Y (n, d)."""
    if metric not in (*EUCLIDEAN, *ANGULAR):
        pairs = ((X[[i]], Y[near]) for i, near in enumerate(indices))
        return np.vstack([pairwise_distances(*pair, metric=metric) for pair in pairs])
    out = np.empty(indices.shape)
    for j, near in enumerate(indices.T):
        A, B = (_prepared(rows, metric) for rows in (X, Y[near]))
        difference = A - B
        if sparse.issparse(difference):
            difference = difference.power(2).sum(axis=1)
        else:
            difference = np.square(difference).sum(axis=1)
        out[:, j] = difference
    if metric in ANGULAR:  # |a - b|² / 2 is 1 - cos(a, b) for rows of unit length
        return out / 2
    return out if metric == "sqeuclidean" else np.sqrt(out)


def _prepared(X: RowsLike, metric: str) -> RowsLike:
    """Rows in float64: centered for "correlation", of unit length if angular."""
    X = X.astype(np.float64)
    if metric == "correlation":
        X = X.toarray() if sparse.issparse(X) else X
        X = X - X.mean(axis=1, keepdims=True)
    return normalize(X) if metric in ANGULAR else X
