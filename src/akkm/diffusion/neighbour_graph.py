"""The graph of nearest neighbours: shared-neighbour similarities and components.

Let A be the directed graph of the k nearest neighbours. The similarity of two rows is
their number of shared neighbours, W = (A Aᵀ) ∘ (mutual + 0.05 either): an edge in both
directions has full weight, an edge in one direction a small weight. Tight clusters keep
their edges, and bridges of stray rows lose theirs.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS_SPARSE, NearestNeighbors

from akkm.core.threads import Threads
from akkm.extras import import_extra
from akkm.kernels import narrow_indices
from akkm.typing import Array, RowsLike

# With at most this many rows or at most this many columns, the search is exact.
_EXACT_ROWS, _EXACT_COLUMNS = 20_000, 15
# Number of neighbours compared beyond the k nearest: they may be as near as the k-th.
_TIES = 5
# Memory of pynndescent: its compiled code, and its data per row. Measured for 15
# neighbours, 25,000 to 50,000 rows, with pynndescent 0.6: 330 MB and 600 to 840 bytes.
_DESCENT_BYTES, _DESCENT_BYTES_PER_ROW = 400e6, 1000
# The weight of an edge that exists in one direction only.
_EITHER = 0.05
# A component is linked to other components through at most this many sampled rows.
_SCOUTS = 30
# Entries of larger absolute value have squares whose sums may overflow.
_LARGEST = 1e150


@dataclass(frozen=True)
class Neighbours:
    """The k nearest other points of each point."""

    indices: Array  # (n, k)
    reach: Array  # (n,) distance to the last neighbour


def find_neighbours(
    X: RowsLike,
    k: int,
    metric: str,
    engine: Threads,
    seed: int,
    exact_rows: int = _EXACT_ROWS,
) -> Neighbours:
    """Find the k < n nearest other rows of each row of X (n, d); rows are distinct."""
    if X.shape[0] <= exact_rows or X.shape[1] <= _EXACT_COLUMNS:
        indices, distances = nearest_points(X, X, k + 1, metric, engine)
    else:
        indices, distances = _search_by_descent(X, k + 1, metric, engine, seed)
    # A row may be missing from its own list, by rounding or an inexact search.
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    indices = indices[~own].reshape(len(own), k)
    distances = distances[~own].reshape(len(own), k)
    return Neighbours(indices, distances.max(axis=1, initial=0.0))


def nearest_points(
    points: RowsLike, X: RowsLike, k: int, metric: str, engine: Threads
) -> tuple[Array, Array]:
    """Indices and distances (n, k) of the points nearest to each row of X, exactly."""
    if sparse.issparse(points) and metric not in VALID_METRICS_SPARSE["brute"]:
        raise ValueError(
            f"metric={metric!r} is not available for sparse rows; pass dense rows "
            "(X.toarray()), or use 'euclidean', 'manhattan' or 'cosine'."
        )
    narrow = points.shape[1] <= _EXACT_COLUMNS and not sparse.issparse(points)
    search = NearestNeighbors(
        algorithm="auto" if narrow else "brute", metric=metric, n_jobs=engine.n_threads
    )
    # Sort equally distant points by index, so that threads do not affect the result.
    more = min(k + _TIES, points.shape[0])
    _require_squares(X)
    search.fit(narrow_indices(points))
    distances, indices = search.kneighbors(narrow_indices(X), more)
    unit = distances.max(axis=1, keepdims=True, initial=0.0)
    unit[unit == 0] = 1
    order = np.lexsort((indices, np.round(distances / unit, 9)))[:, :k]
    rows = np.arange(len(order))[:, None]
    return indices[rows, order], distances[rows, order]


def _require_squares(X: RowsLike) -> None:
    """Raise ValueError if squares of entries overflow, or if all of them vanish.

    scikit-learn's distances are silently wrong then.
    """
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST:
        require_finite_distances(np.array(np.inf))
    if 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"All entries of X are below {1 / _LARGEST:g}, so that distances vanish; "
            "scale the columns (e.g. StandardScaler)."
        )


def require_finite_distances(distances: Array) -> None:
    """Raise ValueError if a distance overflows."""
    if not np.isfinite(distances).all():
        raise ValueError(
            "Some distances between rows overflow; scale the columns (e.g. "
            "StandardScaler)."
        )


def _search_by_descent(
    X: RowsLike, k: int, metric: str, engine: Threads, seed: int
) -> Any:
    """Approximate nearest neighbours: indices and distances (n, k)."""
    n, d = X.shape
    purpose = f"A graph of {n:,} rows (over {_EXACT_ROWS:,}, see max_rows) with {d} "
    pynndescent = import_extra(
        "pynndescent", f"{purpose}columns needs pynndescent", "graph"
    )
    return pynndescent.NNDescent(
        X, metric, n_neighbors=k, random_state=seed, n_jobs=engine.n_threads
    ).neighbor_graph


def search_bytes(n: int, d: int) -> float:
    """Bytes for the search in n rows of d columns that Python can't trace.

    Examples
    --------
    >>> from akkm.diffusion.neighbour_graph import search_bytes
    >>> search_bytes(10_000, 50), search_bytes(50_000, 50)
    (0.0, 450000000.0)
    """
    if n <= _EXACT_ROWS or d <= _EXACT_COLUMNS:
        return 0.0
    return _DESCENT_BYTES + _DESCENT_BYTES_PER_ROW * n


def shared_neighbour_similarity(neighbours: Neighbours) -> Any:
    """The similarity matrix W (n, n), symmetric CSR."""
    A = _adjacency(neighbours.indices, len(neighbours.indices))
    both = A.minimum(A.T) + _EITHER * A.maximum(A.T)
    return sparse.csr_array((A @ A.T).multiply(both))


def new_row_similarity(neighbours: Neighbours, indices: Array, distances: Array) -> Any:
    """Similarities of new rows to the n points, CSR (b, n), by their neighbours (b, k).

    An edge is mutual if the new row is within the reach of the point.
    """
    n = len(neighbours.indices)
    mutual = (distances <= neighbours.reach[indices]) + _EITHER
    edges = _adjacency(indices, n, mutual.astype(np.float32))
    shared = _adjacency(indices, n) @ _adjacency(neighbours.indices, n).T
    # A neighbour without any shared neighbour still has some similarity.
    return sparse.csr_array(shared.multiply(edges) + _EITHER * edges)


def _adjacency(indices: Array, n: int, values: Array | None = None) -> Any:
    """Edges from each row to its neighbours (b, k), with values (b, k) or ones."""
    if values is None:
        values = np.ones(indices.shape, dtype=np.float32)
    starts = np.arange(len(indices) + 1) * indices.shape[1]
    return sparse.csr_array(
        (values.ravel(), indices.ravel(), starts), shape=(len(indices), n)
    )


def label_components(W: Any) -> tuple[Array, Array]:
    """The component of each row (n,), numbered from the largest, and their sizes."""
    _, label = connected_components(W, directed=False)
    sizes = np.bincount(label)
    order = np.argsort(-sizes, kind="stable")
    return np.argsort(order)[label], sizes[order]


def attach_small_components(
    X: RowsLike, inside: Array, label: Array, metric: str, engine: Threads
) -> Array:
    """Map rows outside to the inside row nearest to the outside row's component: (n,).

    Rows inside are mapped to themselves. All rows of an outside component are mapped to
    the same inside row.
    """
    target = np.arange(X.shape[0])
    outside, kept = np.flatnonzero(~inside), np.flatnonzero(inside)
    if len(outside):
        indices, distances = nearest_points(X[kept], X[outside], 1, metric, engine)
        own = label[outside]
        order = np.lexsort((distances[:, 0], own))
        _, first = np.unique(own[order], return_index=True)
        group = np.unique(own, return_inverse=True)[1]
        target[outside] = kept[indices[order[first], 0]][group]
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
