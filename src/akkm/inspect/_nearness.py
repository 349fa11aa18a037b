"""How near rows are to the center of their cluster, and to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akkm.core.model import Model
from akkm.core.nearest import View
from akkm.core.strip import Rows, Strip
from akkm.core.threads import Threads
from akkm.inspect._sample import Sample, draw
from akkm.inspect._space import Space, space_of
from akkm.kernels import Precomputed

Array = NDArray[Any]

# Multiplications that comparing rows with centers may take: about a second.
_WORK = 1e10
# Rows that are compared however dear they are, and at most for an ensemble.
_FEWEST, _ENSEMBLE = 2_000, 50_000
# Of each cluster, if it has them.
_EACH = 100
_TILE_ROWS = 1024


@dataclass(frozen=True)
class Nearness:
    """Sampled rows against the centers."""

    sample: Sample
    own: Array  # (s,) distance to the center of the row's cluster
    next: Array  # (s,) the nearest other cluster
    other: Array  # (s,) distance to its center
    certainty: Array  # (s,) 0: on the border to the next, 1: as its cluster's average


def nearness(model: Any, X: Rows, labels: Array) -> Nearness | None:
    """Compare as many rows as about a second allows; None if there are no distances.

    The certainty of a row of cluster a whose next best is b is d_b² - d_a², divided by
    the mean of that over the rows of a. If centers are means, that mean is the squared
    distance of the two centers, and certainty says where between the border (0) and its
    center (1) a row stands, whatever the directions that tell neither from the other.
    """
    sizes = np.bincount(labels)
    if np.count_nonzero(sizes) < 2:
        return None
    rows = getattr(model, "embedding_", X)
    if hasattr(model, "members_"):
        sample = draw(labels, most=_ENSEMBLE, least=_EACH)
        space = space_of(model, X)
        centers, rows = _centers(space, sample, labels), space.X
    else:
        centers = model._model
        sample = draw(labels, most=_affordable(centers, X), least=_EACH)
    return _compare(centers, rows, sample, labels[sample.rows], sizes, model.n_jobs)


def _affordable(centers: Model, X: Rows) -> int:
    d = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
    if isinstance(centers.kernel, Precomputed):
        d = 1
    return max(_FEWEST, int(_WORK / (centers.points.shape[0] * (d + 16))))


def _compare(
    centers: Model,
    X: Rows,
    sample: Sample,
    labels: Array,
    sizes: Array,
    n_jobs: int | None,
) -> Nearness | None:
    """Sampled rows against the centers, a chunk at a time; `labels` (s,) are theirs."""
    given = isinstance(centers.kernel, Precomputed)
    diag = centers.kernel.diag(X)[sample.rows] if given else None
    some = X if len(labels) == X.shape[0] else X[sample.rows]
    n_clusters = len(centers.view.norms)
    # A cluster without rows is nobody's next.
    empty = np.bincount(np.flatnonzero(sizes), minlength=n_clusters) == 0
    own, other = np.empty(len(labels)), np.empty(len(labels))
    following = np.empty(len(labels), dtype=np.int32)
    gaps = np.zeros((n_clusters, n_clusters))  # sums of d_b² - d_a² over rows of a
    start = 0
    with Threads(n_jobs) as engine:
        for part in centers.compare(some, engine, diag):
            chunk = slice(start, start + len(part.labels))
            start = chunk.stop
            squared, mine = part.squared, labels[chunk]
            at = np.arange(len(mine))
            own[chunk] = squared[at, mine]
            gaps += membership(mine, n_clusters) @ (squared - own[chunk][:, None])
            squared[at, mine] = np.inf
            squared[:, empty] = np.inf
            following[chunk] = squared.argmin(axis=1)
            other[chunk] = squared[at, following[chunk]]
    if np.isnan(own).any():  # k(x, x) is not known
        return None
    gaps /= np.bincount(labels, minlength=n_clusters).clip(1)[:, None]
    scale = gaps[labels, following]
    certainty = np.divide(other - own, scale, out=np.zeros_like(own), where=scale > 0)
    own, other = np.sqrt(own.clip(0)), np.sqrt(other.clip(0))
    return Nearness(sample, own, following, other, certainty)


def _centers(space: Space, sample: Sample, labels: Array) -> Model:
    """Means of a consensus' clusters, in the span of its first member's landmarks."""
    strip = Strip(space.X, space.kernel, space.points, np.float64)
    sizes = np.bincount(labels[sample.rows], minlength=labels.max() + 1)
    sums = np.zeros((len(sizes), strip.m))
    for start in range(0, len(sample.rows), _TILE_ROWS):
        rows = sample.rows[start : start + _TILE_ROWS]
        sums += membership(labels[rows], len(sizes)) @ strip.precise(space.X[rows])
    centers = space.gram.solve(sums / sizes.clip(1)[:, None])
    view = View.of(centers.alpha, centers.norms, np.float64)
    span = None if space.kernel.psd else space.gram
    return Model(space.kernel, space.points, view, np.float64, span)


def membership(labels: Array, n_clusters: int) -> Any:
    """U with a one where row i is in cluster k: sparse (C, b)."""
    at = np.arange(len(labels))
    return sparse.csr_array(
        (np.ones(len(labels)), (labels, at)), (n_clusters, len(labels))
    )


def typical(near: Nearness, labels: Array, cluster: int, count: int) -> Array:
    """Places in the sample of the rows nearest to a center, no two at one distance.

    Rows that are equal would say the same thing twice.
    """
    inside = np.flatnonzero(labels[near.sample.rows] == cluster)
    _, first = np.unique(near.own[inside], return_index=True)
    return inside[first[:count]]
