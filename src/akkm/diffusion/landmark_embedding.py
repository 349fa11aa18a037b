"""Embed rows by random walks through landmarks.

The matrix P (n, m) ties each row to its p nearest landmarks, with weights that decrease
with distance and sum to one. A step of the walk goes from a row to a landmark and on to
a row: W = P Λ⁻¹ Pᵀ, where Λ holds the column sums of P, so all degrees are one. The
eigenvectors of W follow from the m x m matrix A = Pᵀ P. Chen and Cai (2011) use the top
C eigenvectors of this kernel; here all eigenvectors are weighted by eigenvalue^t
(`diffusion_time`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from akkm.core.threads import Threads
from akkm.diffusion.diffusion_time import diffusion_weights, unit_rows
from akkm.diffusion.landmark_ties import Ties, tie_rows
from akkm.diffusion.spectrum import (
    Decision,
    DiffusionKernel,
    fit_diffusion_kernel,
    spectrum_decides,
)
from akkm.rows import chunks
from akkm.typing import Array, RowsLike

# Default number of landmarks that each row is tied to.
N_NEIGHBORS = 3
# Limits (share, rows, most) that define a small component of landmarks. A component is
# small if its weight is below `share` times the mean cluster weight, or below `rows`
# times the smallest row weight. This second limit is at most `most` times the mean
# cluster weight.
_SMALL = (0.002, 10, 0.05)
# These limits are used if the number of clusters is estimated. The total weight takes
# the place of the mean cluster weight. The limits are higher, because landmarks in
# sparse regions are often isolated.
_SMALL_IF_ESTIMATED = (0.005, 15, 0.1)
# The largest weight of a link between two landmarks of different components, relative
# to the smaller of their degrees.
_LINK = 1e-3
# Eigenvalues up to this number count as zero; the largest eigenvalue is one.
_ZERO = 1e-12
# Number of eigenpairs: _PAIRS plus _PAIRS_PER_CLUSTER times the number of clusters.
_PAIRS, _PAIRS_PER_CLUSTER = 20, 2
# The largest number of clusters that can be estimated.
_MOST_CLUSTERS = 40


@dataclass(frozen=True)
class TiedLandmarks:
    """The landmarks outside small components, and the ties of all rows to them."""

    points: RowsLike  # (m, d)
    ties: Ties
    width: float  # mean squared distance of a row to its landmarks
    component: Array  # (m,) connected component of each landmark


@dataclass(frozen=True)
class LandmarkEmbedding:
    """The embedding of rows by walks through landmarks."""

    points: RowsLike  # the landmarks (m, d)
    n_neighbors: int
    width: float
    vectors: Array  # (m, q) float64; embedded rows are weighted means of these
    kernel: DiffusionKernel
    n_components: int  # components of the landmarks, before components were linked

    @property
    def n_coordinates(self) -> int:
        """The number q of coordinates of the embedding."""
        return int(self.vectors.shape[1])

    def __call__(self, X: RowsLike, engine: Threads) -> Array:
        """Embed rows X (n, d) as unit vectors (n, q), with the dtype of X."""
        ties = tie_rows(X, self.points, self.n_neighbors, engine)
        return self.embed_ties(ties, X.dtype, engine)

    def embed_ties(self, ties: Ties, dtype: Any, engine: Threads) -> Array:
        """Embed n rows with known ties: (n, q)."""
        embedding = np.empty((len(ties.indices), self.vectors.shape[1]), dtype=dtype)

        def fill(chunk: slice) -> None:
            P = ties.part(chunk).matrix(self.width, len(self.vectors))
            embedding[chunk] = unit_rows(P @ self.vectors)

        engine.for_each(fill, chunks(len(embedding)))
        return embedding


def fit_landmark_embedding(
    X: RowsLike,
    points: RowsLike,
    engine: Threads,
    *,
    n_clusters: int | None,
    weights: Array | None,
    rng: np.random.Generator,
    n_neighbors: int = N_NEIGHBORS,
    t: float | None = None,
    decide: Decision = spectrum_decides,
) -> tuple[LandmarkEmbedding, Array]:
    """Fit the embedding for landmarks `points` (m, d), and embed the rows X: (n, q).

    If `n_clusters` is None, `decide` estimates the number of clusters. If `t` is None,
    t is chosen from the eigenvalues.
    """
    w = np.ones(X.shape[0]) if weights is None else weights
    tied = tie_to_large_components(X, points, w, n_neighbors, n_clusters, engine)
    A, component = _shared_weight(tied, w, engine), tied.component
    if n_clusters is not None and component.max() >= n_clusters:
        A, component = _link_components(A, tied, engine), np.zeros_like(component)
    degree = np.asarray(A.sum(axis=1)).ravel()
    n_pairs = _PAIRS + _PAIRS_PER_CLUSTER * (n_clusters or _MOST_CLUSTERS)
    least = _small_weight(w, None) / w.sum()
    kernel, vectors = fit_diffusion_kernel(
        A,
        component,
        n_pairs,
        rng,
        n_clusters,
        t,
        degree,
        least,
        decide=decide,
        engine=engine,
    )
    scale = diffusion_weights(kernel.eigenvalues, kernel.t)
    # Eigenvectors whose eigenvalue is zero, up to rounding, are arbitrary.
    q = min(len(scale), int((kernel.eigenvalues > _ZERO).sum()))
    scale = scale[:q]
    # Moving from a landmark to a row is half a step, hence the square root.
    scale = scale / np.sqrt(kernel.eigenvalues[:q])
    vectors = vectors[:, :q] * scale / np.sqrt(degree)[:, None]
    p, n_components = tied.ties.indices.shape[1], int(tied.component.max()) + 1
    embedding = LandmarkEmbedding(
        tied.points, p, tied.width, vectors, kernel, n_components
    )
    return embedding, embedding.embed_ties(tied.ties, X.dtype, engine)


def tie_to_large_components(
    X: RowsLike,
    points: RowsLike,
    weights: Array,
    n_neighbors: int,
    n_clusters: int | None,
    engine: Threads,
) -> TiedLandmarks:
    """Tie rows to landmarks, after dropping landmarks in small components.

    Two landmarks are connected if some row is tied to both. A component of little
    weight would become a cluster of its own. So its rows are tied to the nearest
    landmarks of other components.
    """
    ties = tie_rows(X, points, n_neighbors, engine)
    width = float(np.average(ties.squared.mean(axis=1), weights=weights))
    component = _components(ties, width, weights, points.shape[0])
    weight = np.bincount(component[ties.indices[:, 0]], weights, component.max() + 1)
    least = min(_small_weight(weights, n_clusters), weight.max())
    kept = (weight >= least)[component]
    if not kept.all() and kept.sum() >= ties.indices.shape[1]:
        moved = np.flatnonzero(~kept[ties.indices].all(axis=1))
        points, place = points[np.flatnonzero(kept)], np.cumsum(kept) - 1
        again = tie_rows(X[moved], points, n_neighbors, engine)
        ties = Ties(place[ties.indices].astype(np.int32), ties.squared)
        ties.indices[moved], ties.squared[moved] = again.indices, again.squared
        component = _components(ties, width, weights, points.shape[0])
    return TiedLandmarks(points, ties, width, component)


def _small_weight(weights: Array, n_clusters: int | None) -> float:
    """The smallest weight of a component that may be a cluster."""
    share, rows, most = _SMALL if n_clusters else _SMALL_IF_ESTIMATED
    mean, unit = weights.sum() / (n_clusters or 1), weights[weights > 0].min()
    return float(max(share * mean, min(rows * unit, most * mean)))


def _components(ties: Ties, width: float, weights: Array, m: int) -> Array:
    """The component of each landmark (m,); rows of weight 0 are ignored."""
    tied = ties.weights(width)[:, 1:] > 0
    tied[weights == 0] = False
    first = np.repeat(ties.indices[:, :1], tied.shape[1], axis=1)[tied]
    ends = first, ties.indices[:, 1:][tied]
    links = sparse.coo_array((np.ones(len(first), np.float32), ends), shape=(m, m))
    return connected_components(links.tocsr(), directed=False)[1]


def _shared_weight(tied: TiedLandmarks, weights: Array, engine: Threads) -> Any:
    """The similarities A = Pᵀ diag(weights) P of landmarks, CSR (m, m)."""
    m = tied.points.shape[0]

    def product(chunk: slice) -> Any:
        P = tied.ties.part(chunk).matrix(tied.width, m)
        return (sparse.diags_array(weights[chunk]) @ P).T.tocsr() @ P

    A = sum(engine.map(product, chunks(len(weights))), sparse.csr_array((m, m)))
    A = sparse.csr_array((A + A.T) / 2)  # exactly symmetric
    isolated = np.asarray(A.sum(axis=1)).ravel() == 0  # only tied to rows of weight 0
    return A + sparse.diags_array(isolated * 1.0) if isolated.any() else A


def _link_components(A: Any, tied: TiedLandmarks, engine: Threads) -> Any:
    """Add weak links to A (m, m) along the shortest distances between components.

    Each component is linked to the nearest landmark outside it. This is repeated until
    all components are connected (Borůvka's algorithm). Longer links are weaker, so
    near components tend to join the same cluster.
    """
    degree = np.asarray(A.sum(axis=1)).ravel()
    component, ends, lengths = tied.component, [], []
    while component.max() > 0:
        for c in range(component.max() + 1):
            inside = np.flatnonzero(component == c)
            outside = np.flatnonzero(component != c)
            nearest = tie_rows(tied.points[inside], tied.points[outside], 1, engine)
            i = int(nearest.squared[:, 0].argmin())
            ends.append((inside[i], outside[nearest.indices[i, 0]]))
            lengths.append(nearest.squared[i, 0])
        first, second = np.transpose(ends)
        links = sparse.csr_array((np.ones(len(ends)), (first, second)), A.shape)
        component = connected_components(A + links, directed=False)[1]
    length = np.array(lengths)
    shortest = length[length > 0].min()
    strength = _LINK * shortest / np.maximum(length, shortest)
    strength *= np.minimum(degree[first], degree[second])
    links = sparse.csr_array((strength, (first, second)), A.shape)
    return A + links.maximum(links.T)
