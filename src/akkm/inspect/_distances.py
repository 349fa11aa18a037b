"""Distances of sampled rows to their own center and to the nearest other center."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from akkm.core.membership import certainty_of
from akkm.core.model import Model
from akkm.core.nearest import Scorer
from akkm.core.strip import Strip
from akkm.core.threads import Threads
from akkm.inspect._plane import Space, space_of
from akkm.inspect._sample import RowSample, sample_rows
from akkm.kernels import Precomputed
from akkm.rows import as_rows
from akkm.typing import Array, RowsLike

# Number of multiplications to spend on distances; they take about one second.
_WORK = 1e10
# Minimum number of rows to evaluate, even if this takes longer.
_MIN_ROWS = 2_000
# Maximum number of rows to evaluate for an ensemble.
_ENSEMBLE_ROWS = 50_000
# Minimum number of rows to evaluate in each cluster.
_PER_CLUSTER = 100
_TILE_ROWS = 1024
# Rows whose position between border (0) and center (1) is below this are near a border.
_NEAR_BORDER = 1 / 3


@dataclass(frozen=True)
class CenterDistances:
    """Distances of sampled rows to their own center and to the nearest other center.

    Parameters
    ----------
    sample : RowSample
        The rows that were evaluated.
    labels : int array of shape (s,)
        Their clusters.
    own : float array of shape (s,)
        Distance to the center of the row's cluster.
    next_cluster : int array of shape (s,)
        The cluster with the nearest other center.
    next : float array of shape (s,)
        Distance to that center.
    near_border : bool array of shape (s,)
        Whether the row is near the border between the two clusters.
    staying : float array of shape (s,), optional
        A factor by which the certainty is multiplied. For neighbour graphs, it is the
        share of short walks that stay in the row's cluster. None means 1.

    Notes
    -----
    Let d_a be the distance to the center of the row's cluster a, and d_b the distance
    to the nearest other center. The row's position between the border (0) and the
    center of its cluster (1) is d_b² - d_a², divided by the mean of d_b² - d_a² over
    the rows of a. If centers are means, this divisor is the squared distance between
    the two centers. A row is near the border if its position is below 1/3. Directions
    in which the two centers do not differ have no influence on the position. But if
    there are many of these directions, they make the certainties of all rows small.

    Examples
    --------
    >>> from akkm import ApproxKernelKMeans
    >>> from akkm.inspect import Inspection
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> model = ApproxKernelKMeans(2, kernel="linear", random_state=0).fit(X)
    >>> found = Inspection(model, X).distances
    >>> found.own, found.next
    (array([0.5, 0.5, 0.5, 0.5]), array([10.5,  9.5,  9.5, 10.5]))
    """

    sample: RowSample
    labels: Array
    own: Array
    next_cluster: Array
    next: Array
    near_border: Array
    staying: Array | None = None

    @property
    def certainty(self) -> Array:
        """Certainty of the labels (s,); see `akkm.core.membership.certainty_of`."""
        margins = certainty_of(self.own, self.next)
        return margins if self.staying is None else margins * self.staying

    def typical(self, cluster: int, n_rows: int) -> Array:
        """Find the rows nearest to the center of a cluster.

        Of several rows at the same distance only the first is taken, because they are
        usually duplicates.

        Parameters
        ----------
        cluster : int
            Number of the cluster.
        n_rows : int
            How many rows to return at most.

        Returns
        -------
        int array
            Positions in the sample, nearest first; `sample.rows` at these positions
            are row numbers.
        """
        members = np.flatnonzero(self.labels == cluster)
        _, first = np.unique(self.own[members], return_index=True)
        return members[first[:n_rows]]


def center_distances(model: Any, X: RowsLike, labels: Array) -> CenterDistances | None:
    """Distances of as many rows as can be evaluated in about a second.

    Returns None if fewer than two clusters have rows, or if k(x, x) is unknown.
    """
    sizes = cluster_sizes(labels)
    if np.count_nonzero(sizes) < 2:
        return None
    if hasattr(model, "members_"):
        staying = None
        sample = sample_rows(labels, _ENSEMBLE_ROWS, n_per_cluster=_PER_CLUSTER)
        space = space_of(model, X)
        centers, X = _consensus_centers(space, sample, labels), space.X
    else:
        centers = model._model
        n_rows = _affordable_rows(centers, X)
        sample = sample_rows(labels, n_rows, n_per_cluster=_PER_CLUSTER)
        every = len(sample.rows) == X.shape[0]
        rows = X if every else as_rows(X).gather(sample.rows)
        staying = model._staying(rows)
        X = getattr(model, "embedding_", X)
    found = _compare(centers, X, sample, labels[sample.rows], sizes, model.n_jobs)
    return None if found is None else replace(found, staying=staying)


def _affordable_rows(centers: Model, X: RowsLike) -> int:
    """Number of rows whose distances take about a second."""
    d = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
    if isinstance(centers.kernel, Precomputed):
        d = 1
    return max(_MIN_ROWS, int(_WORK / (centers.points.shape[0] * (d + 16))))


def _compare(
    centers: Model,
    X: RowsLike,
    sample: RowSample,
    labels: Array,
    sizes: Array,
    n_jobs: int | None,
) -> CenterDistances | None:
    """Compare the sampled rows, whose labels (s,) are given, with all centers."""
    precomputed = isinstance(centers.kernel, Precomputed)
    diag = centers.kernel.diag(X)[sample.rows] if precomputed else None
    rows = X if len(labels) == X.shape[0] else X[sample.rows]
    n_clusters = len(centers.scorer.norms)
    # A cluster without rows can't be the nearest other cluster.
    empty = np.bincount(np.flatnonzero(sizes), minlength=n_clusters) == 0
    own, other = np.empty(len(labels)), np.empty(len(labels))
    nearest = np.empty(len(labels), dtype=np.int32)
    gaps = np.zeros((n_clusters, n_clusters))  # sums of d_b² - d_a² over rows of a
    start = 0
    with Threads(n_jobs) as engine:
        for part in centers.compare(rows, engine, diag):
            chunk = slice(start, start + len(part.labels))
            start = chunk.stop
            squared, mine = part.squared, labels[chunk]
            at = np.arange(len(mine))
            own[chunk] = squared[at, mine]
            gaps += membership(mine, n_clusters) @ (squared - own[chunk][:, None])
            squared[at, mine] = np.inf
            squared[:, empty] = np.inf
            nearest[chunk] = squared.argmin(axis=1)
            other[chunk] = squared[at, nearest[chunk]]
    if np.isnan(own).any():  # k(x, x) is not known
        return None
    gaps /= np.bincount(labels, minlength=n_clusters).clip(1)[:, None]
    scale = gaps[labels, nearest]
    position = np.divide(other - own, scale, out=np.zeros_like(own), where=scale > 0)
    own, other = np.sqrt(own.clip(0)), np.sqrt(other.clip(0))
    near_border = position < _NEAR_BORDER
    return CenterDistances(sample, labels, own, nearest, other, near_border)


def _consensus_centers(space: Space, sample: RowSample, labels: Array) -> Model:
    """The means of a consensus's clusters, in the span of one member's landmarks."""
    strip = Strip(space.X, space.kernel, space.points, np.float64)
    sizes = np.bincount(labels[sample.rows], minlength=labels.max() + 1)
    sums = np.zeros((len(sizes), strip.m))
    for start in range(0, len(sample.rows), _TILE_ROWS):
        rows = sample.rows[start : start + _TILE_ROWS]
        sums += membership(labels[rows], len(sizes)) @ strip.kernel_rows(space.X[rows])
    centers = space.gram.solve(sums / sizes.clip(1)[:, None])
    view = Scorer.of(centers.alpha, centers.norms, np.float64)
    span = None if space.kernel.psd else space.gram
    return Model(space.kernel, space.points, view, np.float64, span)


def cluster_sizes(labels: Array, n_clusters: int = 0) -> Array:
    """Number of rows of each cluster (C,); outliers, with label -1, are in none."""
    return np.bincount(labels[labels >= 0], minlength=n_clusters)


def membership(labels: Array, n_clusters: int) -> Any:
    """Sparse matrix (C, b): entry (k, i) is 1 if row i is in cluster k, else 0."""
    at = np.flatnonzero(labels >= 0)
    return sparse.csr_array(
        (np.ones(len(at)), (labels[at], at)), (n_clusters, len(labels))
    )
