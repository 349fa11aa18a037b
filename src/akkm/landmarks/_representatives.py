"""Representatives by k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from akkm.core import gram
from akkm.core.kernel_matrix import kernel_matrix
from akkm.core.strip import chunks
from akkm.landmarks._pool import Pool
from akkm.silence import ignore_warnings

Array = NDArray[Any]

# Candidates per landmark, leading coordinates, iterations.
_PER_LANDMARK, _COORDINATES, _ITERATIONS = 10, 256, 5


def k_means(pool: Pool, m: int, rng: np.random.Generator) -> Array:
    """The rows nearest to the centers of m clusters of 10 m candidates.

    Clusters are found in the kernel's own space, in its leading coordinates, so that
    this works for every kernel and for sparse rows.
    """
    rows = pool.some(_PER_LANDMARK * m, rng)
    points = _coordinates(pool, rows, rng)
    if not points.shape[1]:  # every row has the zero image
        return np.sort(rng.choice(rows, m, replace=False))
    weights = pool.weights_of(rows)
    seed = int(rng.integers(2**31))
    fit = KMeans(m, init="random", n_init=1, max_iter=_ITERATIONS, random_state=seed)
    # On one thread, so that it is reproducible. It warns of fewer distinct rows than m.
    with threadpool_limits(1, "openmp"), ignore_warnings(ConvergenceWarning):
        fit.fit(points, sample_weight=weights)
    away = np.square(points - fit.cluster_centers_[fit.labels_]).sum(axis=1)
    # The nearest of each cluster: clusters have no row in common, so all are distinct.
    # Two rows are equally near to their mean, whatever the rounding: take the first.
    away = np.round(away / max(away.max(), 1e-300), 9)
    order = np.lexsort([away, fit.labels_])
    _, first = np.unique(fit.labels_[order], return_index=True)
    chosen = rows[order[first]]
    if len(chosen) < m:  # fewer distinct rows than that
        rest = np.setdiff1d(rows, chosen)
        more = rng.choice(rest, m - len(chosen), replace=False)
        chosen = np.concatenate([chosen, more])
    return np.sort(chosen)


def _coordinates(pool: Pool, rows: Array, rng: np.random.Generator) -> Array:
    """Leading coordinates of some rows' images: (b, q)."""
    basis = pool.some(_COORDINATES, rng)
    strip = pool.against(rows, basis)
    whitener = gram.factor(kernel_matrix(pool.X, pool.kernel, basis)).whitener
    points = np.empty((len(rows), whitener.shape[1]))

    def project(chunk: slice) -> None:
        for part, phi in strip.tiles(chunk):
            points[part] = phi @ whitener

    for _ in pool.engine.map(project, chunks(len(rows))):
        pass
    return points
