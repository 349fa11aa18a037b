"""From rows to their diffusion embedding, through the neighbour graph; and new rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.core.strip import Rows
from akkm.core.threads import Threads
from akkm.diffusion import neighbour_graph as graph
from akkm.diffusion.estimate_k import (
    OUTLIER_SHARE,
    Evidence,
    cut_along_eigenvectors,
    estimate_n_clusters,
)
from akkm.diffusion.neighbour_graph import Neighbours
from akkm.diffusion.spectrum import Pairs, diffusion_time, embed, leading_eigenpairs

Array = NDArray[Any]

# Eigenpairs: so many, or so many times the number of clusters.
_PAIRS, _PER_CLUSTER = 40, 3
# A component is small below this share of the rows that a cluster has on average.
_SMALL, _SMALLEST = 1 / 20, 3
# The number of clusters that is looked for, at most, where it is not given.
_MOST_CLUSTERS = 60
# A graph takes time that grows faster than its rows. In few columns neighbours of a
# sample are near enough; in many they are not.
_SAMPLE, _ALL_WIDE, _WIDE = 20_000, 100_000, 15
# New rows are compared in blocks of so many.
_BLOCK = 8192


@dataclass(frozen=True)
class GraphSettings:
    """What a graph is made with."""

    n_clusters: int | None  # None: count them
    n_neighbors: int
    metric: str
    t: float | None  # None: from the spectrum


@dataclass(frozen=True)
class GraphEmbedding:
    """The graph's rows, where walks from them end, and the way there for new rows."""

    points: Rows  # (u, d) distinct rows
    near: Neighbours
    metric: str
    embedding: Array  # (u, q) of length one
    outlying: Array  # (u,) whether a row's component is a small one
    eigenvalues: Array  # (r,)
    t: float
    n_clusters: int
    evidence: Evidence
    n_components: int  # beside small ones, before they were linked

    def __call__(self, X: Rows, engine: Threads) -> tuple[Array, Array]:
        """Embedding (n, q) of any rows X (n, d), and whether they are outlying (n,).

        A row that is one of the points is where that is; any other at the mean of its
        neighbours among the points, weighted as edges are.
        """
        n = X.shape[0]
        embedded = np.empty((n, self.embedding.shape[1]), dtype=self.embedding.dtype)
        outlying = np.empty(n, dtype=bool)
        same = _same_rows(self.points, X)
        known, new = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
        embedded[known] = self.embedding[same[known]]
        outlying[known] = self.outlying[same[known]]
        for start in range(0, len(new), _BLOCK):
            rows = new[start : start + _BLOCK]
            embedded[rows], outlying[rows] = self._extend(X[rows], engine)
        return embedded, outlying

    def _extend(self, X: Rows, engine: Threads) -> tuple[Array, Array]:
        k = max(1, self.near.indices.shape[1])
        X = like(X, self.points)
        found = graph.nearest_points(self.points, X, k, self.metric, engine)
        W = graph.new_row_similarity(self.near, *found)
        mean = W @ self.embedding
        length = np.linalg.norm(mean, axis=1, keepdims=True)
        mean /= np.where(length > 0, length, 1)
        mostly = W @ self.outlying > W.sum(axis=1) / 2
        return mean, mostly


def fit_graph_embedding(
    X: Rows,
    rows: Array,
    setting: GraphSettings,
    engine: Threads,
    rng: np.random.Generator,
    say: Callable[[str], None],
) -> GraphEmbedding:
    """Graph, eigenpairs and diffusion of some `rows` (u,) of X (n, d), all distinct."""
    points = X[rows]
    u = len(rows)
    k = min(setting.n_neighbors, u - 1)
    seed = int(rng.integers(2**31))
    near = graph.find_neighbours(points, k, setting.metric, engine, seed)
    W = graph.shared_neighbour_similarity(near)
    label, sizes = graph.label_components(W)
    wanted = setting.n_clusters or _MOST_CLUSTERS
    share = _SMALL / wanted if setting.n_clusters else OUTLIER_SHARE
    inside = sizes[label] >= min(max(_SMALLEST, share * u), sizes[0])
    n_components = int(label[inside].max()) + 1
    say(
        f"{X.shape[0]:,} rows, {u:,} in the graph, {k} neighbours, {n_components} "
        f"components and {u - int(inside.sum()):,} rows in smaller ones"
    )
    core, label_inside = W[inside][:, inside], label[inside]
    if setting.n_clusters is not None and n_components > wanted:
        core = graph.link_components(
            points[inside], core, label_inside, k, setting.metric, rng
        )
        label_inside = graph.label_components(core)[0]
    q = max(_PAIRS, _PER_CLUSTER * wanted)
    pairs = leading_eigenpairs(core, label_inside, q, rng)
    cut = partial(
        cut_along_eigenvectors,
        core,
        pairs.values,
        pairs.vectors,
        np.ones(core.shape[0]),
    )
    evidence = estimate_n_clusters(pairs.values, cut)
    n_clusters = setting.n_clusters or evidence.n_clusters
    t = setting.t or diffusion_time(pairs.values, n_clusters)
    say(f"{len(pairs.values)} eigenvalues down to {pairs.values[-1]:.4f}, t = {t:.4g}")
    to = graph.attach_small_components(points, inside, label, setting.metric, engine)
    place = np.cumsum(inside) - 1
    embedding = _embedded(pairs, t, X.dtype)[place[to]]
    return GraphEmbedding(
        points,
        near,
        setting.metric,
        embedding,
        ~inside,
        pairs.values,
        t,
        n_clusters,
        evidence,
        n_components,
    )


def _embedded(pairs: Pairs, t: float, dtype: Any) -> Array:
    return embed(pairs.vectors, pairs.values, t).astype(dtype)


def max_graph_rows(n_columns: int) -> int:
    """The number of distinct rows of which a graph is made without being asked."""
    return _ALL_WIDE if n_columns > _WIDE else _SAMPLE


def distinct_rows(X: Rows, weights: Array | None) -> Array:
    """Rows that are not the same, of positive weight, in order."""
    able = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    _, first = np.unique(_prints(X[able]), return_index=True)
    return np.sort(able[first])


def sample_rows(rows: Array, most: int | None, rng: np.random.Generator) -> Array:
    """At most so many of the rows, in order; `None` is 20,000."""
    most = _SAMPLE if most is None else most
    if len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))


def _same_rows(points: Rows, X: Rows) -> Array:
    """The point that each row of X is, (n,); -1: none."""
    at = {key: i for i, key in enumerate(_prints(points).tolist())}
    same = np.empty(X.shape[0], dtype=np.int64)
    for start in range(0, X.shape[0], _BLOCK):
        block = slice(start, start + _BLOCK)
        keys = _prints(like(X[block], points)).tolist()
        same[block] = [at.get(key, -1) for key in keys]
    return same


def _prints(X: Rows) -> Array:
    """A number (n,) for each row, the same for equal rows in this process."""
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = X.indptr
        parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        keys = [hash((X.indices[p].tobytes(), X.data[p].tobytes())) for p in parts]
    else:
        X = np.ascontiguousarray(X) + 0.0  # -0.0 is 0.0
        keys = [hash(row.tobytes()) for row in X]
    return np.array(keys, dtype=np.int64)


def like(X: Rows, points: Rows) -> Rows:
    """X as the points are: dense or sparse, and in their precision."""
    if sparse.issparse(points):
        return sparse.csr_array(X, dtype=points.dtype)
    dense = X.toarray() if sparse.issparse(X) else X
    return dense.astype(points.dtype, copy=False)
