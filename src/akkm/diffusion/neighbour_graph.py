"""The neighbour graph: who is near whom, shared neighbours, components.

With A the directed graph of k nearest neighbours, rows are as similar as they have
neighbours in common: W = (A Aᵀ) ∘ (mutual + 0.05 either), where an edge in both
directions counts fully and one in either a little. Tight clusters keep their edges,
bridges of stray rows lose theirs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from akkm.core.strip import Rows
from akkm.core.threads import Threads

Array = NDArray[Any]

# Up to so many rows, or columns, neighbours are found exactly.
_FEW_ROWS, _FEW_COLUMNS = 20_000, 15
# Further neighbours that are looked at, as they may be as near as the last one.
_TIES = 5
# What an edge in one direction counts.
_EITHER = 0.05
# Rows by which a component looks for others.
_SCOUTS = 30


@dataclass(frozen=True)
class Neighbours:
    """The k nearest of some points, themselves left out."""

    indices: Array  # (n, k)
    reach: Array  # (n,) distance of the last


def find_neighbours(
    X: Rows, k: int, metric: str, engine: Threads, seed: int
) -> Neighbours:
    """The k nearest other rows of each row of X (n, d), all distinct, k < n."""
    if X.shape[0] <= _FEW_ROWS or X.shape[1] <= _FEW_COLUMNS:
        indices, distances = nearest_points(X, X, k + 1, metric, engine)
    else:
        indices, distances = _descend(X, k + 1, metric, engine, seed)
    # Rounding, or a missed one, may have put another row in a row's own place.
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    indices = indices[~own].reshape(len(own), k)
    distances = distances[~own].reshape(len(own), k)
    return Neighbours(indices, distances.max(axis=1, initial=0.0))


def nearest_points(
    points: Rows, X: Rows, k: int, metric: str, engine: Threads
) -> tuple[Array, Array]:
    """Indices and distances (n, k) of the points nearest to rows X, exactly."""
    narrow = points.shape[1] <= _FEW_COLUMNS and not sparse.issparse(points)
    search = NearestNeighbors(
        n_neighbors=k,
        metric=metric,
        algorithm="auto" if narrow else "brute",
        n_jobs=engine.n_threads,
    )
    # Of points equally far away the first ones count, and not whichever the threads
    # come upon first.
    more = min(k + _TIES, points.shape[0])
    distances, indices = search.fit(points).kneighbors(X, more)
    unit = max(float(distances.max(initial=0.0)), 1e-300)
    order = np.lexsort((indices, np.round(distances / unit, 9)))[:, :k]
    return (
        np.take_along_axis(indices, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
    )


def _descend(
    X: Rows, k: int, metric: str, engine: Threads, seed: int
) -> tuple[Array, Array]:
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            f"Neighbours of {X.shape[0]:,} rows with {X.shape[1]} columns need "
            "pynndescent; run pip install 'akkm[graph]', or lower max_rows to "
            f"{_FEW_ROWS:,}."
        ) from error
    search = NNDescent(
        X, metric, n_neighbors=k, random_state=seed, n_jobs=engine.n_threads
    )
    indices, distances = search.neighbor_graph
    return indices, distances


def shared_neighbour_similarity(near: Neighbours) -> Any:
    """W (n, n), symmetric CSR, from the neighbours of n rows."""
    A = _directed(near.indices, len(near.indices))
    both = A.minimum(A.T) + _EITHER * A.maximum(A.T)
    return sparse.csr_array((A @ A.T).multiply(both))


def new_row_similarity(near: Neighbours, indices: Array, distances: Array) -> Any:
    """W of new rows to the points, (b, n) CSR, from their neighbours (b, k).

    A point would have a new row among its own neighbours if that is within its reach.
    """
    n = len(near.indices)
    mutual = (distances <= near.reach[indices]) + _EITHER
    edges = _directed(indices, n, mutual.astype(np.float32))
    shared = _directed(indices, n) @ _directed(near.indices, n).T
    # A point that has no neighbour in common still is a neighbour.
    return sparse.csr_array(shared.multiply(edges) + _EITHER * edges)


def _directed(indices: Array, n: int, values: Array | None = None) -> Any:
    if values is None:
        values = np.ones(indices.shape, dtype=np.float32)
    starts = np.arange(len(indices) + 1) * indices.shape[1]
    return sparse.csr_array(
        (values.ravel(), indices.ravel(), starts), shape=(len(indices), n)
    )


def label_components(W: Any) -> tuple[Array, Array]:
    """The component (n,) of each row, numbered from the largest, and their sizes."""
    count, label = connected_components(W, directed=False)
    sizes = np.bincount(label, minlength=count)
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(count, dtype=np.int64)
    number[order] = np.arange(count)
    return number[label], sizes[order]


def attach_small_components(
    X: Rows, inside: Array, label: Array, metric: str, engine: Threads
) -> Array:
    """For rows outside (n,) the row inside that their component is nearest to.

    Rows inside stand for themselves. A component goes as one, by its shortest link.
    """
    to = np.arange(X.shape[0])
    out = np.flatnonzero(~inside)
    if not len(out):
        return to
    kept = np.flatnonzero(inside)
    indices, distances = nearest_points(X[kept], X[out], 1, metric, engine)
    order = np.lexsort((distances[:, 0], label[out]))
    _, first = np.unique(label[out][order], return_index=True)
    groups = np.unique(label[out], return_inverse=True)[1]
    to[out] = kept[indices[order[first], 0]][groups]
    return to


def link_components(
    X: Rows, W: Any, label: Array, k: int, metric: str, rng: np.random.Generator
) -> Any:
    """W with edges between components: each sends scouts to the nearest of others.

    Large components stay nearly by themselves; small ones, of which the scouts are a
    larger part, go with what they are near to.
    """
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    starts = np.searchsorted(label[order], np.arange(label.max() + 2))
    scouts = np.concatenate(
        [order[a : min(a + _SCOUTS, b)] for a, b in itertools.pairwise(starts)]
    )
    own = label[scouts]
    rows, columns = [], []
    for a in range(0, len(scouts), 1024):
        part = slice(a, a + 1024)
        D = pairwise_distances(X[scouts[part]], X[scouts], metric=metric)
        D[own[part, None] == own] = np.inf
        near = np.argpartition(D, k, axis=1)[:, :k]
        rows.append(np.repeat(scouts[part], k))
        columns.append(scouts[near].ravel())
    i, j = np.concatenate(rows), np.concatenate(columns)
    edges = sparse.csr_array((np.full(len(i), _EITHER * k), (i, j)), shape=W.shape)
    return W + edges.maximum(edges.T).astype(W.dtype)
