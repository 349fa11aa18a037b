"""A sparse kernel through landmarks: every row is tied to the few nearest to it.

P (n, m) has the p nearest landmarks of each row, with weights that fall with distance
and sum to one. A step of a walk goes from a row to a landmark and on to a row:
W = P Λ⁻¹ Pᵀ, Λ being the sums of P's columns, so all degrees are one. Its eigenvectors
follow from the m x m matrix A = Pᵀ P. Chen and Cai (2011) cut this kernel by its top C
eigenvectors; here all that matter are weighted by their eigenvalues (`diffusion`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from akkm.core.strip import Rows, chunks
from akkm.core.threads import Threads
from akkm.diffusion.estimate_k import (
    Evidence,
    cut_along_eigenvectors,
    estimate_n_clusters,
)
from akkm.diffusion.landmark_ties import Ties, tie_finder, tie_rows
from akkm.diffusion.spectrum import diffuse, diffusion_time, leading_eigenpairs

Array = NDArray[Any]

# Landmarks that each row is tied to.
N_NEIGHBORS = 3
# A component is small with less weight than this share of a cluster's mean weight, or
# than so many rows where these are less than a larger share.
_SMALL, _FEW_ROWS, _LARGE = 0.002, 10, 0.05
# What a link between components has, at most, of what its landmarks have.
_BRIDGE = 1e-3
# Eigenpairs: so many, and so many for each cluster.
_PAIRS, _PER_CLUSTER = 20, 2
# Where the number of clusters is not given so many are looked for, at most. A component
# is then small below this share of all weight, or so many rows where these are less
# than the last share: landmarks far out, where rows are few, are often by themselves.
_MOST_CLUSTERS, _COUNTED = 40, (0.005, 15, 0.1)


@dataclass(frozen=True)
class Anchors:
    """Landmarks that hold together, and the rows tied to them."""

    points: Rows  # (m, d)
    ties: Ties
    width: float  # typical squared distance of a row and its landmarks
    member: Array  # (m,) the component of each landmark

    @property
    def m(self) -> int:
        """The number of landmarks."""
        return int(self.points.shape[0])


@dataclass(frozen=True)
class LandmarkEmbedding:
    """Rows -> their place after walks through landmarks, scaled to length one."""

    points: Rows  # the landmarks (m, d)
    n_neighbors: int
    width: float
    vectors: Array  # (m, q) float64: a row is at the mean of its landmarks
    eigenvalues: Array  # (r,) of the kernel, falling from 1
    t: float
    n_clusters: int
    evidence: Evidence
    n_components: int  # of the landmarks, before they were joined

    def __call__(self, X: Rows, engine: Threads) -> Array:
        """(n, q) for rows X (n, d), in their precision."""
        points = np.empty((X.shape[0], self.vectors.shape[1]), dtype=X.dtype)
        find = tie_finder(self.points, self.n_neighbors, X.dtype)

        def task(chunk: slice) -> None:
            points[chunk] = self._place(find(X[chunk]))

        for _ in engine.map(task, chunks(X.shape[0])):
            pass
        return points

    def of(self, ties: Ties, dtype: Any, engine: Threads) -> Array:
        """The same for rows whose ties are known."""
        points = np.empty((len(ties.indices), self.vectors.shape[1]), dtype=dtype)

        def task(chunk: slice) -> None:
            points[chunk] = self._place(ties.part(chunk))

        for _ in engine.map(task, chunks(len(points))):
            pass
        return points

    def _place(self, ties: Ties) -> Array:
        means = ties.matrix(self.width, len(self.vectors)) @ self.vectors
        length = np.linalg.norm(means, axis=1, keepdims=True)
        return means / np.where(length > 0, length, 1)


def fit_landmark_embedding(
    X: Rows,
    points: Rows,
    engine: Threads,
    *,
    n_clusters: int | None,
    weights: Array | None,
    rng: np.random.Generator,
    n_neighbors: int = N_NEIGHBORS,
    t: float | None = None,
) -> tuple[LandmarkEmbedding, Array]:
    """The embedding for landmarks `points` (m, d), and the rows X in it, (n, q).

    `n_clusters=None` counts them; `t=None` makes walks as long as clusters ask for.
    """
    anchors = settle(
        X,
        points,
        engine,
        n_neighbors=n_neighbors,
        n_clusters=n_clusters,
        weights=weights,
    )
    embedding = sparse_embedding(
        anchors, engine, n_clusters=n_clusters, t=t, weights=weights, rng=rng
    )
    return embedding, embedding.of(anchors.ties, X.dtype, engine)


def settle(
    X: Rows,
    points: Rows,
    engine: Threads,
    *,
    n_neighbors: int,
    n_clusters: int | None,
    weights: Array | None,
) -> Anchors:
    """Tie rows to landmarks, without those that too few rows share.

    Landmarks are connected if a row is tied to both. A component with little weight
    would use up a cluster; its landmarks are left out, and its rows tied to the
    nearest of the rest.
    """
    w = np.ones(X.shape[0]) if weights is None else weights
    ties = tie_rows(X, points, n_neighbors, engine)
    width = float(np.average(ties.squared.mean(axis=1), weights=w))
    member = _components(ties, width, w, points.shape[0])
    weight = np.bincount(member[ties.indices[:, 0]], w, minlength=member.max() + 1)
    kept = (weight >= min(_least(w, n_clusters), weight.max()))[member]
    if not kept.all() and kept.sum() >= ties.indices.shape[1]:
        away = np.flatnonzero(~kept[ties.indices].all(axis=1))
        points, place = points[np.flatnonzero(kept)], np.cumsum(kept) - 1
        again = tie_rows(X[away], points, n_neighbors, engine)
        ties = Ties(place[ties.indices].astype(np.int32), ties.squared)
        ties.indices[away], ties.squared[away] = again.indices, again.squared
        member = _components(ties, width, w, points.shape[0])
    return Anchors(points, ties, width, member)


def _least(weights: Array, n_clusters: int | None) -> float:
    """The weight of a component that may be a cluster."""
    total, one = weights.sum(), weights[weights > 0].min()
    if n_clusters is None:
        share, rows, most = _COUNTED
        return float(max(share * total, min(rows * one, most * total)))
    mean, few = total / n_clusters, _FEW_ROWS * one
    return float(max(_SMALL * mean, min(few, _LARGE * mean)))


def _components(ties: Ties, width: float, weights: Array, m: int) -> Array:
    """The component of each landmark (m,): rows of positive weight connect theirs."""
    # The nearest has a tie in any case.
    tied = ties.weights(width)[:, 1:] > 0
    tied[weights == 0] = False
    first = np.repeat(ties.indices[:, :1], tied.shape[1], axis=1)[tied]
    ends = first, ties.indices[:, 1:][tied]
    links = sparse.coo_array((np.ones(len(first), np.float32), ends), shape=(m, m))
    return connected_components(links.tocsr(), directed=False)[1]


def sparse_embedding(
    anchors: Anchors,
    engine: Threads,
    *,
    n_clusters: int | None,
    t: float | None,
    weights: Array | None,
    rng: np.random.Generator,
) -> LandmarkEmbedding:
    """Walks through landmarks, of t steps or as many as clusters ask for.

    `n_clusters=None` counts them.
    """
    A = _shared(anchors, engine, weights)
    member = anchors.member
    wanted = n_clusters or _MOST_CLUSTERS
    if n_clusters is not None and member.max() >= n_clusters:
        A, member = _join(A, anchors, engine), np.zeros_like(member)
    degree = np.asarray(A.sum(axis=1)).ravel()
    pairs = leading_eigenpairs(A, member, _PAIRS + _PER_CLUSTER * wanted, rng)
    rows = np.ones(len(anchors.ties.indices)) if weights is None else weights
    least = _least(rows, None) / rows.sum()
    cut = partial(cut_along_eigenvectors, A, pairs.values, pairs.vectors, degree)
    evidence = estimate_n_clusters(pairs.values, cut, least)
    n_clusters = n_clusters or evidence.n_clusters
    if t is None:
        t = diffusion_time(pairs.values, n_clusters)
    weight = diffuse(pairs.values, t).weights
    q = len(weight)
    # From landmarks to rows is half a step.
    weight = weight / np.sqrt(pairs.values[:q])
    vectors = pairs.vectors[:, :q] * weight / np.sqrt(degree)[:, None]
    p = anchors.ties.indices.shape[1]
    return LandmarkEmbedding(
        anchors.points,
        p,
        anchors.width,
        vectors,
        pairs.values,
        float(t),
        n_clusters,
        evidence,
        int(anchors.member.max()) + 1,
    )


def _shared(anchors: Anchors, engine: Threads, weights: Array | None) -> Any:
    """A = Pᵀ diag(w) P, CSR (m, m)."""

    def add(chunk: slice) -> Any:
        P = anchors.ties.part(chunk).matrix(anchors.width, anchors.m)
        left = P if weights is None else sparse.diags_array(weights[chunk]) @ P
        return left.T.tocsr() @ P

    n = len(anchors.ties.indices)
    A = sum(engine.map(add, chunks(n)), sparse.csr_array((anchors.m, anchors.m)))
    # Rounding is not symmetric; and a landmark that only weightless rows are tied to
    # is by itself.
    A = sparse.csr_array((A + A.T) / 2)
    alone = np.asarray(A.sum(axis=1)).ravel() == 0
    return A + sparse.diags_array(alone.astype(np.float64)) if alone.any() else A


def _join(A: Any, anchors: Anchors, engine: Threads) -> Any:
    """A with weak links along the shortest ways between components.

    Every component is linked to the landmark nearest to it, until all are one
    (Borůvka). The longer a link the weaker, so that near components go together.
    """
    degree = np.asarray(A.sum(axis=1)).ravel()
    member, ends, lengths = anchors.member, [], []
    while member.max() > 0:
        for c in range(member.max() + 1):
            inside, outside = np.flatnonzero(member == c), np.flatnonzero(member != c)
            found = tie_rows(anchors.points[inside], anchors.points[outside], 1, engine)
            i = int(found.squared[:, 0].argmin())
            ends.append((inside[i], outside[found.indices[i, 0]]))
            lengths.append(found.squared[i, 0])
        first, second = np.transpose(ends)
        links = sparse.csr_array((np.ones(len(ends)), (first, second)), A.shape)
        member = connected_components(A + links, directed=False)[1]
    length = np.array(lengths)
    shortest = length[length > 0].min()
    strength = _BRIDGE * shortest / np.maximum(length, shortest)
    strength *= np.minimum(degree[first], degree[second])
    links = sparse.csr_array((strength, (first, second)), A.shape)
    return A + links.maximum(links.T)
